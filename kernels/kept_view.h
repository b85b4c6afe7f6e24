/* SPDX-License-Identifier: MIT */
/* Queries, keys and values of a batch, kept after the forward pass that made them. */
#ifndef MGK_KERNELS_KEPT_VIEW_H
#define MGK_KERNELS_KEPT_VIEW_H

#include "kernels/backend.h"

/* A zeroed one is empty. */
typedef struct mgk_kept_view {
    /* Of the kept vectors. Values that are not kept are those of the pass: matrices do not need
     * them, but some kernels load them with the keys. */
    mgk_attention_view view;
    void *rows[4]; /* on the device: queries, keys, values, extra numbers; NULL: a row of those
                      before contains them, or there are none */
} mgk_kept_view;

/* What the first call allocates; no later call may exceed it. */
typedef struct mgk_kept_room {
    size_t tokens, key_tokens; /* of all samples: queries; keys and values */
    bool values;               /* keeps values, too */
} mgk_kept_room;

/*
 * Copies the queries and keys of a view, and its values if `values` is set; overwrites what was
 * kept. Errors: STATUS_MEMORY, and those of the device.
 */
mgk_status mgk_kept_view_take(mgk_device *device, const mgk_attention_view *view,
                              const mgk_kept_room *room, mgk_kept_view *kept);

/* An empty one is accepted. */
void mgk_kept_view_release(mgk_device *device, mgk_kept_view *kept);

#endif
