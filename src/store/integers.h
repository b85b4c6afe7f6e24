/* Token ids in somebody's HDF5 file. */
#ifndef MGK_STORE_INTEGERS_H
#define MGK_STORE_INTEGERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Reads the dataset "input_ids", "tokens", or the only one of integers: [rows, columns], or one
 * row. *values is released with mgk_free. STATUS_FORMAT: not HDF5, or none of these datasets;
 * STATUS_SHAPE: other shapes, several datasets of integers, or more than `most` integers.
 */
mgk_status mgk_store_read_integers(const char *path, size_t most, int64_t **values, size_t *rows,
                                   size_t *columns);

#endif
