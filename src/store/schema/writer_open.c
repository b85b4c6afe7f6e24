/* SPDX-License-Identifier: MIT */
/* Creates an attention store and allocates its blocks. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "store/schema/convert.h"
#include "store/schema/shard_files.h"
#include "store/schema/writer_private.h"

/*
 * The blocks of a layer come in a burst, and none come while the model computes. If one thread
 * writes while others compute, there is room for a burst of small blocks; of large blocks each
 * caller has one to fill, one more waits and one is being written.
 */
enum { ROOM_BYTES = 32 << 20, SPARE_BLOCKS = 2, MOST_BLOCKS = 64 };

static mgk_status check_sizes(const char *path, const mgk_store_description *description)
{
    size_t sizes[STORE_AXES], blocks;
    mgk_axis_sizes(description, sizes);
    if (mgk_multiply(sizes[AXIS_SAMPLE], sizes[AXIS_LAYER], &blocks) != STATUS_OK ||
        blocks > INT64_MAX)
        return mgk_fail(STATUS_USAGE, "%s: too many samples and layers", path);
    for (int object = 0; object < STORE_OBJECTS; object++) {
        mgk_object_layout layout = mgk_layout_of(object, description);
        bool stored = description->objects & MGK_STORE_BIT(object);
        for (int i = 0; i < layout.rank; i++) {
            /* Sizes are int32: a negative one converts to a huge size_t. */
            if (stored && (sizes[layout.axes[i]] < 1 || sizes[layout.axes[i]] > INT32_MAX))
                return mgk_fail(STATUS_USAGE, "%s: axis \"%s\" of \"%s\" has no size", path,
                                mgk_axis_layouts[layout.axes[i]].label, layout.name);
        }
    }
    return STATUS_OK;
}

/* Only a store of the part "cross" has keys of another sequence. */
static mgk_status check_part(const char *path, const mgk_store_description *description)
{
    const bool named = description->part && strcmp(description->part, MGK_STORE_CROSS) == 0;
    if (description->cross != named)
        return mgk_fail(STATUS_USAGE, "%s: a store of part \"%s\" that %s cross-attention", path,
                        description->part ? description->part : "",
                        description->cross ? "is" : "is not");
    if (description->key_tokens < 0 || (!named && description->key_tokens > 0))
        return mgk_fail(STATUS_USAGE, "%s: %d tokens of keys", path, description->key_tokens);
    if (named && description->causal)
        return mgk_fail(STATUS_USAGE, "%s: cross-attention has no causal mask", path);
    return STATUS_OK;
}

static mgk_status check_arguments(const char *path, mgk_store_description *description,
                                  const mgk_store_options *options)
{
    if (description->samples < 1 || description->layers < 1 || description->heads < 1 ||
        description->tokens < 1)
        return mgk_fail(STATUS_USAGE, "%s: no samples, layers, heads or tokens", path);
    if (!description->sample_index || !description->layer_index || !description->head_index)
        return mgk_fail(STATUS_USAGE, "%s: an index array is missing", path);
    if (description->objects >> STORE_OBJECTS || description->storage > STORE_F64 ||
        (options->incoming != STORE_F32 && options->incoming != STORE_F64))
        return mgk_fail(STATUS_USAGE, "%s: unknown object or element type", path);
    if (options->compress < 0 || options->compress > 9)
        return mgk_fail(STATUS_USAGE, "%s: compression level %d, expected 0 to 9", path,
                        options->compress);
    if (options->threads < 0 || options->callers < 0)
        return mgk_fail(STATUS_USAGE, "%s: %d threads, %d callers", path, options->threads,
                        options->callers);
    description->created = "";
    for (int i = 0; i < STORE_STRINGS; i++)
        if (!*mgk_store_string_of(description, &mgk_store_strings[i]))
            return mgk_fail(STATUS_USAGE, "%s: attribute \"%s\" is missing", path,
                            mgk_store_strings[i].name);
    TRY(check_part(path, description));
    return check_sizes(path, description);
}

/* The shards of a store. */
typedef struct shard_list {
    mgk_store_shard *shards; /* [count] */
    char **paths;            /* [count], of their names */
    size_t count;
} shard_list;

static void free_shards(shard_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        mgk_free(list->paths[i]);
    mgk_free(list->paths);
    mgk_free(list->shards);
}

/* Lists the shards that have samples. */
static mgk_status list_shards(const mgk_store_writer *writer, const mgk_store_options *options,
                              shard_list *out)
{
    const int size = mgk_cluster_size_of(options->cluster);
    TRY(mgk_alloc((size_t)size, sizeof(*out->shards), &out->shards));
    TRY(mgk_alloc((size_t)size, sizeof(*out->paths), &out->paths));
    for (int rank = 0; rank < size; rank++) {
        const int32_t first = options->shards[rank], count = options->shards[rank + 1] - first;
        if (count == 0)
            continue;
        TRY(mgk_shard_path(writer->path, writer->shard_set, rank, &out->paths[out->count]));
        out->shards[out->count] = (mgk_store_shard){
            .name = mgk_file_name(out->paths[out->count]), .first = first, .count = count};
        out->count++;
    }
    return STATUS_OK;
}

