/* SPDX-License-Identifier: MIT */
/* Document pairs of Long Range Arena's retrieval task: new_aan_pairs.{train,eval,test}.tsv. */
#ifndef MGK_DATA_PAIRS_TSV_H
#define MGK_DATA_PAIRS_TSV_H

#include "data/datasets/implementation.h"

/* Whether the file begins with a label (0, 1, 0.0 or 1.0) and a tab, as these files do. */
mgk_status mgk_is_pairs_tsv(const char *path, bool *answer);

/*
 * Opens exactly one such file: rows of label, id, id, text 1, text 2, separated by
 * tabs, without a header. Texts are bytes, cut to N. The file stays mapped
 * and must not change while the dataset is open.
 */
mgk_status mgk_pairs_tsv_open(const mgk_dataset_options *options, mgk_dataset **out);

#endif
