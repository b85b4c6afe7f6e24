/* Turns values into the bytes of an HDF5 chunk: converted, and shuffled and deflated on request, as
 * the filters of the same names in HDF5 expect them. */
#ifndef MGK_STORE_ENCODE_H
#define MGK_STORE_ENCODE_H

#include <stddef.h>

#include "base/status.h"
#include "store/schema/description.h"

/* One thread's working space, and its last result. */
typedef struct mgk_chunk_encoder {
    mgk_store_real from, to;
    int level;                /* of deflate; 0 neither shuffles nor deflates */
    unsigned char *converted; /* [capacity of a chunk in bytes] */
    unsigned char *shuffled;  /* the same; NULL at level 0 */
    unsigned char *packed;    /* [packed_capacity]; NULL at level 0 */
    size_t packed_capacity;
    const void *data; /* the encoded chunk, above or the caller's values; NULL: out of memory */
    size_t size;      /* bytes of data */
} mgk_chunk_encoder;

/* Prepares for chunks of at most `values` values. */
mgk_status mgk_encoder_open(mgk_store_real from, mgk_store_real to, int level, size_t values,
                            mgk_chunk_encoder *out);

/* Releases the working space; a zeroed encoder is accepted. */
void mgk_encoder_close(mgk_chunk_encoder *encoder);

/*
 * Encodes the first `count` of a chunk's `total` values; the rest are 0. The result
 * stays valid until the next call, and as long as `values` does.
 */
void mgk_encode_chunk(mgk_chunk_encoder *encoder, const void *values, size_t count, size_t total);

#endif
