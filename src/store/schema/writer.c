/* SPDX-License-Identifier: MIT */
/* Passes blocks of an attention store to the file, and finishes it. */
#include <stdio.h>

#include "base/memory.h"
#include "base/progress.h"
#include "store/schema/reader_private.h"
#include "store/schema/shard_files.h"
#include "store/schema/writer_private.h"

/* Whether a block is waiting and may be written. The caller holds the lock. */
static bool can_write(const mgk_store_writer *writer)
{
    return writer->status == STATUS_OK && writer->taken < writer->submitted && writer->unused;
}

/* Writes the oldest waiting block. The caller holds the lock, which is released meanwhile. */
static void write_oldest(mgk_store_writer *writer)
{
    mgk_store_block *block = writer->waiting[writer->taken++ % writer->block_count];
    mgk_block_encoders *encoders = writer->unused;
    writer->unused = encoders->next;
    pthread_mutex_unlock(&writer->lock);
    double start = mgk_seconds();
    mgk_status status = mgk_write_block(&writer->blocks_out, encoders, block);
    double end = mgk_seconds();
    pthread_mutex_lock(&writer->lock);
    encoders->next = writer->unused;
    writer->unused = encoders;
    writer->seconds += end - start;
    writer->written++;
    writer->begun += block->layer == 0;
    writer->idle[writer->idle_count++] = block;
    if (status != STATUS_OK && writer->status == STATUS_OK) {
        writer->status = status;
        snprintf(writer->message, sizeof(writer->message), "%s", mgk_fail_message());
    }
    pthread_cond_broadcast(&writer->changed);
}

/* Writes the waiting ones of the first `end` blocks in a caller's thread. The caller holds the
 * lock. */
static void help_writing(mgk_store_writer *writer, int64_t end)
{
    while (!writer->has_thread && writer->taken < end && can_write(writer))
        write_oldest(writer);
}

