/* Preprocessing of pictures for models of Hugging Face: preprocessor_config.json. */
#ifndef MGK_MODEL_PREPROCESSOR_H
#define MGK_MODEL_PREPROCESSOR_H

#include "model/formats/checkpoint.h"

/*
 * A square's side by a key of config.json: a number, [side, side] or {"height": side, "width":
 * side}; missing, the fallback. STATUS_UNSUPPORTED: it is no square; STATUS_FORMAT: something else.
 */
mgk_status mgk_checkpoint_square(const mgk_checkpoint *checkpoint, const char *key, int fallback,
                                 int *out);

/*
 * Fills resampling, scale, mean and deviation for a model whose patch and side are known; without
 * the file, with the usual ones of ViT: bilinear, 1 / 255, 0.5 and 0.5. STATUS_UNSUPPORTED:
 * pictures are cropped or padded, or resized to another side; else STATUS_FORMAT.
 */
mgk_status mgk_preprocessor_read(const mgk_checkpoint *checkpoint, mgk_picture_form *form);

#endif
