/* Token ids in somebody's HDF5 file. */
#ifndef MGK_STORE_INTEGERS_H
#define MGK_STORE_INTEGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A dataset with one axis, which is one row, or two. */
typedef struct mgk_store_integers {
    int64_t *values; /* [rows, columns], released with mgk_free */
    size_t rows, columns;
    bool flat;        /* it has one axis */
    bool is_unsigned; /* the values are the bits of uint64_t */
} mgk_store_integers;

/*
 * Reads the dataset "input_ids", "tokens", or the only one of integers. STATUS_FORMAT: not HDF5, or
 * none of these datasets; STATUS_SHAPE: other shapes, several datasets of integers, or more than
 * `most` integers. On failure there are no values.
 */
mgk_status mgk_store_read_integers(const char *path, size_t most, mgk_store_integers *out);

#endif
