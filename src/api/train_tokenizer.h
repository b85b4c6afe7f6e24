/* SPDX-License-Identifier: MIT */
/* The tokenizer of a training run. */
#ifndef MGK_API_TRAIN_TOKENIZER_H
#define MGK_API_TRAIN_TOKENIZER_H

#include "data/datasets/dataset.h"
#include "mgk.h"
#include "run/files.h"

/* Checks the options, and claims the file of a tokenizer that they name. */
mgk_status mgk_train_claim_tokenizer(const mgk_train_options *o, mgk_task task, mgk_claims *claims);

/*
 * Opens or learns the tokenizer of the options from the training data; *tokenizer is NULL for
 * bytes. *text is what the model carries, NULL for bytes. Release them with mgk_tokenizer_close and
 * mgk_free.
 */
mgk_status mgk_train_open_tokenizer(const mgk_train_options *o, const mgk_dataset_options *data,
                                    mgk_tokenizer **tokenizer, char **text);

#endif
