/* The key projection of one head, as stores and pictures show it. */
#ifndef MGK_KEY_WEIGHT_H
#define MGK_KEY_WEIGHT_H

#include "model/model.h"

/* The row of the key projection [M G D or G D, C] where component r of a head begins. */
size_t mgk_key_row(const mgk_model *model, int head, int r);

/*
 * Writes W [C, D] of a layer, head and component r, with k = x W + b, from the model's weights on
 * the host; returns the place behind it. Shifted designs have one projection for all components.
 */
double *mgk_key_weight(const mgk_model *model, const double *weights, int layer, int head, int r,
                       double *out);

#endif
