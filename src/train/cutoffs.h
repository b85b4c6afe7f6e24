/* SPDX-License-Identifier: MIT */
/* The parts of the vocabulary of an adaptive softmax, as a caller gives them. */
#ifndef MGK_TRAIN_CUTOFFS_H
#define MGK_TRAIN_CUTOFFS_H

#include "model/core/config.h"

/*
 * Sets the cutoffs of a language model, whose vocabulary is known, from `cutoffs`, "2000,8000" or
 * NULL, and the divisor of the widths of its embeddings; 0 and 1: none. STATUS_USAGE: these are no
 * ascending words of the vocabulary, or it is no language model.
 */
mgk_status mgk_cutoffs_set(const char *cutoffs, int divisor, mgk_config *config);

#endif
