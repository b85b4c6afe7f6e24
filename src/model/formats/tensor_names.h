/* Recipes by tables of names: which tensor of a family is which parameter of ours. */
#ifndef MGK_MODEL_TENSOR_NAMES_H
#define MGK_MODEL_TENSOR_NAMES_H

#include "model/formats/checkpoint.h"

/* A parameter of ours, within its layer where it has one, and its tensor there. */
typedef struct mgk_tensor_row {
    const char *ours, *theirs; /* theirs is without the prefix, and of layers without theirs */
    bool transposed;           /* [in, out] */
    size_t part, parts;        /* it is this one of so many of equal size; parts 0: all of it */
} mgk_tensor_row;

/* Where a family's tensors are found. */
typedef struct mgk_tensor_names {
    const char *anchor; /* a tensor that every checkpoint has; what stands before it is the prefix
                           of all */
    const char *layer;  /* "encoder.layer.", before the layer's number */
    const mgk_tensor_row *layer_rows; /* end with ours NULL */
    const mgk_tensor_row *rows;
} mgk_tensor_names;

/*
 * The recipe of a parameter by such names. Norms named gamma and beta, as of old, are found too.
 * STATUS_UNSUPPORTED: the table has no row for the parameter.
 */
mgk_status mgk_recipe_by_names(const mgk_checkpoint *checkpoint, const mgk_tensor_names *names,
                               const mgk_parameter *parameter, mgk_recipe *out);

#endif
