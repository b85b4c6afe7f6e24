/* SPDX-License-Identifier: MIT */
/* Recipes from tables of names: which tensor of a family becomes which parameter. */
#ifndef MGK_MODEL_TENSOR_NAMES_H
#define MGK_MODEL_TENSOR_NAMES_H

#include "model/formats/checkpoint.h"

/* A parameter, within its layer if it has one, and its tensor. */
typedef struct mgk_tensor_row {
    const char *ours, *theirs; /* theirs has no prefix and, for layers, no layer */
    bool transposed;           /* the tensor is [in, out] */
    size_t part, parts; /* part of `parts` equal parts of the tensor; parts 0: the whole tensor */
} mgk_tensor_row;

/* The names of a family's tensors. */
typedef struct mgk_tensor_names {
    const char *anchor; /* in every checkpoint; the part before it is the prefix of all */
    const char *layer;  /* "encoder.layer.", before the layer's number */
    const mgk_tensor_row *layer_rows; /* end with ours NULL */
    const mgk_tensor_row *rows;
} mgk_tensor_names;

/*
 * The recipe of a parameter from such names. Also finds norms with the old names gamma and beta.
 * STATUS_UNSUPPORTED: the table has no row for the parameter.
 */
mgk_status mgk_recipe_by_names(const mgk_checkpoint *checkpoint, const mgk_tensor_names *names,
                               const mgk_parameter *parameter, mgk_recipe *out);

#endif
