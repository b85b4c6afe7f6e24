/* SPDX-License-Identifier: MIT */
/* Where the parts of a store's blocks go: into an HDF5 file, to another process, or both. */
#ifndef MGK_STORE_TARGET_H
#define MGK_STORE_TARGET_H

#include "store/schema/chunk_grid.h"
#include "store/schema/writer.h"

/* Any thread may call the functions, several at a time. */
typedef struct mgk_store_target {
    /* Takes the tokens and lengths of a block's sample. */
    mgk_status (*put_tokens)(void *tokens, const mgk_store_block *block);
    /* Takes an encoded chunk. */
    mgk_status (*put_chunk)(void *chunks, const mgk_store_chunk *chunk);
    void *tokens, *chunks; /* what these functions work on */
} mgk_store_target;

#endif
