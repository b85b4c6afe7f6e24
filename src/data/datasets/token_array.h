/* SPDX-License-Identifier: MIT */
/* Token ids from an integer array of other software: [samples, length], or one text [length]. */
#ifndef MGK_DATA_TOKEN_ARRAY_H
#define MGK_DATA_TOKEN_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Limit for one file: 2 GiB of ids. */
#define MGK_MOST_TOKEN_IDS (1 << 28)

typedef struct mgk_token_array {
    int64_t *ids; /* [rows, columns] */
    size_t rows, columns;
    bool flat;        /* the array has one axis: it is one text, to be cut into windows */
    bool is_unsigned; /* the ids are bits of uint64_t: none of them is -1, the padding */
} mgk_token_array;

/*
 * Reads a file of NumPy; release out->ids with mgk_free. From an archive it takes the array
 * "input_ids", or the only integer array. STATUS_UNSUPPORTED: not integers; STATUS_SHAPE: another
 * shape, an empty array, more than MGK_MOST_TOKEN_IDS, or an archive with several candidates; else
 * as mgk_numpy_open.
 */
mgk_status mgk_token_array_read(const char *path, mgk_token_array *out);

#endif
