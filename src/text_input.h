/* How a model reads text: the tokenizer that belongs to it. */
#ifndef MGK_TEXT_INPUT_H
#define MGK_TEXT_INPUT_H

#include "face.h"

/*
 * Opens the tokenizer that an input names, or else the one in the model's folder, unless the model
 * has a vocabulary of 256 and so reads bytes; `path` names the model in messages. Released with
 * mgk_tokenizer_close. With ids as input it only gives them their text, and one in the folder that
 * cannot be read or does not fit is none. *out is NULL where there is none and none is needed: ids
 * are given, the task makes its own, or the model reads bytes. STATUS_USAGE: a tokenizer where none
 * is of use. STATUS_SHAPE: it has more tokens than the model, or there is none and the model does
 * not read bytes. Else as mgk_tokenizer_open.
 */
mgk_status mgk_text_input_tokenizer(const mgk_input *input, const mgk_model *model,
                                    const char *path, mgk_tokenizer **out);

#endif
