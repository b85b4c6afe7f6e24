/* The open store, shared by the files that open and that read it. */
#ifndef MGK_STORE_READER_PRIVATE_H
#define MGK_STORE_READER_PRIVATE_H

#include "store/foreign/numpy_matrices.h"
#include "store/hdf5/h5.h"
#include "store/schema/layout.h"
#include "store/schema/reader.h"

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

struct mgk_store_reader {
    mgk_h5_file file;
    char *path;
    mgk_store_description description; /* arrays and strings are owned by the reader */
    mgk_stored_dataset tokens, lengths, token_text;
    mgk_stored_dataset objects[STORE_OBJECTS];
    mgk_matrix_array *matrices; /* [matrix_count]: for each layer one, or one for all */
    size_t matrix_count;        /* 0: the store has no matrices */
    mgk_numpy_matrices numpy;   /* where the file is one of NumPy's */
};

/* Fills in the description and opens every object of an attention store. */
mgk_status mgk_open_native(mgk_store_reader *reader);

/*
 * Opens matrices of a file that is no store, and describes them by their shape: the array
 * `name`, or the only array of matrices where it is NULL, or an array for each layer where it has a
 * star. Takes the lock of HDF5 itself.
 */
mgk_status mgk_open_plain(mgk_store_reader *reader, const char *name);

/* One more array of matrices, to be filled in. */
mgk_status mgk_add_matrices(mgk_store_reader *reader, const char *name, mgk_matrix_array **out);

#endif
