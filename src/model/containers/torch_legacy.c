/* SPDX-License-Identifier: MIT */
/*
 * PyTorch's container before 1.6, a sequence of
 *
 *   a pickle    the number 0x1950a86a20f9469cfc6c
 *   a pickle    the protocol, 1001
 *   a pickle    {"little_endian": True, ...}
 *   a pickle    the object
 *   a pickle    the list of the storages' keys
 *   for each    the number of elements, 8 bytes, little-endian, and the elements
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/containers/torch.h"

static const unsigned char magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

enum { PROTOCOL = 1001 };

typedef struct legacy_storage {
    const char *key; /* owned by the pickle: invalid after the tree is released */
    mgk_dtype dtype;
    size_t count;  /* elements */
    size_t offset; /* of the first element, in bytes from the start of the file; 0: not found yet */
} legacy_storage;

typedef struct legacy_file {
    mgk_tensors *tensors;
    mgk_mapping mapping; /* while opening */
    size_t at;
    mgk_arena arena; /* of the pickles, while opening */
    size_t count;
    legacy_storage *storages; /* [count], by key; in the arena of `tensors` */
} legacy_file;

/* Later pickle protocols put a few bytes before the number. */
bool mgk_torch_is_legacy(const unsigned char *bytes, size_t size)
{
    enum { LATEST = 16 };
    for (size_t at = 3; at < LATEST && at + sizeof(magic) <= size; at++)
        if (bytes[0] == 0x80 && memcmp(bytes + at, magic, sizeof(magic)) == 0)
            return true;
    return false;
}

static mgk_status read_pickle(legacy_file *file, mgk_pickle *out)
{
    TRY(mgk_pickle_read(file->mapping.data + file->at, file->mapping.size - file->at, &file->arena,
                        out));
    file->at += out->size;
    return STATUS_OK;
}

static mgk_status check_system(const mgk_pickle_value *system)
{
    const mgk_pickle_items *pairs = system->kind == MGK_PICKLE_DICT ? system->as.items : NULL;
    for (size_t i = 0; pairs && i + 1 < pairs->count; i += 2)
        if (mgk_pickle_is(pairs->list[i], MGK_PICKLE_TEXT, "little_endian") &&
            pairs->list[i + 1]->kind == MGK_PICKLE_BOOL && !pairs->list[i + 1]->as.integer)
            return mgk_fail(STATUS_UNSUPPORTED, "numbers of byte order big, expected little");
    return STATUS_OK;
}

/* The three pickles before the object. */
static mgk_status read_preface(legacy_file *file)
{
    mgk_pickle number, protocol, system;
    TRY(read_pickle(file, &number));
    TRY(read_pickle(file, &protocol));
    if (protocol.root->kind != MGK_PICKLE_INTEGER || protocol.root->as.integer != PROTOCOL)
        return mgk_fail(STATUS_UNSUPPORTED, "another protocol of PyTorch than %d", PROTOCOL);
    TRY(read_pickle(file, &system));
    return check_system(system.root);
}

