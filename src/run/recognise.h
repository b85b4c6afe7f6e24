/* Recognises files by their content: programs take stores, rank files and models alike. */
#ifndef MGK_RECOGNISE_H
#define MGK_RECOGNISE_H

#include "base/status.h"

typedef enum mgk_file_kind {
    MGK_FILE_ARRAYS,     /* HDF5 or NumPy: an attention store, or somebody's arrays */
    MGK_FILE_RANKS_HDF5, /* rank results: HDF5, */
    MGK_FILE_RANKS_CSV,
    MGK_FILE_JSON, /* an object: rank results, or what lists the files of a model */
    MGK_FILE_OTHER /* perhaps a model */
} mgk_file_kind;

/* STATUS_IO: the file cannot be read; STATUS_FORMAT: a damaged HDF5 file. */
mgk_status mgk_recognise(const char *path, mgk_file_kind *out);

/* STATUS_FORMAT where a file cannot hold matrices, with what to do about it: `otherwise`, such as
 * "mgk-dump makes one from a model". */
mgk_status mgk_expect_arrays(const char *path, const char *otherwise);

#endif
