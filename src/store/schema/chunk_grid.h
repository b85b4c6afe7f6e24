/* SPDX-License-Identifier: MIT */
/* How the objects of a store are cut into chunks. */
#ifndef MGK_STORE_CHUNK_GRID_H
#define MGK_STORE_CHUNK_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "store/hdf5/h5_library.h"
#include "store/schema/layout.h"

/* The matrices of one object in one block (a layer of a sample), cut into chunks of `chunk_rows`
 * rows. The last chunk of a matrix may have fewer: the rest of it is 0. */
typedef struct mgk_chunk_grid {
    mgk_object_layout layout;
    size_t sizes[STORE_AXES];
    size_t matrices, rows, columns, chunk_rows;
    size_t chunks; /* of a block */
} mgk_chunk_grid;

/* The grid of an object that is written in blocks: chunks are of about 1 MiB at most. */
mgk_chunk_grid mgk_chunk_grid_of(const mgk_store_description *description, mgk_store_object object);

/* The matrix of a block's chunk, and its first row there. */
void mgk_chunk_locate(const mgk_chunk_grid *grid, size_t chunk, size_t *matrix, size_t *row);

/* A chunk of the store, as its file contains it. */
typedef struct mgk_store_chunk {
    mgk_store_object object;
    int32_t sample, layer; /* of its block */
    size_t number;         /* in its block */
    const void *bytes;     /* [size] */
    size_t size;
} mgk_store_chunk;

/* The chunk's first element in the object, [rank]. */
void mgk_chunk_offset(const mgk_chunk_grid *grid, const mgk_store_chunk *chunk,
                      hsize_t offset[STORE_MAX_RANK]);

#endif
