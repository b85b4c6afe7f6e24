/* The inputs of a layer's matrices, kept after its forward pass. */
#ifndef MGK_RANK_KEPT_LAYER_H
#define MGK_RANK_KEPT_LAYER_H

#include "model/core/pass.h"

/* A zeroed one is empty. */
typedef struct mgk_kept_layer {
    /* Of the kept vectors. Values that are not kept are those of the pass: matrices do not need
     * them, but some kernels load them with the keys. */
    mgk_attention_view view;
    mgk_attention_layer attention;
    void *rows[3]; /* on the device: queries, keys, values; if all are in one row, those of queries
                      contain the others, which are NULL */
} mgk_kept_layer;

/*
 * Copies the queries and keys of an observed layer, and its values if `values` is set; overwrites
 * what was kept. The first call allocates room for `tokens` tokens, which no later call may exceed.
 * Errors: STATUS_MEMORY, and those of the device.
 */
mgk_status mgk_kept_layer_take(mgk_device *device, const mgk_observed *layer, size_t tokens,
                               bool values, mgk_kept_layer *kept);

/* An empty one is accepted. */
void mgk_kept_layer_release(mgk_device *device, mgk_kept_layer *kept);

#endif
