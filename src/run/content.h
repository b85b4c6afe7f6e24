/* SPDX-License-Identifier: MIT */
/*
 * Hashes of what a job reads, by which the processes that share it see that they read the same:
 * names, numbers and sizes are alike, too, where the text of another machine is another one.
 */
#ifndef MGK_RUN_CONTENT_H
#define MGK_RUN_CONTENT_H

#include "run/model_run.h"

/* Extends a hash by the size of a file and its bytes; of a file above 1 MiB by 256 pieces of 4 KiB,
 * evenly spread. STATUS_IO. */
mgk_status mgk_content_of_file(const char *path, uint64_t *hash);

/* Extends a hash by the chosen samples of a run, and of its encoder: token ids and targets, or the
 * files of pictures and recordings. Fails as opening and reading them. */
mgk_status mgk_content_of_run(const mgk_model_run *run, const mgk_input *input, uint64_t *hash);

#endif
