/* SPDX-License-Identifier: MIT */
/* Shared by the two models of Hugging Face's clip, of text and of pictures. */
#ifndef MGK_MODEL_CLIP_H
#define MGK_MODEL_CLIP_H

#include "model/formats/tensor_names.h"

/* The layers of both. */
extern const mgk_tensor_row mgk_clip_rows[];

/*
 * The activation "hidden_act" of config.json. quick_gelu, x / (1 + exp(-1.702 x)), is
 * silu(1.702 x) / 1.702: silu, with the factors in the maps around it.
 */
mgk_status mgk_clip_activation(const mgk_checkpoint *checkpoint, const char *fallback,
                               mgk_activation *out);

/* Gives the recipe of a layer's parameter these factors. */
mgk_status mgk_clip_recipe(const mgk_checkpoint *checkpoint, const char *fallback, const char *name,
                           mgk_recipe *out);

#endif
