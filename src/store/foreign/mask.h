/* SPDX-License-Identifier: MIT */
/* Which tokens of the samples of an array of other software are valid: the attention_mask with
 * which its model ran. */
#ifndef MGK_STORE_MASK_H
#define MGK_STORE_MASK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The valid tokens of sample s are first[s] … first[s] + length[s] − 1. Zeroed is none. */
typedef struct mgk_mask {
    int32_t samples, tokens; /* S, N */
    int32_t *first, *length; /* [S]; 0, 0: no token is valid */
} mgk_mask;

/*
 * Reads a mask [S, N], or [N] of one sample, of zeros and ones, numbers or booleans, from a file of
 * NumPy or HDF5: the array named "attention_mask" or "mask", or else the only one, integers and
 * booleans before floats. Release with
 * mgk_mask_free. STATUS_IO: no such file; STATUS_FORMAT: neither NumPy nor HDF5, no such array, or
 * a number that is neither 0 nor 1; STATUS_SHAPE: other axes; STATUS_UNSUPPORTED: ones of a sample
 * that are not next to each other.
 */
mgk_status mgk_mask_read(const char *path, mgk_mask *out);
void mgk_mask_free(mgk_mask *mask);

/* Moves the valid block of a matrix [N, N] of sample s to its first rows and columns; all other
 * elements, of `size` bytes, become 0. */
void mgk_mask_apply(const mgk_mask *mask, int32_t sample, size_t size, void *matrix);

/* The same of a mask of the keys alone: all rows of a matrix [rows, N] are valid. */
void mgk_mask_apply_keys(const mgk_mask *mask, int32_t sample, size_t size, size_t rows,
                         void *matrix);

#endif
