/* SPDX-License-Identifier: MIT */
/*
 * PyTorch's container since 1.6, a ZIP archive whose entries share a folder:
 *
 *   folder/data.pkl     the pickle
 *   folder/data/<key>   one file per storage
 *   folder/byteorder    "little" or "big"; if missing, little
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/zip.h"
#include "model/containers/torch.h"

enum { MAX_PICKLE = 1 << 28 }; /* bytes */

static mgk_status read_entry(void *file, const void *storage, size_t first, size_t count,
                             void *bytes)
{
    return mgk_zip_read(file, storage, first, count, bytes);
}

static void close_zip(void *file)
{
    mgk_zip_close(file);
}

typedef struct archive {
    const char *path;
    mgk_zip *zip;
    const char *folder; /* [folder_length], including the slash */
    int folder_length;
} archive;

/* Finds the only entry data.pkl, in any folder. */
static mgk_status find_pickle(archive *a, const mgk_zip_entry **out)
{
    static const char name[] = "data.pkl";
    *out = NULL;
    for (size_t i = 0; i < mgk_zip_count(a->zip); i++) {
        const mgk_zip_entry *entry = mgk_zip_at(a->zip, i);
        size_t length = strlen(entry->name), wanted = sizeof(name) - 1;
        if (length < wanted || strcmp(entry->name + length - wanted, name) != 0 ||
            (length > wanted && entry->name[length - wanted - 1] != '/'))
            continue;
        if (*out)
            return mgk_fail(STATUS_FORMAT,
                            "%s: holds \"%.200s\" and \"%.200s\", expected one pickle", a->path,
                            (*out)->name, entry->name);
        *out = entry;
    }
    if (!*out)
        return mgk_fail(STATUS_FORMAT, "%s: a ZIP archive without data.pkl, so not of PyTorch",
                        a->path);
    a->folder = (*out)->name;
    a->folder_length = (int)(strlen((*out)->name) - strlen(name));
    return STATUS_OK;
}

/* Finds an entry of the folder; NULL if there is none. */
static mgk_status find_entry(const archive *a, const char *name, const mgk_zip_entry **out)
{
    char *path;
    size_t room = (size_t)a->folder_length + strlen(name) + 1;
    TRY(mgk_alloc(room, 1, &path));
    snprintf(path, room, "%.*s%s", a->folder_length, a->folder, name);
    *out = mgk_zip_find(a->zip, path);
    mgk_free(path);
    return STATUS_OK;
}

static mgk_status find_storage(const void *context, const mgk_torch_storage_id *id,
                               const void **storage)
{
    const archive *a = context;
    const mgk_zip_entry *entry;
    char *name;
    TRY(mgk_join_path("data", id->key, &name));
    mgk_status status = find_entry(a, name, &entry);
    mgk_free(name);
    if (status != STATUS_OK)
        return status;
    size_t needed = id->count * mgk_dtype_size(id->dtype);
    if (!entry)
        return mgk_fail(STATUS_FORMAT, "its storage \"%.100s\" is missing", id->key);
    if (entry->size < needed)
        return mgk_fail(STATUS_FORMAT, "its storage \"%.100s\" has %zu %s, expected %zu", id->key,
                        entry->size, MGK_NOUN(entry->size, "byte", "bytes"), needed);
    *storage = entry;
    return STATUS_OK;
}

static mgk_status check_byte_order(const archive *a)
{
    enum { LONGEST = 16 };
    const mgk_zip_entry *entry;
    unsigned char *order;
    TRY(find_entry(a, "byteorder", &entry));
    if (!entry)
        return STATUS_OK;
    TRY(mgk_zip_read_all(a->zip, entry, LONGEST, &order));
    mgk_status status = STATUS_OK;
    if (strcmp((const char *)order, "little") != 0)
        status = mgk_fail(STATUS_UNSUPPORTED,
                          "%s: numbers of byte order \"%.16s\", expected little", a->path, order);
    mgk_free(order);
    return status;
}

static mgk_status add_tree(mgk_tensors *tensors, const archive *a, const unsigned char *bytes,
                           size_t size)
{
    mgk_arena arena = {.limit = MGK_TORCH_MEMORY};
    mgk_pickle pickle;
    const mgk_torch_storages storages = {.find = find_storage, .context = a};
    mgk_status status = mgk_pickle_read(bytes, size, &arena, &pickle);
    if (status == STATUS_OK)
        status = mgk_torch_add_tree(tensors, pickle.root, &storages);
    mgk_arena_free(&arena);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, a->path);
}

mgk_status mgk_torch_add_zip(mgk_tensors *tensors, const char *path)
{
    archive a = {.path = path};
    const mgk_zip_entry *pickle;
    unsigned char *bytes;
    TRY(mgk_zip_open(path, &a.zip));
    TRY(mgk_tensors_add_part(
        tensors, path, (mgk_tensors_part){.file = a.zip, .read = read_entry, .close = close_zip}));
    TRY(find_pickle(&a, &pickle));
    TRY(check_byte_order(&a));
    TRY(mgk_zip_read_all(a.zip, pickle, MAX_PICKLE, &bytes));
    mgk_status status = add_tree(tensors, &a, bytes, pickle->size);
    mgk_free(bytes);
    return status;
}
