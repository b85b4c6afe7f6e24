/* SPDX-License-Identifier: MIT */
/* Document pairs of Long Range Arena's retrieval task: new_aan_pairs.{train,eval,test}.tsv. */
#ifndef MGK_DATA_PAIRS_TSV_H
#define MGK_DATA_PAIRS_TSV_H

#include "data/datasets/implementation.h"

/* Whether the file begins with a label (0, 1, 0.0 or 1.0) and a tab, as these files do. */
mgk_status mgk_is_pairs_tsv(const char *path, bool *answer);

/*
 * Opens exactly one such file: rows of label, id, id, text 1, text 2, separated by
 * tabs, without a header. Texts are bytes or tokens, cut to N. The file
 * stays mapped and must not change while a dataset of bytes is open; the tokens of each different
 * text are kept in memory.
 */
mgk_status mgk_pairs_tsv_open(const mgk_dataset_options *options, mgk_dataset **out);

/* Counts each different text of the file once. */
mgk_status mgk_pairs_tsv_learn(const mgk_dataset_options *options, mgk_learner *learner);

#endif