static int compare_keys(const void *a, const void *b)
{
    const legacy_storage *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static bool names_storage(const mgk_pickle_value *persistent)
{
    const mgk_pickle_items *id = mgk_pickle_sequence(persistent->as.object->arguments);
    return id && id->count > 0 && mgk_pickle_is(id->list[0], MGK_PICKLE_TEXT, "storage");
}

/* Lists the distinct storages that the object refers to. */
static mgk_status list_storages(legacy_file *file, const mgk_pickle_items *persistent)
{
    size_t all = 0;
    mgk_torch_storage_id id;
    TRY(mgk_arena_alloc(&file->tensors->arena, persistent->count, sizeof(*file->storages),
                        &file->storages));
    for (size_t i = 0; i < persistent->count; i++) {
        if (!names_storage(persistent->list[i]))
            continue; /* the source code of a module */
        TRY(mgk_torch_read_storage_id(persistent->list[i], &id));
        file->storages[all++] =
            (legacy_storage){.key = id.key, .dtype = id.dtype, .count = id.count};
    }
    qsort(file->storages, all, sizeof(*file->storages), compare_keys);
    for (size_t i = 0; i < all; i++) {
        const legacy_storage *storage = &file->storages[i];
        legacy_storage *last = file->count ? &file->storages[file->count - 1] : NULL;
        if (!last || compare_keys(last, storage) != 0)
            file->storages[file->count++] = *storage;
        else if (last->dtype != storage->dtype || last->count != storage->count)
            return mgk_fail(STATUS_FORMAT, "two different storages \"%.100s\"", storage->key);
    }
    return STATUS_OK;
}

static legacy_storage *find_key(const legacy_file *file, const char *key)
{
    const legacy_storage wanted = {.key = key};
    return bsearch(&wanted, file->storages, file->count, sizeof(wanted), compare_keys);
}

/* Reads the number of elements, and skips the elements. */
static mgk_status place_storage(legacy_file *file, const mgk_pickle_value *key)
{
    uint64_t count;
    legacy_storage *storage =
        key->kind == MGK_PICKLE_TEXT ? find_key(file, key->as.bytes.text) : NULL;
    if (!storage || storage->offset)
        return mgk_fail(STATUS_FORMAT, "a storage without a reference, or a repeated one");
    size_t left = file->mapping.size - file->at, size = mgk_dtype_size(storage->dtype);
    if (left < sizeof(count))
        return mgk_fail(STATUS_FORMAT, "is cut short before storage \"%.100s\"", storage->key);
    memcpy(&count, file->mapping.data + file->at, sizeof(count));
    if (count != storage->count)
        return mgk_fail(STATUS_FORMAT, "storage \"%.100s\" has %llu %s, expected %zu", storage->key,
                        (unsigned long long)count, MGK_NOUN(count, "element", "elements"),
                        storage->count);
    if (storage->count > (left - sizeof(count)) / size)
        return mgk_fail(STATUS_FORMAT, "is cut short within storage \"%.100s\"", storage->key);
    storage->offset = file->at + sizeof(count);
    file->at = storage->offset + storage->count * size;
    return STATUS_OK;
}

static mgk_status place_storages(legacy_file *file)
{
    mgk_pickle keys;
    TRY(read_pickle(file, &keys));
    const mgk_pickle_items *list = mgk_pickle_sequence(keys.root);
    if (!list)
        return mgk_fail(STATUS_FORMAT, "has no list of storages");
    for (size_t i = 0; i < list->count; i++)
        TRY(place_storage(file, list->list[i]));
    return STATUS_OK;
}

static mgk_status find_storage(const void *context, const mgk_torch_storage_id *id,
                               const void **storage)
{
    const legacy_storage *found = find_key(context, id->key);
    if (!found || !found->offset)
        return mgk_fail(STATUS_FORMAT, "its storage \"%.100s\" is missing", id->key);
    *storage = found;
    return STATUS_OK;
}

static mgk_status add_pickles(legacy_file *file)
{
    mgk_pickle object;
    const mgk_torch_storages storages = {.find = find_storage, .context = file};
    TRY(read_preface(file));
    TRY(read_pickle(file, &object));
    TRY(list_storages(file, &object.persistent));
    TRY(place_storages(file));
    return mgk_torch_add_tree(file->tensors, object.root, &storages);
}

static mgk_status read_storage(void *file, const void *storage, size_t first, size_t count,
                               void *bytes)
{
    const legacy_storage *place = storage;
    return mgk_file_read(file, place->offset + first, count, bytes);
}

static void close_file(void *file)
{
    mgk_file_close(file);
    mgk_free(file);
}

static mgk_status add_part(mgk_tensors *tensors, const char *path)
{
    mgk_file *file;
    TRY(mgk_alloc(1, sizeof(*file), &file));
    mgk_status status = mgk_file_open(path, file);
    if (status != STATUS_OK) {
        mgk_free(file);
        return status;
    }
    return mgk_tensors_add_part(
        tensors, path, (mgk_tensors_part){.file = file, .read = read_storage, .close = close_file});
}

mgk_status mgk_torch_add_legacy(mgk_tensors *tensors, const char *path)
{
    legacy_file file = {.tensors = tensors, .arena = {.limit = MGK_TORCH_MEMORY}};
    TRY(add_part(tensors, path));
    TRY(mgk_map_file(path, &file.mapping));
    mgk_status status = add_pickles(&file);
    mgk_arena_free(&file.arena);
    mgk_unmap_file(&file.mapping);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, path);
}
