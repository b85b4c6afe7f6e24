/* What the matrices of a layer are computed from, kept after its forward pass. */
#ifndef MGK_RANK_KEPT_LAYER_H
#define MGK_RANK_KEPT_LAYER_H

#include "model/core/pass.h"

/* A zeroed one is empty. */
typedef struct mgk_kept_layer {
    /* Of the kept vectors. Values that are not kept are those of the pass: matrices need none, but
       some kernels fetch them along with the keys. */
    mgk_attention_view view;
    mgk_attention_layer attention;
    void *rows[3]; /* on the device: of queries, keys, values; those of queries hold the others too
                      where all lie in one row, and the others are NULL */
} mgk_kept_layer;

/*
 * Copies the queries and keys of an observed layer, and its values if `values`. The first call
 * makes room for `tokens` tokens, no fewer than any later one brings; what is kept is overwritten.
 * STATUS_MEMORY, or what the device says.
 */
mgk_status mgk_kept_layer_take(mgk_device *device, const mgk_observed *layer, size_t tokens,
                               bool values, mgk_kept_layer *kept);

/* An empty one is accepted. */
void mgk_kept_layer_release(mgk_device *device, mgk_kept_layer *kept);

#endif