static void *write_blocks(void *context)
{
    mgk_store_writer *writer = context;
    pthread_mutex_lock(&writer->lock);
    for (;;) {
        while (!can_write(writer) && writer->status == STATUS_OK && !writer->closing)
            pthread_cond_wait(&writer->changed, &writer->lock);
        if (!can_write(writer))
            break;
        write_oldest(writer);
    }
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

mgk_status mgk_store_start_thread(mgk_store_writer *writer)
{
    if (pthread_create(&writer->thread, NULL, write_blocks, writer) != 0)
        return mgk_fail(STATUS_MEMORY, "%s: cannot start a thread", writer->path);
    writer->has_thread = true;
    return STATUS_OK;
}

/* Reports a failed write in the caller's thread. The caller holds the lock. */
static mgk_status writing_status(const mgk_store_writer *writer)
{
    return writer->status == STATUS_OK ? STATUS_OK
                                       : mgk_fail(writer->status, "%s", writer->message);
}

/* Ends writing: with STATUS_OK after all waiting blocks, else as soon as possible. */
static void stop_writing(mgk_store_writer *writer, mgk_status reason)
{
    pthread_mutex_lock(&writer->lock);
    writer->closing = true;
    if (writer->status == STATUS_OK)
        writer->status = reason;
    help_writing(writer, writer->submitted);
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
    if (writer->has_thread)
        pthread_join(writer->thread, NULL);
    writer->has_thread = false;
}

mgk_status mgk_store_drain(mgk_store_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    while (writer->status == STATUS_OK && writer->written < writer->submitted) {
        help_writing(writer, writer->submitted);
        if (writer->status == STATUS_OK && writer->written < writer->submitted)
            pthread_cond_wait(&writer->changed, &writer->lock);
    }
    mgk_status status = writing_status(writer);
    pthread_mutex_unlock(&writer->lock);
    if (status != STATUS_OK)
        mgk_store_stop(writer);
    return status;
}

void mgk_store_stop(mgk_store_writer *writer)
{
    stop_writing(writer, STATUS_INTERRUPTED);
}

int mgk_store_blocks(const mgk_store_writer *writer)
{
    return writer->block_count;
}

/* Number of blocks that callers hold. The caller holds the lock. */
static int count_lent(const mgk_store_writer *writer)
{
    return writer->block_count - writer->idle_count - (int)(writer->submitted - writer->written);
}

mgk_status mgk_store_next_block(mgk_store_writer *writer, mgk_store_block **out)
{
    mgk_status status;
    *out = NULL;
    pthread_mutex_lock(&writer->lock);
    while (writer->status == STATUS_OK && writer->idle_count == 0 &&
           count_lent(writer) < writer->block_count - 1) {
        help_writing(writer, writer->taken + 1);
        if (writer->status == STATUS_OK && writer->idle_count == 0)
            pthread_cond_wait(&writer->changed, &writer->lock);
    }
    status = writing_status(writer);
    if (status == STATUS_OK && count_lent(writer) == writer->block_count - 1)
        status = mgk_fail(STATUS_USAGE, "%s: %d blocks are lent already", writer->path,
                          writer->block_count - 1);
    if (status == STATUS_OK)
        *out = writer->idle[--writer->idle_count];
    pthread_mutex_unlock(&writer->lock);
    return status;
}

static mgk_status check_block(const mgk_store_writer *writer, const mgk_store_block *block)
{
    const mgk_store_description *description = &writer->blocks_out.description;
    if (!block || count_lent(writer) == 0)
        return mgk_fail(STATUS_USAGE, "%s: no block is lent", writer->path);
    if (block->sample < 0 || block->sample >= description->samples || block->layer < 0 ||
        block->layer >= description->layers || block->length < 0 ||
        block->length > description->tokens)
        return mgk_fail(STATUS_USAGE, "%s: no block for sample %d, layer %d, length %d",
                        writer->path, block->sample, block->layer, block->length);
    if (description->cross &&
        (block->key_length < 0 || block->key_length > mgk_store_keys(description)))
        return mgk_fail(STATUS_USAGE, "%s: no block for %d valid keys", writer->path,
                        block->key_length);
    return STATUS_OK;
}

mgk_status mgk_store_submit(mgk_store_writer *writer, mgk_store_block *block)
{
    pthread_mutex_lock(&writer->lock);
    mgk_status status = writing_status(writer);
    if (status == STATUS_OK)
        status = check_block(writer, block);
    if (status == STATUS_OK) {
        writer->waiting[writer->submitted++ % writer->block_count] = block;
        pthread_cond_broadcast(&writer->changed);
        help_writing(writer, writer->submitted);
        status = writing_status(writer);
    }
    pthread_mutex_unlock(&writer->lock);
    return status;
}

mgk_status mgk_store_write_whole(mgk_store_writer *writer, mgk_store_object object,
                                 const void *data)
{
    const mgk_block_writer *out = &writer->blocks_out;
    const char *name = mgk_object_name(object);
    if (!mgk_is_whole(object) || !(out->description.objects & MGK_STORE_BIT(object)))
        return mgk_fail(
            STATUS_USAGE,
            "%s: \"%s\" is not among the objects of this store that are written at once",
            writer->path, name);
    writer->whole_written |= MGK_STORE_BIT(object);
    return mgk_store_file_put_whole(&writer->file, object, data);
}

mgk_status mgk_store_receive(mgk_store_writer *writer, const void *message, size_t size)
{
    bool tokens;
    TRY(mgk_delivery_receive(&writer->file, message, size, &tokens));
    pthread_mutex_lock(&writer->lock);
    writer->received += tokens;
    pthread_mutex_unlock(&writer->lock);
    return STATUS_OK;
}

int64_t mgk_store_received(mgk_store_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    const int64_t received = writer->received;
    pthread_mutex_unlock(&writer->lock);
    return received;
}

/* Each process has all blocks of its samples, and rank 0 all samples. */
static mgk_status check_complete(const mgk_store_writer *writer)
{
    const mgk_store_description *description = &writer->blocks_out.description;
    const bool leads = mgk_cluster_leads(writer->cluster);
    const int64_t samples = leads ? description->samples - writer->received : writer->begun;
    const int64_t expected = samples * description->layers;
    if (writer->written != expected)
        return mgk_fail(STATUS_USAGE, "%s: %lld of %lld blocks were written", writer->path,
                        (long long)writer->written, (long long)expected);
    for (int object = STORE_KEY_WEIGHTS; leads && object < STORE_OBJECTS; object++)
        if (description->objects & ~writer->whole_written & MGK_STORE_BIT(object))
            return mgk_fail(STATUS_USAGE, "%s: \"%s\" was not written", writer->path,
                            mgk_object_name(object));
    return STATUS_OK;
}

/* Closes the files, which keep their temporary names. */
static mgk_status close_files(mgk_store_writer *writer)
{
    stop_writing(writer, STATUS_OK);
    TRY(writing_status(writer));
    TRY(check_complete(writer));
    if (writer->places.is_open)
        TRY(mgk_places_finish(&writer->places));
    TRY(mgk_shard_output_finish(&writer->shard));
    return mgk_cluster_leads(writer->cluster) ? mgk_store_file_finish(&writer->file) : STATUS_OK;
}

/* The shards that the replaced store has named go. One that cannot be removed is in nobody's way.
 */
static void remove_shards(const mgk_store_writer *writer, const mgk_store_reader *replaced)
{
    char *path;
    for (size_t i = 0; mgk_store_shard_path(replaced, i, &path) == STATUS_OK && path; i++) {
        mgk_shard_remove_other(writer->path, path, writer->shard_set);
        mgk_free(path);
    }
}

/* The file of rank 0 takes its name, and with it replaces a store that was there. What cannot be
 * read as a store names no shards. */
static mgk_status take_place(mgk_store_writer *writer)
{
    mgk_store_reader *replaced = NULL;
    if (writer->output.force)
        (void)mgk_open_whole(writer->path, NULL, NULL, &replaced);
    const mgk_status status = mgk_output_commit(&writer->output);
    if (status == STATUS_OK && replaced)
        remove_shards(writer, replaced);
    mgk_store_close(replaced);
    return status;
}

int mgk_store_shard_set(const mgk_store_writer *writer)
{
    return writer->shard_set;
}

mgk_status mgk_store_finish(mgk_store_writer *writer, double *seconds)
{
    const mgk_cluster *cluster = writer->cluster;
    mgk_status status;
    CHECK(mgk_cluster_agree(cluster, close_files(writer)));
    CHECK(mgk_cluster_agree(cluster, mgk_shard_output_commit(&writer->shard)));
    mgk_shard_output_hold(&writer->shard); /* by all, before any reader finds them */
    CHECK(mgk_cluster_agree(cluster, STATUS_OK));
    status = mgk_cluster_leads(cluster) ? take_place(writer) : STATUS_OK;
    CHECK(mgk_cluster_agree(cluster, status));
    mgk_shard_output_keep(&writer->shard);
    if (seconds)
        *seconds = writer->seconds;
out:
    mgk_store_discard(writer);
    return status;
}

void mgk_store_discard(mgk_store_writer *writer)
{
    if (!writer)
        return;
    stop_writing(writer, STATUS_INTERRUPTED);
    mgk_store_file_abandon(&writer->file);
    mgk_output_discard(&writer->output);
    mgk_shard_output_close(&writer->shard);
    mgk_places_close(&writer->places);
    for (int i = 0; i < writer->encoders_count; i++)
        mgk_block_encoders_close(&writer->encoders[i]);
    mgk_free(writer->encoders);
    for (int i = 0; i < writer->block_count; i++) {
        mgk_free(writer->blocks[i].tokens);
        mgk_free(writer->blocks[i].key_tokens);
        for (int object = 0; object <= STORE_VALUES; object++)
            if (!(writer->brought & MGK_STORE_BIT(object)))
                mgk_free(writer->blocks[i].arrays[object]);
    }
    mgk_free(writer->blocks);
    mgk_free(writer->idle);
    mgk_free(writer->waiting);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->lock);
    mgk_free(writer->path);
    mgk_free(writer);
}
