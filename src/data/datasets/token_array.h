/* Token ids as somebody's array of integers: [samples, length], or a text of tokens [length]. */
#ifndef MGK_DATA_TOKEN_ARRAY_H
#define MGK_DATA_TOKEN_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Ids of one file: 2 GiB of them. */
#define MGK_MOST_TOKEN_IDS (1 << 28)

typedef struct mgk_token_array {
    int64_t *ids; /* [rows, columns] */
    size_t rows, columns;
    bool flat;        /* the array has one axis: a row without an end of its own */
    bool is_unsigned; /* the ids are the bits of uint64_t: none is -1, which is padding */
} mgk_token_array;

/*
 * Reads one of NumPy's files; out->ids is released with mgk_free. Of an archive it takes the array
 * "input_ids", or the only one of integers. STATUS_UNSUPPORTED: no integers; STATUS_SHAPE: other
 * shapes, an empty array, more than MGK_MOST_TOKEN_IDS, or an archive that leaves the choice open;
 * else as mgk_numpy_open.
 */
mgk_status mgk_token_array_read(const char *path, mgk_token_array *out);

#endif
