/* SPDX-License-Identifier: MIT */
/* Encodes values as an HDF5 chunk: converts them and, on request, shuffles and deflates them like
 * HDF5's filters of these names. */
#ifndef MGK_STORE_ENCODE_H
#define MGK_STORE_ENCODE_H

#include <stddef.h>

#include "base/status.h"
#include "store/schema/description.h"

/* Buffers of one thread, and its last result. */
typedef struct mgk_chunk_encoder {
    mgk_store_real from, to;
    int level;                /* of deflate; 0: neither shuffle nor deflate */
    unsigned char *converted; /* [capacity of a chunk in bytes] */
    unsigned char *shuffled;  /* as `converted`; NULL at level 0 */
    unsigned char *packed;    /* [packed_capacity]; NULL at level 0 */
    size_t packed_capacity;
    /* the encoded chunk: a buffer above, or the caller's values; NULL: out of memory */
    const void *data;
    size_t size; /* bytes of data */
} mgk_chunk_encoder;

/* Prepares for chunks of at most `values` values. */
mgk_status mgk_encoder_open(mgk_store_real from, mgk_store_real to, int level, size_t values,
                            mgk_chunk_encoder *out);

/* Releases the working space; a zeroed encoder is accepted. */
void mgk_encoder_close(mgk_chunk_encoder *encoder);

/* Encodes the first `count` of a chunk's `total` values; the rest are 0. The result is valid until
 * the next call, and as long as `values` is. */
void mgk_encode_chunk(mgk_chunk_encoder *encoder, const void *values, size_t count, size_t total);

#endif
