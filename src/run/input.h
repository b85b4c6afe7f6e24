/* SPDX-License-Identifier: MIT */
/* The input of a model run (mgk_input): the rules for its options, and opening it. */
#ifndef MGK_RUN_INPUT_H
#define MGK_RUN_INPUT_H

#include "base/status.h"
#include "data/datasets/dataset.h"
#include "mgk.h"
#include "model/core/model.h"

/* Whether a model reads bytes: its ids are these, and perhaps a class token. */
bool mgk_input_is_bytes(const mgk_config *config);

/* Checks what needs no model, for a part of it (NULL: usual). STATUS_USAGE: not exactly one of
 * text, tokens, task, images and audio is set, an option belongs to another of them or to another
 * part, a name is NULL, a number is negative. */
mgk_status mgk_input_check(const mgk_input *input, const char *part);

/* What the decoder reads: the targets of an input as an input, with its other options. It points
 * into `input`. */
mgk_input mgk_input_of_target(const mgk_input *input);

/* The first option that is set, as in messages: "`text`"; NULL: none. */
const char *mgk_input_given(const mgk_input *input);

/*
 * Whether the model in the file `path` accepts an input that passed mgk_input_check. STATUS_USAGE:
 * pictures or sounds for a model of tokens, or the other way round, or an option that the model
 * does not accept. STATUS_SHAPE: a length beyond the model's positions.
 */
mgk_status mgk_input_check_model(const mgk_input *input, const mgk_config *config,
                                 const char *path);

/*
 * Opens the tokens of an accepted input, as evaluation samples in a fixed order. It reads text
 * through the tokenizer, which may be closed afterwards. STATUS_USAGE: the task is not known.
 * STATUS_SHAPE: the vocabulary differs from the model's, for example text for a model trained on
 * lists. `stride` is that of mgk_dataset_options.
 */
mgk_status mgk_input_open(const mgk_input *input, const mgk_model *model,
                          const mgk_tokenizer *tokenizer, uint64_t seed, size_t stride,
                          mgk_dataset **out);

/*
 * Opens the tokenizer that an input names; else the one that the model carries; else the one in the
 * model's folder, unless the model has a vocabulary of 256 and therefore reads bytes. `path` names
 * the model in messages. Release *out with mgk_tokenizer_close. With ids as input the tokenizer
 * only gives their text, and one in the folder that cannot be read or does not fit is ignored. *out
 * is NULL if there is no tokenizer and none is needed: for ids, for tasks that make their tokens,
 * and for models that read bytes. STATUS_SHAPE: the tokenizer has more tokens than the model, or
 * there is none and the model does not read bytes. Else as mgk_tokenizer_open.
 */
mgk_status mgk_input_open_tokenizer(const mgk_input *input, const mgk_model *model,
                                    const char *path, mgk_tokenizer **out);

#endif
