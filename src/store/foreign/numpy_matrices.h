/* Matrices of NumPy's files, as the reader of HDF5 files has them. */
#ifndef MGK_STORE_NUMPY_MATRICES_H
#define MGK_STORE_NUMPY_MATRICES_H

#include "base/numpy.h"
#include "store/schema/description.h"

/* An open file, and room for a matrix. Zeroed is closed. */
typedef struct mgk_numpy_matrices {
    mgk_numpy *file;
    const char *path; /* the owner's */
    unsigned char *matrix, *row;
    size_t matrix_size, row_size;
} mgk_numpy_matrices;

mgk_status mgk_numpy_matrices_open(const char *path, mgk_numpy_matrices *out);
void mgk_numpy_matrices_close(mgk_numpy_matrices *matrices);

/*
 * Finds the array of this name, NULL or any where the file has but one, and checks that its last
 * two axes are matrices that can be read. *index is for the function below. STATUS_FORMAT: no such
 * array; STATUS_UNSUPPORTED: not of floats that are read, or in an order of which each matrix would
 * take the whole archive.
 */
mgk_status mgk_numpy_matrices_find(const mgk_numpy_matrices *matrices, const char *name,
                                   size_t *index, mgk_store_real *storage);

/* Reads the matrix at these coordinates [rank - 2], in rows, as `type` (STORE_F32, STORE_F64). */
mgk_status mgk_numpy_matrices_read(mgk_numpy_matrices *matrices, size_t index,
                                   const unsigned long long *coordinates, mgk_store_real type,
                                   void *out);

#endif
