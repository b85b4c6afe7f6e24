/* SPDX-License-Identifier: MIT */
/* Stores in shards (shards.h). Shards are not trusted more than other files: each is opened and
 * checked as any store is, and HDF5 itself never follows a virtual dataset. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "store/hdf5/h5_virtual.h"
#include "store/schema/reader_private.h"

static mgk_status take_shards(mgk_store_reader *reader, const mgk_h5_source *sources, size_t count)
{
    TRY(mgk_alloc(count, sizeof(*reader->shards), &reader->shards));
    reader->shard_count = count;
    for (size_t i = 0; i < count; i++) {
        mgk_reader_shard *shard = &reader->shards[i];
        shard->first = (int32_t)sources[i].first;
        shard->count = (int32_t)sources[i].count;
        snprintf(shard->name, sizeof(shard->name), "%s", sources[i].file);
    }
    return STATUS_OK;
}

/* Whether the sources of an object are the datasets of this name in the shards. */
static bool are_in_shards(const mgk_store_reader *reader, const char *name,
                          const mgk_h5_source *sources, size_t count)
{
    bool same = count == reader->shard_count;
    for (size_t i = 0; same && i < count; i++)
        same = strcmp(sources[i].dataset, name) == 0 &&
               strcmp(sources[i].file, reader->shards[i].name) == 0 &&
               sources[i].first == (hsize_t)reader->shards[i].first &&
               sources[i].count == (hsize_t)reader->shards[i].count;
    return same;
}

mgk_status mgk_open_virtual(mgk_store_reader *reader, mgk_store_object object,
                            mgk_stored_dataset *out)
{
    const char *name = mgk_object_name(object);
    mgk_h5_source *sources = NULL;
    size_t count;
    mgk_status status;
    CHECK(mgk_h5_read_sources(&reader->file, name, out->id, STORE_MAX_RANK, &out->rank, out->shape,
                              &sources, &count));
    if (reader->shard_count == 0)
        CHECK(take_shards(reader, sources, count));
    if (!are_in_shards(reader, name, sources, count))
        status = mgk_fail(STATUS_UNSUPPORTED,
                          "%s: the values of \"%s\" are in other files than those of other objects",
                          reader->path, name);
out:
    mgk_free(sources);
    return status;
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_same_index(const int32_t *a, const int32_t *b, int32_t count)
{
    return memcmp(a, b, (size_t)count * sizeof(*a)) == 0;
}

/* Whether the shard has the same objects, except those that are written at once, in these shapes.
 */
static bool has_objects(const mgk_store_reader *whole, const mgk_store_reader *shard)
{
    bool same = true;
    for (int object = 0; same && object < STORE_OBJECTS; object++) {
        const mgk_stored_dataset *all = &whole->objects[object], *own = &shard->objects[object];
        const bool expected = all->id >= 0 && !mgk_is_whole(object);
        same = (own->id >= 0) == expected &&
               (!expected || (own->rank == all->rank &&
                              memcmp(own->shape + 1, all->shape + 1,
                                     (size_t)(all->rank - 1) * sizeof(*all->shape)) == 0));
    }
    return same;
}

static bool belongs(const mgk_store_reader *reader, const mgk_reader_shard *shard)
{
    const mgk_store_description *whole = &reader->description;
    const mgk_store_description *own = mgk_store_describe(shard->reader);
    return mgk_store_has_tokens(shard->reader) && has_objects(reader, shard->reader) &&
           own->samples == shard->count && own->layers == whole->layers &&
           own->heads == whole->heads && own->storage == whole->storage &&
           is_same_index(own->sample_index, whole->sample_index + shard->first, shard->count) &&
           is_same_index(own->layer_index, whole->layer_index, whole->layers) &&
           is_same_index(own->head_index, whole->head_index, whole->heads) &&
           is_same_text(own->part, whole->part) &&
           is_same_text(own->model_sha256, whole->model_sha256) &&
           is_same_text(own->command, whole->command);
}

mgk_status mgk_store_shard_path(const mgk_store_reader *reader, size_t i, char **out)
{
    char *folder;
    *out = NULL;
    if (i >= reader->shard_count)
        return STATUS_OK;
    TRY(mgk_folder_of(reader->path, &folder));
    const mgk_status status = mgk_join_path(folder, reader->shards[i].name, out);
    mgk_free(folder);
    return status;
}

static mgk_status open_one(const mgk_store_reader *reader, size_t i, const char *dataset)
{
    mgk_reader_shard *shard = &reader->shards[i];
    char *path;
    TRY(mgk_store_shard_path(reader, i, &path));
    mgk_status status = mgk_open_shard(path, dataset, &shard->reader);
    mgk_free(path);
    if (status != STATUS_OK)
        return mgk_fail_prefix(mgk_fail_prefix(status, "one of its shards"), reader->path);
    if (!belongs(reader, shard))
        return mgk_fail(STATUS_FORMAT,
                        "%s: \"%s\" is not the shard of this store with samples %d to %d",
                        reader->path, shard->name, shard->first, shard->first + shard->count - 1);
    return STATUS_OK;
}

mgk_status mgk_open_shards(mgk_store_reader *reader, const char *dataset)
{
    for (size_t i = 0; i < reader->shard_count; i++)
        TRY(open_one(reader, i, dataset));
    return STATUS_OK;
}

void mgk_close_shards(mgk_store_reader *reader)
{
    for (size_t i = 0; i < reader->shard_count; i++)
        mgk_store_close(reader->shards[i].reader);
    mgk_free(reader->shards);
}

mgk_store_reader *mgk_reader_of(mgk_store_reader *reader, int32_t *sample)
{
    for (size_t i = 0; i < reader->shard_count; i++) {
        const mgk_reader_shard *shard = &reader->shards[i];
        if (*sample < shard->first || *sample - shard->first >= shard->count)
            continue;
        *sample -= shard->first;
        return shard->reader;
    }
    return reader;
}