/* The file that rank 0 has. */
static mgk_status open_file(mgk_store_writer *writer, const mgk_store_description *description,
                            const mgk_store_options *options)
{
    mgk_status status;
    shard_list list = {0};
    CHECK(mgk_output_open(writer->path, options->force, &writer->output));
    if (options->shards)
        CHECK(list_shards(writer, options, &list));
    const mgk_store_storage storage = {
        .compress = options->compress, .shards = list.shards, .shard_count = list.count};
    CHECK(mgk_store_file_create(writer->output.temporary, writer->path, description,
                                options->incoming, &storage, &writer->file));
out:
    free_shards(&list);
    return status;
}

static mgk_status open_shard(mgk_store_writer *writer, const mgk_store_description *description,
                             const mgk_store_options *options, mgk_store_target whole)
{
    const int rank = mgk_cluster_rank_of(options->cluster);
    const int32_t first = options->shards[rank], count = options->shards[rank + 1] - first;
    if (count == 0)
        return STATUS_OK;
    writer->blocks_out.target = (mgk_store_target){.put_tokens = mgk_shard_output_put_tokens,
                                                   .put_chunk = mgk_shard_output_put_chunk,
                                                   .tokens = &writer->shard,
                                                   .chunks = &writer->shard};
    return mgk_shard_output_open(writer->path, writer->shard_set, rank, description, first, count,
                                 options->incoming, options->compress, whole, &writer->shard);
}

/* Whether the processes write one file, each its own chunks. */
static bool writes_places(const mgk_store_options *options)
{
    return options->cluster && !options->shards && options->compress == 0;
}

/* What each process opens by itself. */
static mgk_status open_outputs(mgk_store_writer *writer, const char *path,
                               const mgk_store_description *description,
                               const mgk_store_options *options)
{
    mgk_store_description checked = *description;
    mgk_store_target *target = &writer->blocks_out.target;
    const bool leads = mgk_cluster_leads(options->cluster);
    TRY(check_arguments(path, &checked, options));
    TRY(mgk_copy_string(path, &writer->path));
    writer->blocks_out.path = writer->path;
    writer->blocks_out.description = checked;
    if (leads) {
        TRY(open_file(writer, &checked, options));
        *target = (mgk_store_target){mgk_store_file_put_tokens, mgk_store_file_put_chunk,
                                     &writer->file, &writer->file};
    } else {
        writer->delivery = (mgk_store_delivery){&writer->blocks_out.description, options->sender};
        *target = (mgk_store_target){mgk_delivery_put_tokens, mgk_delivery_put_chunk,
                                     &writer->delivery, &writer->delivery};
    }
    if (options->shards)
        return open_shard(writer, &checked, options, *target);
    if (!writes_places(options))
        return STATUS_OK;
    TRY(mgk_places_open(writer->path, &checked, &writer->places));
    target->put_chunk = mgk_places_put_chunk;
    target->chunks = &writer->places;
    return leads ? mgk_places_reserve(&writer->places, &writer->file) : STATUS_OK;
}

/* Collective: opens the file of rank 0 in all processes. */
static mgk_status share_file(mgk_store_writer *writer)
{
    char actual[PATH_MAX] = "";
    if (writer->output.temporary)
        snprintf(actual, sizeof(actual), "%s", writer->output.temporary);
    return mgk_places_share(&writer->places, writer->cluster, &writer->blocks_out.description,
                            actual);
}

static int callers_of(const mgk_store_options *options)
{
    return options->callers ? options->callers : 1;
}

/* Number of values of one object in a block, that is in one (sample, layer); 0: not stored. */
static mgk_status block_values(const mgk_block_writer *out, mgk_store_object object, size_t *values)
{
    size_t sizes[STORE_AXES];
    mgk_object_layout layout = mgk_layout_of(object, &out->description);
    mgk_axis_sizes(&out->description, sizes);
    *values = out->description.objects & MGK_STORE_BIT(object) ? 1 : 0;
    for (int i = 2; i < layout.rank; i++)
        TRY(mgk_multiply(*values, sizes[layout.axes[i]], values));
    return STATUS_OK;
}

static mgk_status choose_block_count(const mgk_block_writer *out, const mgk_store_options *options,
                                     int *count)
{
    size_t values, bytes = 1;
    int fewest = callers_of(options) + SPARE_BLOCKS;
    for (int object = 0; object <= STORE_VALUES; object++) {
        TRY(block_values(out, object, &values));
        TRY(mgk_multiply(values, mgk_real_size(out->incoming), &values));
        bytes = values > SIZE_MAX - bytes ? SIZE_MAX : bytes + values;
    }
    size_t fitting = ROOM_BYTES / bytes;
    *count = fitting < MOST_BLOCKS ? (int)fitting : MOST_BLOCKS;
    if (*count < fewest || (callers_of(options) == 1 && !options->own_thread))
        *count = fewest;
    return STATUS_OK;
}

