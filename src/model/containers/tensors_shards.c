/*
 * A checkpoint in several files: a JSON object whose "weight_map" names the file of each tensor,
 * beside the index.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/containers/tensors_private.h"

static mgk_status parse(const char *path, cJSON **index)
{
    mgk_mapping file;
    TRY(mgk_map_limited(path, MGK_JSON_BYTES, &file));
    mgk_status status = mgk_json_parse_object((const char *)file.data, file.size, index);
    mgk_unmap_file(&file);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, path);
}

/* A file beside the index: nothing that leads elsewhere. */
static bool is_plain_name(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The files that the map names, each once, sorted, into names [*count], which has room for all. */
static mgk_status list_files(const cJSON *map, const char **names, size_t *count)
{
    const cJSON *item;
    size_t all = 0;
    cJSON_ArrayForEach(item, map)
    {
        if (!cJSON_IsString(item) || !is_plain_name(item->valuestring))
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
    TRY(mgk_copy_string(path, &folder));
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    mgk_status status = slash ? mgk_join_path(folder, name, &file) : mgk_copy_string(name, &file);
    if (status == STATUS_OK)
        status = mgk_tensors_add_container(tensors, file, container);
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
    cJSON_ArrayForEach(item, map) count++;
    if (!map)
        return mgk_fail(STATUS_FORMAT, "%s: a JSON file, but no index of tensors", path);
    if (!cJSON_IsObject(map) || count == 0)
        return mgk_fail(STATUS_FORMAT, "%s: an index without tensors in its weight_map", path);
    TRY(mgk_arena_alloc(&tensors->arena, count, sizeof(*names), &names));
    mgk_status status = list_files(map, names, &count);
    if (status != STATUS_OK)
        return mgk_fail_prefix(status, path);
    for (size_t i = 0; i < count; i++)
        TRY(add_beside(tensors, path, names[i], &container));
    TRY(mgk_arena_alloc(&tensors->arena, ROOM, 1, &text));
    snprintf(text, ROOM, "%s, %zu file%s", container, count, count == 1 ? "" : "s");
    tensors->container = text;
    return mgk_tensors_add_file(tensors, path);
}

/* Each tensor of the map is in the file that it names. */
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

bool mgk_tensors_is_index(const unsigned char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", bytes[at]) && bytes[at])
        at++;
    return at < size && bytes[at] == '{' && !memchr(bytes, '\0', size);
}

mgk_status mgk_tensors_add_shards(mgk_tensors *tensors, const char *path)
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
