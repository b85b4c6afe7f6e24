/* SPDX-License-Identifier: MIT */
/*
 * Opens checkpoints: recognises a container by its first bytes, and reads checkpoints in several
 * files, which an index names.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/download.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/numpy.h"
#include "base/text.h"
#include "base/zip.h"
#include "model/containers/llama2c.h"
#include "model/containers/safetensors.h"
#include "model/containers/tensors_private.h"
#include "model/containers/torch.h"

enum {
    SHOWN = 64,          /* bytes that identify a container */
    MAX_MEMORY = 1 << 30 /* bytes for names and descriptions of tensors */
};

static mgk_status read_safetensors(void *file, const void *storage, size_t first, size_t count,
                                   void *bytes)
{
    return mgk_safetensors_read_bytes(file, storage, first, count, bytes);
}

static void close_safetensors(void *file)
{
    mgk_safetensors_close(file);
}

static mgk_status add_safetensors(mgk_tensors *tensors, const char *path)
{
    mgk_safetensors *file;
    size_t count;
    TRY(mgk_safetensors_open(path, &file));
    TRY(mgk_tensors_add_part(
        tensors, path,
        (mgk_tensors_part){.file = file, .read = read_safetensors, .close = close_safetensors}));
    for (size_t i = 0; i < mgk_safetensors_count(file); i++) {
        const mgk_tensor_info *info = mgk_safetensors_at(file, i);
        mgk_stored_tensor tensor = {.info = *info, .storage = info};
        mgk_tensors_set_strides(&tensor);
        TRY(mgk_tensors_add(tensors, &tensor));
    }
    const mgk_metadata *metadata = mgk_safetensors_all_metadata(file, &count);
    for (size_t i = 0; i < count; i++)
        TRY(mgk_tensors_add_value(tensors, &(mgk_tensors_value){.name = metadata[i].key,
                                                                .kind = MGK_VALUE_TEXT,
                                                                .text = metadata[i].value}));
    return STATUS_OK;
}

/* Eight bytes of header length, then a JSON object. The length of eight characters of text would be
 * 2^61 or more. */
static bool is_safetensors(const unsigned char *bytes, size_t size)
{
    return size > 8 && bytes[8] == '{' && (bytes[7] < 0x20 || bytes[7] >= 0x7f);
}

static const struct {
    const char *name;
    bool (*matches)(const unsigned char *bytes, size_t size);
    mgk_status (*add)(mgk_tensors *tensors, const char *path);
} containers[] = {{"PyTorch zip", mgk_is_zip, mgk_torch_add_zip},
                  {"PyTorch legacy", mgk_torch_is_legacy, mgk_torch_add_legacy},
                  {"safetensors", is_safetensors, add_safetensors},
                  {mgk_llama2c_container, mgk_llama2c_matches, mgk_llama2c_add}};

static mgk_status fail_kind(const char *path, const unsigned char *bytes, size_t size)
{
    const char *left = mgk_download_left(bytes, size);
    static const unsigned char hdf5[] = "\x89HDF\r\n\x1a\n";
    const bool arrays = size >= sizeof(hdf5) - 1 && memcmp(bytes, hdf5, sizeof(hdf5) - 1) == 0;
    if (left)
        return mgk_fail(STATUS_FORMAT, "%s: %s", path, left);
    return mgk_fail(
        STATUS_FORMAT,
        "%s: not a file of tensors%s: expected safetensors, a PyTorch file, or the JSON "
        "index of several such files",
        path, arrays || mgk_is_numpy(bytes, size) ? " but of arrays, which hold no model" : "");
}

static mgk_status add_container(mgk_tensors *tensors, const char *path, const unsigned char *bytes,
                                size_t size, const char **container)
{
    for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++) {
        if (containers[i].matches(bytes, size)) {
            *container = containers[i].name;
            return containers[i].add(tensors, path);
        }
    }
    return fail_kind(path, bytes, size);
}

