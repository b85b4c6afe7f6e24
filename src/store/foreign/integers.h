/* SPDX-License-Identifier: MIT */
/* Reads token ids from an HDF5 file of other software. */
#ifndef MGK_STORE_INTEGERS_H
#define MGK_STORE_INTEGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A dataset with two axes, or with one, which is read as one row. */
typedef struct mgk_store_integers {
    int64_t *values; /* [rows, columns], release with mgk_free */
    size_t rows, columns;
    bool flat;        /* the dataset has one axis */
    bool is_unsigned; /* the values are bits of uint64_t */
} mgk_store_integers;

/*
 * Reads the dataset "input_ids" or "tokens", or the only integer dataset. STATUS_FORMAT: not HDF5,
 * or no such dataset; STATUS_SHAPE: another shape, several integer datasets, or more than `most`
 * integers. *out has no values on failure.
 */
mgk_status mgk_store_read_integers(const char *path, size_t most, mgk_store_integers *out);

#endif
