/*
 * The input of a model run (mgk_input): the rules about its options, which stand here alone, and
 * opening what it names.
 */
#ifndef MGK_RUN_INPUT_H
#define MGK_RUN_INPUT_H

#include "base/status.h"
#include "data/datasets/dataset.h"
#include "mgk.h"
#include "model/core/model.h"

/*
 * What can be checked without a model. STATUS_USAGE: not exactly one of text, tokens, task and
 * images is given, an option belongs to another of them, a name is NULL, a number negative.
 */
mgk_status mgk_input_check(const mgk_input *input);

/* The first option that is given, "`text`" as messages name it; NULL: none. */
const char *mgk_input_given(const mgk_input *input);

/*
 * Whether the model of the file `path` takes an input that passed mgk_input_check. STATUS_USAGE:
 * one of them is of pictures, the other of tokens, or the model does not take an option.
 * STATUS_SHAPE: a length beyond the model's positions.
 */
mgk_status mgk_input_check_model(const mgk_input *input, const mgk_config *config,
                                 const char *path);

/*
 * Opens the tokens of an input that the model takes, as evaluation samples in a fixed order; text
 * is read through the tokenizer, which is needed no longer. STATUS_USAGE: the task is not known.
 * STATUS_SHAPE: another vocabulary than the model's, such as text where it was trained on lists.
 */
mgk_status mgk_input_open(const mgk_input *input, const mgk_model *model,
                          const mgk_tokenizer *tokenizer, uint64_t seed, mgk_dataset **out);

/*
 * Opens the tokenizer that an input names, or else the one in the model's folder, unless the model
 * has a vocabulary of 256 and so reads bytes; `path` names the model in messages. Released with
 * mgk_tokenizer_close. With ids as input it only gives them their text, and one in the folder that
 * cannot be read or does not fit is none. *out is NULL where there is none and none is needed: ids
 * are given, the task makes its own, or the model reads bytes. STATUS_SHAPE: it has more tokens
 * than the model, or there is none and the model does not read bytes. Else as mgk_tokenizer_open.
 */
mgk_status mgk_input_open_tokenizer(const mgk_input *input, const mgk_model *model,
                                    const char *path, mgk_tokenizer **out);

#endif
