/* SPDX-License-Identifier: MIT */
/*
 * The header of NumPy's .npy files (NEP 1): the bytes 93 "NUMPY", a version
 * (major, minor), the header's length as 2 (version 1) or 4 bytes (versions 2
 * and 3), little-endian, and the header, the text of a Python dictionary
 * {'descr': '<i4', 'fortran_order': False, 'shape': (3, 4), }; then the elements.
 */
#ifndef MGK_BASE_NPY_H
#define MGK_BASE_NPY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum {
    MGK_NPY_AXES = 32,
    MGK_NPY_START = 12 + 10000, /* bytes that contain every supported header; NumPy's own limit */
    MGK_NPY_TYPE = 16
};

typedef struct mgk_npy {
    char kind; /* NumPy's letter: f float, i integer, u unsigned, b bool, c complex, O object, S, U
                  text, m, M times, V records and others */
    bool big_endian;
    bool fortran_order;         /* the first axis varies fastest; otherwise the last */
    int rank;                   /* 0 for a single number */
    size_t shape[MGK_NPY_AXES]; /* [rank]; lengths may be 0 */
    size_t element_size;        /* bytes; 0 for unsupported types: objects, records */
    size_t count;               /* elements */
    size_t start;               /* offset of the elements in bytes */
} mgk_npy;

/* Whether the bytes begin like a .npy file. */
bool mgk_is_npy(const unsigned char *bytes, size_t size);

/*
 * Reads the header of a file of `size` bytes from its start, bytes [available], at least
 * MGK_NPY_START or the whole file. STATUS_FORMAT: malformed, or the elements do not fill the rest
 * of the file exactly; STATUS_UNSUPPORTED: other versions, longer headers, more axes;
 * STATUS_MEMORY: the shape overflows.
 */
mgk_status mgk_npy_parse(const unsigned char *bytes, size_t available, size_t size, mgk_npy *npy);

/* "float32", "int64", "bool", "object", ... */
void mgk_npy_type(const mgk_npy *npy, char out[MGK_NPY_TYPE]);

#endif
