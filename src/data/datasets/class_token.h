/* SPDX-License-Identifier: MIT */
/* A token of its own at the beginning of each sequence, whose state classifiers may read. */
#ifndef MGK_DATA_CLASS_TOKEN_H
#define MGK_DATA_CLASS_TOKEN_H

#include "data/datasets/dataset.h"

/*
 * Puts the id V in front of each sequence of a dataset with the ids 0 … V − 1: N and V grow by 1.
 * Next tokens are those of the tokens behind it; it predicts none. The new dataset owns the other,
 * which is closed also on failure.
 */
mgk_status mgk_class_token_add(mgk_dataset *dataset, mgk_dataset **out);

#endif
