/* SPDX-License-Identifier: MIT */
/* The arrays of a file that hold its attention matrices. */
#ifndef MGK_STORE_MATRIX_ARRAYS_H
#define MGK_STORE_MATRIX_ARRAYS_H

#include "store/hdf5/h5.h"
#include "store/hdf5/h5_flat.h"
#include "store/schema/layout.h"

/* A dataset and its shape; id is H5I_INVALID_HID if the file has none. */
typedef struct mgk_stored_dataset {
    hid_t id;
    int rank;
    hsize_t shape[STORE_MAX_RANK];
} mgk_stored_dataset;

/* An array whose last two axes are matrices of one layer or of every layer. */
typedef struct mgk_matrix_array {
    char *name;
    mgk_stored_dataset dataset; /* id: of an object, own, or invalid (NumPy) */
    size_t member;              /* index of the array in a NumPy file */
    mgk_store_real storage;     /* element type */
    mgk_h5_flat flat;           /* of a dataset */
} mgk_matrix_array;

/* One array per layer, or one for all; count 0: no matrices. */
typedef struct mgk_matrix_arrays {
    mgk_matrix_array *at; /* [count] */
    size_t count;
} mgk_matrix_arrays;

/* Appends an array for the caller to fill. */
mgk_status mgk_add_matrices(mgk_matrix_arrays *arrays, const char *name, mgk_matrix_array **out);

/* Releases names and arrays; datasets stay open. */
void mgk_free_matrices(mgk_matrix_arrays *arrays);

#endif
