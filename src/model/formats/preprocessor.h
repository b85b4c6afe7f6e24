/* SPDX-License-Identifier: MIT */
/* Preprocessing of pictures for Hugging Face models: preprocessor_config.json. */
#ifndef MGK_MODEL_PREPROCESSOR_H
#define MGK_MODEL_PREPROCESSOR_H

#include "model/formats/checkpoint.h"

/*
 * Reads the side of a square from a key of config.json: a number, [side, side] or {"height": side,
 * "width": side}; missing: the fallback. STATUS_UNSUPPORTED: not a square; STATUS_FORMAT: another
 * value.
 */
mgk_status mgk_checkpoint_square(const mgk_checkpoint *checkpoint, const char *key, int fallback,
                                 int *out);

/*
 * Fills resampling, scale, mean and deviation for a model with known patch and side; without the
 * file, ViT's defaults: bilinear, 1 / 255, 0.5 and 0.5. STATUS_UNSUPPORTED: pictures are cropped or
 * padded, or resized to another side; otherwise STATUS_FORMAT.
 */
mgk_status mgk_preprocessor_read(const mgk_checkpoint *checkpoint, mgk_picture_form *form);

#endif
