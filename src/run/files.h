/* SPDX-License-Identifier: MIT */
/* The files that a job reads and writes, collected before it starts, so that it destroys no input
 * and writes no output twice. */
#ifndef MGK_RUN_FILES_H
#define MGK_RUN_FILES_H

#include "base/claims.h"
#include "base/status.h"
#include "mgk.h"

/* Each of these adds inputs to the claims; NULL adds none. Files that cannot be opened are left
 * out: opening them for the job reports why. STATUS_USAGE: an input is also an output. */

/* All files of a model: tensors, configuration and tokenizer. */
mgk_status mgk_files_model(mgk_claims *claims, const char *path);

mgk_status mgk_files_list(mgk_claims *claims, const char *const *paths, size_t count);

/* The same, and all texts in folders among the paths, see mgk_text_files_add. */
mgk_status mgk_files_texts(mgk_claims *claims, const char *const *paths, size_t count);

/* The files of an input. */
mgk_status mgk_files_tokenizer(mgk_claims *claims, const char *path); /* a file or a folder */
mgk_status mgk_files_input(mgk_claims *claims, const mgk_input *input);

/* Locks the outputs (mgk_claims_lock); reports removed files to the job's watcher. */
mgk_status mgk_files_lock(mgk_claims *claims, const mgk_job *job);

#endif
