/* SPDX-License-Identifier: MIT */
/* The open store, shared by the files that open it and read it. */
#ifndef MGK_STORE_READER_PRIVATE_H
#define MGK_STORE_READER_PRIVATE_H

#include "store/foreign/mask.h"
#include "store/foreign/matrix_arrays.h"
#include "store/foreign/numpy_matrices.h"
#include "store/hdf5/h5.h"
#include "store/schema/reader.h"

struct mgk_store_reader {
    mgk_h5_file file;
    char *path;
    mgk_store_description description; /* arrays and strings are owned by the reader */
    mgk_stored_dataset tokens[STORE_SIDES], lengths[STORE_SIDES], token_text[STORE_SIDES];
    mgk_stored_dataset objects[STORE_OBJECTS];
    mgk_matrix_arrays matrices; /* the arrays that mgk_store_read_matrix reads */
    mgk_numpy_matrices numpy;   /* open if the file is a NumPy file */
    mgk_mask mask;              /* of an array of other software; zeroed: none */
};

/* Fills the description and opens every object of an attention store. */
mgk_status mgk_open_native(mgk_store_reader *reader);

#endif
