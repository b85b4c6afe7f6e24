/* SPDX-License-Identifier: MIT */
/* Preprocessing of pictures for Hugging Face models: preprocessor_config.json. */
#ifndef MGK_MODEL_PREPROCESSOR_H
#define MGK_MODEL_PREPROCESSOR_H

#include "model/formats/checkpoint.h"

/* What a family's preprocessor does if the file does not say otherwise. */
typedef struct mgk_preprocessor_usual {
    mgk_resampling resampling;
    int edge;      /* pixels to which pictures are resized, at least; 0: the model's side */
    bool shortest; /* a "size" that is one number is that of the shorter edge */
    bool cropped;  /* the centre is cut out */
    double mean[MGK_CHANNELS], deviation[MGK_CHANNELS];
} mgk_preprocessor_usual;

/*
 * Reads the side of a square from a key of config.json: a number, [side, side] or {"height": side,
 * "width": side}; missing: the fallback. STATUS_UNSUPPORTED: not a square; STATUS_FORMAT: another
 * value.
 */
mgk_status mgk_checkpoint_square(const mgk_checkpoint *checkpoint, const char *key, int fallback,
                                 int *out);

/*
 * Fills the form for a model with known patch and side; a model that `interpolates` its positions
 * takes the side of prepared pictures. STATUS_UNSUPPORTED: pictures are padded, or have another
 * side after preparation; otherwise STATUS_FORMAT.
 */
mgk_status mgk_preprocessor_read(const mgk_checkpoint *checkpoint,
                                 const mgk_preprocessor_usual *usual, bool interpolates,
                                 mgk_picture_form *form);

#endif
