/*
 * Which files a job reads and which it writes: collected before it begins, so that no input is
 * destroyed and no output is written twice.
 */
#ifndef MGK_RUN_FILES_H
#define MGK_RUN_FILES_H

#include "base/claims.h"
#include "base/status.h"
#include "mgk.h"

/*
 * Each of these adds inputs to the claims; NULL adds none. What cannot be opened is left out:
 * whoever opens it says why. STATUS_USAGE: an input is an output, too.
 */

/* All files of a model: those of its tensors, of its configuration and of its tokenizer. */
mgk_status mgk_files_model(mgk_claims *claims, const char *path);

mgk_status mgk_files_list(mgk_claims *claims, const char *const *paths, size_t count);

/* The files of a model. */
mgk_status mgk_files_input(mgk_claims *claims, const mgk_input *input);

/* Adds the output path + ending. STATUS_USAGE as mgk_claims_add_output. */
mgk_status mgk_files_write_beside(mgk_claims *claims, const char *path, const char *ending);

/* Locks the outputs (mgk_claims_lock); the job's watcher is told what was removed. */
mgk_status mgk_files_lock(mgk_claims *claims, const mgk_job *job);

#endif
