/* SPDX-License-Identifier: MIT */
/* Recognises files by their content, because programs accept stores, rank files and models
 * alike. */
#ifndef MGK_RECOGNISE_H
#define MGK_RECOGNISE_H

#include <stdbool.h>

#include "base/status.h"

typedef enum mgk_file_kind {
    MGK_FILE_ARRAYS,     /* HDF5 or NumPy: an attention store, or arrays of other software */
    MGK_FILE_RANKS_HDF5, /* rank results in HDF5, */
    MGK_FILE_RANKS_CSV,
    MGK_FILE_DIVERSITY_HDF5, /* measures of diversity */
    MGK_FILE_DIVERSITY_CSV,
    MGK_FILE_DIVERSITY_JSON,
    MGK_FILE_JSON, /* another object: rank results, or the list of a model's files */
    MGK_FILE_OTHER /* perhaps a model */
} mgk_file_kind;

/* Whether a file of this kind holds measures of diversity. */
static inline bool mgk_file_is_diversity(mgk_file_kind kind)
{
    return kind == MGK_FILE_DIVERSITY_HDF5 || kind == MGK_FILE_DIVERSITY_CSV ||
           kind == MGK_FILE_DIVERSITY_JSON;
}

/* STATUS_IO: the file cannot be read; STATUS_FORMAT: a damaged HDF5 file, or the journal of a run.
 */
mgk_status mgk_recognise(const char *path, mgk_file_kind *out);

/* STATUS_FORMAT if a file cannot contain matrices; the message ends with the advice `otherwise`,
 * such as "mgk-dump makes one from a model". */
mgk_status mgk_expect_arrays(const char *path, const char *otherwise);

#endif
