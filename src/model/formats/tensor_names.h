/* SPDX-License-Identifier: MIT */
/* Recipes from tables of names: which tensor of a family becomes which parameter. */
#ifndef MGK_MODEL_TENSOR_NAMES_H
#define MGK_MODEL_TENSOR_NAMES_H

#include "model/formats/checkpoint.h"

/* How a tensor is made of the rows of queries, keys and values, which are parts 0, 1 and 2, or of
 * experts. */
typedef enum mgk_fused {
    MGK_FUSED_NOT,
    MGK_FUSED_ADJACENT,   /* all queries, then all keys, then all values */
    MGK_FUSED_BY_GROUP,   /* for each key head: the queries that share it, its key, its value */
    MGK_FUSED_BY_QUARTER, /* for each quarter of the width: its rows of each of three parts */
    MGK_FUSED_EXPERTS     /* [E, ·, ·]: for each expert: its `parts`, which are of one size */
} mgk_fused;

/* A parameter, within its layer if it has one, and its tensor. */
typedef struct mgk_tensor_row {
    const char *ours, *theirs; /* theirs has no prefix and, for layers, no layer; '*' in it: each
                                  expert has such a tensor, with its number in this place */
    bool transposed;           /* the tensor is [in, out] */
    size_t part, parts; /* part of `parts` equal parts of the tensor; parts 0: the whole tensor */
    mgk_fused fused;
} mgk_tensor_row;

/* The names of a family's tensors. */
typedef struct mgk_tensor_names {
    const char *anchor; /* in every checkpoint; the part before it is the prefix of all */
    const char *layer;  /* "encoder.layer.", before the layer's number */
    const mgk_tensor_row *layer_rows; /* end with ours NULL; NULL: none */
    const mgk_tensor_row *rows;
} mgk_tensor_names;

/* The row of a parameter; NULL: none. */
const mgk_tensor_row *mgk_tensor_row_of(const mgk_tensor_names *names, const char *parameter);

/*
 * The recipe of a parameter from such names. Also finds norms with the old names gamma and beta.
 * STATUS_UNSUPPORTED: the table has no row for the parameter.
 */
mgk_status mgk_recipe_by_names(const mgk_checkpoint *checkpoint, const mgk_tensor_names *names,
                               const mgk_parameter *parameter, mgk_recipe *out);

#endif
