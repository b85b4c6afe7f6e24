/* Pictures as the input of a model. */
#ifndef MGK_PICTURE_INPUT_H
#define MGK_PICTURE_INPUT_H

#include "data/pictures.h"
#include "face.h"

/*
 * Opens the pictures that an input names for the model of the file `path`, released with
 * mgk_pictures_close; *out is NULL where both the input and the model are of tokens. STATUS_USAGE:
 * one of them is of pictures, the other of tokens, or the input is of both, or has options that
 * pictures do not have.
 */
mgk_status mgk_picture_input_open(const mgk_input *input, const mgk_model *model, const char *path,
                                  mgk_pictures **out);

#endif
