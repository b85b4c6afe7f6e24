/* SPDX-License-Identifier: MIT */
/* Reads matrices from NumPy files, with the interface of the HDF5 reader. */
#ifndef MGK_STORE_NUMPY_MATRICES_H
#define MGK_STORE_NUMPY_MATRICES_H

#include "base/numpy.h"
#include "store/schema/description.h"

/* An open file and a buffer for one matrix. Zeroed is closed. */
typedef struct mgk_numpy_matrices {
    mgk_numpy *file;
    const char *path; /* owned by the caller */
    unsigned char *matrix, *row;
    size_t matrix_size, row_size;
} mgk_numpy_matrices;

mgk_status mgk_numpy_matrices_open(const char *path, mgk_numpy_matrices *out);
void mgk_numpy_matrices_close(mgk_numpy_matrices *matrices);

/*
 * Finds the array of this name and checks that its last two axes are readable matrices. NULL, or
 * any name, finds the array of a file that has only one. *index is for the function below.
 * STATUS_FORMAT: no such array; STATUS_UNSUPPORTED: not a supported float type, or stored in an
 * order in which every matrix needs the whole archive.
 */
mgk_status mgk_numpy_matrices_find(const mgk_numpy_matrices *matrices, const char *name,
                                   size_t *index, mgk_store_real *storage);

/* Reads the matrix at these coordinates [rank - 2], row-major, as `type` (STORE_F32, STORE_F64). */
mgk_status mgk_numpy_matrices_read(mgk_numpy_matrices *matrices, size_t index,
                                   const unsigned long long *coordinates, mgk_store_real type,
                                   void *out);

#endif
