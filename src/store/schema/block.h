/* SPDX-License-Identifier: MIT */
/* Writes one block (a layer of a sample) of an attention store, chunk by chunk. */
#ifndef MGK_STORE_BLOCK_H
#define MGK_STORE_BLOCK_H

#include "store/schema/encode.h"
#include "store/schema/target.h"

/* The store being written. */
typedef struct mgk_block_writer {
    const char *path;                  /* in messages */
    mgk_store_description description; /* sizes and flags; pointers are unused */
    mgk_store_real incoming;
    mgk_store_target target;
} mgk_block_writer;

/* The buffers of the threads that compress the chunks of a block. */
typedef struct mgk_block_encoders {
    int threads, count;
    mgk_chunk_encoder *chunks;       /* [count] */
    struct mgk_block_encoders *next; /* for lists of encoders */
} mgk_block_encoders;

/* Prepares encoders for blocks of this store; `threads` compress at a time. */
mgk_status mgk_block_encoders_open(const mgk_block_writer *writer, int compress, int threads,
                                   mgk_block_encoders *out);

/* Releases them; zeroed ones are accepted. */
void mgk_block_encoders_close(mgk_block_encoders *encoders);

/* Passes the block to the target. Threads with their own encoders may do so at the same time. */
mgk_status mgk_write_block(const mgk_block_writer *writer, const mgk_block_encoders *encoders,
                           const mgk_store_block *block);

#endif
