/* SPDX-License-Identifier: MIT */
/* The files that a store in shards consists of. None of them is opened. */
#include "base/file.h"
#include "base/memory.h"
#include "describe/describe.h"
#include "store/schema/reader.h"

/* Appends to an array of the tree, which begins with its first item. */
static mgk_status append(cJSON *tree, const char *key, cJSON *item)
{
    cJSON *array = cJSON_GetObjectItemCaseSensitive(tree, key);
    if (!array) {
        array = cJSON_CreateArray();
        const mgk_status status = mgk_describe_add(tree, key, array);
        if (status != STATUS_OK) {
            cJSON_Delete(item);
            return status;
        }
    }
    return mgk_describe_append(array, item);
}

static mgk_status add_shard(const char *path, cJSON *tree)
{
    const char *name = mgk_file_name(path);
    const bool present = mgk_is_file(path);
    cJSON *shard = cJSON_CreateObject();
    TRY(append(tree, "shards", shard));
    TRY(mgk_describe_add(shard, "file", cJSON_CreateString(name)));
    TRY(mgk_describe_add(shard, "present", cJSON_CreateBool(present)));
    return present ? STATUS_OK : append(tree, "missing_shards", cJSON_CreateString(name));
}

mgk_status mgk_describe_shards(const char *path, cJSON *tree)
{
    mgk_store_reader *reader;
    mgk_status status = mgk_store_open_alone(path, &reader);
    char *shard = NULL;
    if (status != STATUS_OK) /* what is damaged is listed all the same */
        return status == STATUS_MEMORY ? status : STATUS_OK;
    CHECK(mgk_store_shard_path(reader, 0, &shard));
    for (size_t i = 0; shard; i++) {
        status = add_shard(shard, tree);
        mgk_free(shard);
        shard = NULL;
        CHECK(status);
        CHECK(mgk_store_shard_path(reader, i + 1, &shard));
    }
out:
    mgk_store_close(reader);
    return status;
}
