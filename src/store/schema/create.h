/* SPDX-License-Identifier: MIT */
/* Creates the attention store's file: attributes, dimension scales and empty datasets. */
#ifndef MGK_STORE_CREATE_H
#define MGK_STORE_CREATE_H

#include "store/hdf5/h5.h"
#include "store/schema/layout.h"

/* The datasets of a store that is being written. Chunks of one object are [1, ..., 1, rows,
 * columns]. */
typedef struct mgk_store_datasets {
    /* Of the queries, and of the keys of a cross store; the text where it is stored. */
    hid_t tokens[STORE_SIDES], lengths[STORE_SIDES], token_text[STORE_SIDES];
    hid_t objects[STORE_OBJECTS];     /* H5I_INVALID_HID: not stored */
    size_t chunk_rows[STORE_OBJECTS]; /* 0: not chunked */
} mgk_store_datasets;

/* Fills the new file. `parameter` is the element type of the model's objects. Closing the file
 * closes the datasets. */
mgk_status mgk_store_fill_file(const mgk_h5_file *file, const mgk_store_description *description,
                               mgk_store_real parameter, int compress, mgk_store_datasets *out);

#endif
