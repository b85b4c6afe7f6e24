/* What a model reads (mgk_input): the data, the pictures, the tokenizer that belongs to the model.
 */
#ifndef MGK_RUN_INPUT_H
#define MGK_RUN_INPUT_H

#include "base/status.h"
#include "data/datasets/dataset.h"
#include "data/pictures/pictures.h"
#include "mgk.h"
#include "model/core/model.h"

/* STATUS_USAGE: one of its names is NULL. */
mgk_status mgk_input_check(const mgk_input *input);

/*
 * Opens what an input names for a model, as evaluation samples in a fixed order; text is read
 * through the tokenizer, which is needed no longer. STATUS_USAGE: not exactly one of text, tokens
 * and task. STATUS_SHAPE: a length beyond the model's positions, or another vocabulary than the
 * model's, such as text where it was trained on lists.
 */
mgk_status mgk_input_open(const mgk_input *input, const mgk_model *model,
                          const mgk_tokenizer *tokenizer, uint64_t seed, mgk_dataset **out);

/*
 * Opens the pictures that an input names for the model of the file `path`, released with
 * mgk_pictures_close; *out is NULL where both the input and the model are of tokens. STATUS_USAGE:
 * one of them is of pictures, the other of tokens, or the input is of both, or has options that
 * pictures do not have.
 */
mgk_status mgk_input_open_pictures(const mgk_input *input, const mgk_model *model, const char *path,
                                   mgk_pictures **out);

/*
 * Opens the tokenizer that an input names, or else the one in the model's folder, unless the model
 * has a vocabulary of 256 and so reads bytes; `path` names the model in messages. Released with
 * mgk_tokenizer_close. With ids as input it only gives them their text, and one in the folder that
 * cannot be read or does not fit is none. *out is NULL where there is none and none is needed: ids
 * are given, the task makes its own, or the model reads bytes. STATUS_USAGE: a tokenizer where none
 * is of use. STATUS_SHAPE: it has more tokens than the model, or there is none and the model does
 * not read bytes. Else as mgk_tokenizer_open.
 */
mgk_status mgk_input_open_tokenizer(const mgk_input *input, const mgk_model *model,
                                    const char *path, mgk_tokenizer **out);

#endif