/* Allocates the arrays of a block, except those that the caller supplies. */
static mgk_status allocate_block(const mgk_store_writer *writer, mgk_store_block *block)
{
    const mgk_block_writer *out = &writer->blocks_out;
    const mgk_store_description *description = &out->description;
    TRY(mgk_alloc((size_t)description->tokens, sizeof(*block->tokens), &block->tokens));
    if (description->cross)
        TRY(mgk_alloc((size_t)mgk_store_keys(description), sizeof(*block->key_tokens),
                      &block->key_tokens));
    for (int object = 0; object <= STORE_VALUES; object++) {
        size_t values;
        TRY(block_values(out, object, &values));
        if (values > 0 && !(writer->brought & MGK_STORE_BIT(object)))
            TRY(mgk_alloc(values, mgk_real_size(out->incoming), &block->arrays[object]));
    }
    return STATUS_OK;
}

static mgk_status allocate_blocks(mgk_store_writer *writer, const mgk_store_options *options)
{
    int count;
    TRY(choose_block_count(&writer->blocks_out, options, &count));
    TRY(mgk_alloc((size_t)count, sizeof(*writer->blocks), &writer->blocks));
    TRY(mgk_alloc((size_t)count, sizeof(*writer->idle), &writer->idle));
    TRY(mgk_alloc((size_t)count, sizeof(*writer->waiting), &writer->waiting));
    writer->block_count = count;
    for (int i = 0; i < count; i++) {
        TRY(allocate_block(writer, &writer->blocks[i]));
        writer->blocks[i].number = i;
        writer->idle[writer->idle_count++] = &writer->blocks[i];
    }
    return STATUS_OK;
}

/* Without encoding, one block is written at a time; with encoding, each caller needs its own
 * encoders. */
static mgk_status open_encoders(mgk_store_writer *writer, const mgk_store_options *options)
{
    const mgk_block_writer *out = &writer->blocks_out;
    bool encodes = options->compress > 0 || out->incoming != out->description.storage;
    int count = encodes && !options->own_thread ? callers_of(options) : 1;
    TRY(mgk_alloc((size_t)count, sizeof(*writer->encoders), &writer->encoders));
    writer->encoders_count = count;
    for (int i = 0; i < count; i++) {
        mgk_block_encoders *encoders = &writer->encoders[i];
        TRY(mgk_block_encoders_open(out, options->compress, options->threads ? options->threads : 1,
                                    encoders));
        encoders->next = writer->unused;
        writer->unused = encoders;
    }
    return STATUS_OK;
}

static mgk_status open_blocks(mgk_store_writer *writer, const mgk_store_options *options)
{
    TRY(open_encoders(writer, options));
    writer->brought = options->brought;
    TRY(allocate_blocks(writer, options));
    return options->own_thread ? mgk_store_start_thread(writer) : STATUS_OK;
}

/* Collective: the set that rank 0 chooses. */
static mgk_status choose_set(mgk_store_writer *writer, const char *path,
                             const mgk_store_options *options)
{
    mgk_status status = STATUS_OK;
    if (options->shards && mgk_cluster_leads(options->cluster))
        status = mgk_shards_choose(path, options->force, &writer->shard_set);
    TRY(mgk_cluster_agree(options->cluster, status));
    return mgk_cluster_broadcast(options->cluster, &writer->shard_set, sizeof(writer->shard_set));
}

static mgk_status allocate_writer(const mgk_store_options *options, mgk_store_writer **out)
{
    TRY(mgk_alloc(1, sizeof(**out), out));
    mgk_store_writer *writer = *out;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    writer->cluster = options->cluster;
    writer->shard_set = -1;
    writer->file.file.id = H5I_INVALID_HID;
    writer->blocks_out.incoming = options->incoming;
    return STATUS_OK;
}

mgk_status mgk_store_create(const char *path, const mgk_store_description *description,
                            const mgk_store_options *options, mgk_store_writer **out)
{
    mgk_store_writer *writer = NULL;
    mgk_status status;
    *out = NULL;
    CHECK(mgk_cluster_agree(options->cluster, allocate_writer(options, &writer)));
    CHECK(choose_set(writer, path, options));
    CHECK(mgk_cluster_agree(options->cluster, open_outputs(writer, path, description, options)));
    if (writes_places(options))
        CHECK(share_file(writer));
    CHECK(mgk_cluster_agree(options->cluster, open_blocks(writer, options)));
    *out = writer;
out:
    if (status != STATUS_OK)
        mgk_store_discard(writer);
    return status;
}
