/* How a model reads text: the tokenizer that belongs to it. */
#ifndef MGK_TEXT_INPUT_H
#define MGK_TEXT_INPUT_H

#include "face.h"

/*
 * Opens the tokenizer that an input names, or for text the one in the folder of the model's file
 * (`path`, or the folder itself); released with mgk_tokenizer_close. *out is NULL where none is
 * needed: ids are given, the task makes its own, or the model reads bytes. STATUS_USAGE: a
 * tokenizer where none is of use. STATUS_SHAPE: it has more tokens than the model, or there is
 * none and the model does not read bytes. Else as mgk_tokenizer_open.
 */
mgk_status mgk_text_input_tokenizer(const mgk_input *input, const mgk_model *model,
                                    const char *path, mgk_tokenizer **out);

#endif
