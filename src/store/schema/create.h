/* SPDX-License-Identifier: MIT */
/* Creates the attention store's file: attributes, dimension scales and empty datasets. */
#ifndef MGK_STORE_CREATE_H
#define MGK_STORE_CREATE_H

#include "store/hdf5/h5.h"
#include "store/schema/layout.h"

/* The datasets of a store that is being written. */
typedef struct mgk_store_datasets {
    /* Of the queries, and of the keys of a cross store; the text where it is stored. */
    hid_t tokens[STORE_SIDES], lengths[STORE_SIDES], token_text[STORE_SIDES];
    hid_t objects[STORE_OBJECTS]; /* H5I_INVALID_HID: not stored */
} mgk_store_datasets;

/* A store of some of the samples, in a file in the same folder. */
typedef struct mgk_store_shard {
    const char *name; /* of the file */
    int32_t first, count;
} mgk_store_shard;

/* How a store keeps the objects that are written in blocks. */
typedef struct mgk_store_storage {
    int compress; /* deflate level of chunks; 0: none */
    /* [shard_count], in the order of their samples, of which they have all: the objects are virtual
     * datasets, whose values are in these files; NULL: they are in chunks. */
    const mgk_store_shard *shards;
    size_t shard_count;
} mgk_store_storage;

/* Fills the new file. `parameter` is the element type of the model's objects. Chunks are [1, ...,
 * 1, rows, columns], see chunk_grid.h. Closing the file closes the datasets. */
mgk_status mgk_store_fill_file(const mgk_h5_file *file, const mgk_store_description *description,
                               mgk_store_real parameter, const mgk_store_storage *storage,
                               mgk_store_datasets *out);

#endif
