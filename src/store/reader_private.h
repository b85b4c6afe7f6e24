/* The open store, shared by the files that open and that read it. */
#ifndef MGK_STORE_READER_PRIVATE_H
#define MGK_STORE_READER_PRIVATE_H

#include "store/h5.h"
#include "store/layout.h"
#include "store/reader.h"

/* A dataset and its shape; id is H5I_INVALID_HID where the file has none. */
typedef struct mgk_stored_dataset {
    hid_t id;
    int rank;
    hsize_t shape[STORE_MAX_RANK];
} mgk_stored_dataset;

struct mgk_store_reader {
    mgk_h5_file file;
    char *path;
    mgk_store_description description; /* arrays and strings are owned by the reader */
    mgk_stored_dataset tokens, lengths, token_text;
    mgk_stored_dataset objects[STORE_OBJECTS];
    char *matrix_name;
    mgk_stored_dataset
        matrices; /* rank 0 where there are none; shares an object's id, or its own */
};

/* Fills in the description and opens every object of an attention store. */
mgk_status mgk_open_native(mgk_store_reader *reader);

/* Opens a plain dataset of matrices and describes it by its shape. */
mgk_status mgk_open_plain(mgk_store_reader *reader, const char *name);

#endif
