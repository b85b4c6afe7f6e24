/* The arrays in which a file has its matrices of attention. */
#ifndef MGK_STORE_MATRIX_ARRAYS_H
#define MGK_STORE_MATRIX_ARRAYS_H

#include "store/hdf5/h5.h"
#include "store/schema/layout.h"

/* A dataset and its shape; id is H5I_INVALID_HID where the file has none. */
typedef struct mgk_stored_dataset {
    hid_t id;
    int rank;
    hsize_t shape[STORE_MAX_RANK];
} mgk_stored_dataset;

/* Matrices of every layer, or of one: the last two axes of an array. */
typedef struct mgk_matrix_array {
    char *name;
    mgk_stored_dataset dataset; /* its id is an object's, its own, or invalid: */
    size_t member;              /* of a file of NumPy's, which array */
} mgk_matrix_array;

/* For each layer one, or one for all; count 0: no matrices. */
typedef struct mgk_matrix_arrays {
    mgk_matrix_array *at; /* [count] */
    size_t count;
} mgk_matrix_arrays;

/* One more array, to be filled in. */
mgk_status mgk_add_matrices(mgk_matrix_arrays *arrays, const char *name, mgk_matrix_array **out);

/* Releases names and arrays; datasets stay open. */
void mgk_free_matrices(mgk_matrix_arrays *arrays);

#endif
