/*
 * The header of NumPy's .npy files (NEP 1): the bytes 93 "NUMPY", a version
 * (major, minor), the header's length as 2 (version 1) or 4 bytes (versions 2
 * and 3), little-endian, and the header, the text of a Python dictionary
 * {'descr': '<i4', 'fortran_order': False, 'shape': (3, 4), }; then the elements.
 */
#ifndef MGK_DATA_NPY_H
#define MGK_DATA_NPY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct mgk_npy {
    const unsigned char *data; /* [rows, columns] elements, in C order, perhaps not aligned */
    size_t rows, columns;      /* at least 1; a one-dimensional array is one row */
    size_t element_size;       /* 4 or 8: little-endian int32 or int64 */
} mgk_npy;

/* Whether the bytes begin like a .npy file. */
bool mgk_is_npy(const unsigned char *bytes, size_t size);

/*
 * Finds the elements of a .npy file held in memory. STATUS_FORMAT: malformed, or the
 * elements do not fill the rest of the file exactly; STATUS_UNSUPPORTED:
 * other element types, orders or numbers of dimensions.
 */
mgk_status mgk_npy_parse(const unsigned char *bytes, size_t size, mgk_npy *npy);

#endif