static mgk_status add_file(mgk_tensors *tensors, const char *path, const char **container)
{
    unsigned char bytes[SHOWN];
    size_t size;
    TRY(mgk_file_read_beginning(path, SHOWN, bytes, &size));
    return add_container(tensors, path, bytes, size, container);
}

/* ---- several files: a JSON object whose "weight_map" names the file of each tensor ----------- */

static mgk_status parse(const char *path, cJSON **index)
{
    mgk_mapping file;
    TRY(mgk_map_limited(path, MGK_JSON_BYTES, &file));
    mgk_status status = mgk_json_parse_object((const char *)file.data, file.size, index);
    mgk_unmap_file(&file);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, path);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The distinct files of the map, sorted, in names [*count], which has room for all entries. */
static mgk_status list_files(const cJSON *map, const char **names, size_t *count)
{
    const cJSON *item;
    size_t all = 0;
    cJSON_ArrayForEach(item, map)
    {
        if (!cJSON_IsString(item) || !mgk_is_file_name(item->valuestring))
            return mgk_fail(
                STATUS_FORMAT,
                "the file of tensor \"%.200s\" is not a name in the folder of the index",
                item->string);
        names[all++] = item->valuestring;
    }
    qsort(names, all, sizeof(*names), compare_texts);
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (*count == 0 || strcmp(names[*count - 1], names[i]) != 0)
            names[(*count)++] = names[i];
    return STATUS_OK;
}

static mgk_status add_beside(mgk_tensors *tensors, const char *path, const char *name,
                             const char **container)
{
    char *folder, *file = NULL;
    TRY(mgk_folder_of(path, &folder));
    mgk_status status = mgk_join_path(folder, name, &file);
    if (status == STATUS_OK)
        status = add_file(tensors, file, container);
    mgk_free(file);
    mgk_free(folder);
    return status;
}

static mgk_status add_files(mgk_tensors *tensors, const char *path, const cJSON *map)
{
    enum { ROOM = 64 };
    const cJSON *item;
    const char **names, *container = "";
    char *text;
    size_t count = 0;
    if (!map)
        return mgk_fail(STATUS_FORMAT, "%s: a JSON file, but no index of tensors", path);
    cJSON_ArrayForEach(item, map) count++;
    if (!cJSON_IsObject(map) || count == 0)
        return mgk_fail(STATUS_FORMAT, "%s: an index without tensors in its weight_map", path);
    TRY(mgk_arena_alloc(&tensors->arena, count, sizeof(*names), &names));
    mgk_status status = list_files(map, names, &count);
    if (status != STATUS_OK)
        return mgk_fail_prefix(status, path);
    for (size_t i = 0; i < count; i++)
        TRY(add_beside(tensors, path, names[i], &container));
    TRY(mgk_arena_alloc(&tensors->arena, ROOM, 1, &text));
    snprintf(text, ROOM, "%s, %zu %s", container, count, MGK_NOUN(count, "file", "files"));
    tensors->container = text;
    return mgk_tensors_add_file(tensors, path);
}

/* Checks that each tensor of the map is in its file. */
static mgk_status check_map(const mgk_tensors *tensors, const char *path, const cJSON *map)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, map)
    {
        const mgk_stored_tensor *tensor =
            (const mgk_stored_tensor *)mgk_tensors_find(tensors, item->string);
        if (!tensor ||
            strcmp(mgk_file_name(tensors->parts[tensor->part].path), item->valuestring) != 0)
            return mgk_fail(STATUS_FORMAT, "%s: tensor \"%.200s\" is not in %s as the index says",
                            path, item->string, item->valuestring);
    }
    return STATUS_OK;
}

static bool is_index(const unsigned char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", bytes[at]) && bytes[at])
        at++;
    return at < size && bytes[at] == '{' && !memchr(bytes, '\0', size);
}

static mgk_status add_shards(mgk_tensors *tensors, const char *path)
{
    mgk_status status;
    cJSON *index;
    TRY(parse(path, &index));
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(index, "weight_map");
    CHECK(add_files(tensors, path, map));
    CHECK(mgk_tensors_complete(tensors));
    CHECK(check_map(tensors, path, map));
out:
    cJSON_Delete(index);
    return status;
}

