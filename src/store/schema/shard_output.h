/* SPDX-License-Identifier: MIT */
/* The shard of a store (shards.h) that this process writes. */
#ifndef MGK_STORE_SHARD_OUTPUT_H
#define MGK_STORE_SHARD_OUTPUT_H

#include "base/file.h"
#include "store/schema/store_file.h"

typedef struct mgk_shard_output {
    char *path; /* NULL: this process writes none */
    mgk_output output;
    mgk_store_file file;
    int32_t first;          /* its first sample in the store */
    mgk_store_target whole; /* takes the tokens, too */
    bool appeared;          /* under its path */
    bool ends;              /* a signal removes it there */
} mgk_shard_output;

/*
 * Creates shard `number` of a set, of samples first to first + count - 1 >= first of the store at
 * `path`, under a temporary name. Close it with mgk_shard_output_close, whatever this returns.
 * STATUS_EXISTS as mgk_output_open.
 */
mgk_status mgk_shard_output_open(const char *path, int set, int number,
                                 const mgk_store_description *store, int32_t first, int32_t count,
                                 mgk_store_real incoming, int compress, mgk_store_target whole,
                                 mgk_shard_output *out);

/* Makes the shard the target of blocks of the store; `shard` is an mgk_shard_output. */
mgk_status mgk_shard_output_put_tokens(void *shard, const mgk_store_block *block);
mgk_status mgk_shard_output_put_chunk(void *shard, const mgk_store_chunk *chunk);

/* Closes the file; gives it its name; lets it stay there when a signal ends the program; and when
 * it is closed. None of a zeroed one. */
mgk_status mgk_shard_output_finish(mgk_shard_output *shard);
mgk_status mgk_shard_output_commit(mgk_shard_output *shard);
void mgk_shard_output_hold(mgk_shard_output *shard);
void mgk_shard_output_keep(mgk_shard_output *shard);

/* Releases it, and removes its file unless that is kept; a zeroed one is accepted. */
void mgk_shard_output_close(mgk_shard_output *shard);

#endif
