/* SPDX-License-Identifier: MIT */
/* Makes NumPy files for tests. */
#ifndef MGK_TESTS_STORE_MAKE_NUMPY_H
#define MGK_TESTS_STORE_MAKE_NUMPY_H

#include <stdbool.h>
#include <stddef.h>

enum { NUMPY_BYTES = 1 << 16 };

/* An array as a .npy file: its bytes and their number. */
typedef struct numpy_bytes {
    unsigned char bytes[NUMPY_BYTES];
    size_t size;
} numpy_bytes;

/* descr: "<f4"; shape: "(2, 3)". */
void make_npy(const char *descr, bool fortran_order, const char *shape, const void *elements,
              size_t size, numpy_bytes *out);

/* Writes the archive `path` with these arrays [count] and names ("a.npy"). */
void make_npz(const char *path, const char *const *names, const numpy_bytes *arrays, size_t count,
              bool deflated);

#endif