bool mgk_tensors_recognise(const unsigned char *bytes, size_t size)
{
    bool found = is_index(bytes, size < SHOWN ? size : SHOWN);
    for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++)
        found |= containers[i].matches(bytes, size);
    return found;
}

/* ---- any of them ---------------------------------------------------------------------------- */

/* Copies the path of a snapshot below a folder of the Hugging Face cache, or NULL. */
static mgk_status find_snapshot(const char *folder, char **out)
{
    char *snapshots;
    const struct dirent *entry = NULL;
    *out = NULL;
    TRY(mgk_join_path(folder, "snapshots", &snapshots));
    DIR *list = opendir(snapshots);
    while (list && (entry = readdir(list)) && entry->d_name[0] == '.')
        ;
    mgk_status status = entry ? mgk_join_path(snapshots, entry->d_name, out) : STATUS_OK;
    if (list)
        closedir(list);
    mgk_free(snapshots);
    return status;
}

static mgk_status refuse_folder(const char *folder)
{
    char *snapshot;
    TRY(find_snapshot(folder, &snapshot));
    if (!snapshot)
        return mgk_fail(STATUS_FORMAT,
                        "%s: a folder without model.safetensors or pytorch_model.bin", folder);
    mgk_fail(STATUS_FORMAT, "%s: a cache of Hugging Face: name a snapshot in it, such as %s",
             folder, snapshot);
    mgk_free(snapshot);
    return STATUS_FORMAT;
}

/* The path of the only model of the paper's LRA code in a folder, by the end of its name; NULL:
 * there is none. STATUS_USAGE names two of several. */
static mgk_status find_model(const char *folder, char **out)
{
    mgk_status status = STATUS_OK;
    const struct dirent *entry;
    char first[256] = "";
    *out = NULL;
    DIR *list = opendir(folder);
    while (list && status == STATUS_OK && (entry = readdir(list))) {
        if (!mgk_ends_with(entry->d_name, "_output.model"))
            continue;
        if (first[0])
            status = mgk_fail(STATUS_USAGE, "%s: has several models: name one, such as %s or %s",
                              folder, first, entry->d_name);
        snprintf(first, sizeof(first), "%s", entry->d_name);
    }
    if (list)
        closedir(list);
    return status == STATUS_OK && first[0] ? mgk_join_path(folder, first, out) : status;
}

/* The first of the known names that the folder has. */
static mgk_status find_in_folder(const char *folder, char **out)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin", "pytorch_model.bin.index.json",
                                        "model.pt"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct stat info;
        TRY(mgk_join_path(folder, names[i], out));
        if (stat(*out, &info) == 0)
            return STATUS_OK;
        mgk_free(*out);
    }
    TRY(find_model(folder, out));
    return *out ? STATUS_OK : refuse_folder(folder);
}

static mgk_status add(mgk_tensors *tensors, const char *path)
{
    unsigned char bytes[SHOWN];
    size_t size;
    TRY(mgk_file_read_beginning(path, SHOWN, bytes, &size));
    if (is_index(bytes, size))
        return add_shards(tensors, path);
    TRY(add_container(tensors, path, bytes, size, &tensors->container));
    return mgk_tensors_complete(tensors);
}

mgk_status mgk_tensors_open(const char *path, mgk_tensors **out)
{
    mgk_status status;
    mgk_tensors *tensors = NULL;
    char *found = NULL;
    *out = NULL;
    if (mgk_is_folder(path))
        TRY(find_in_folder(path, &found));
    CHECK(mgk_alloc(1, sizeof(*tensors), &tensors));
    tensors->arena.limit = MAX_MEMORY;
    CHECK(add(tensors, found ? found : path));
out:
    mgk_free(found);
    if (status == STATUS_OK)
        *out = tensors;
    else
        mgk_tensors_close(tensors);
    return status;
}
