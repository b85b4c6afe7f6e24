/* SPDX-License-Identifier: MIT */
/*
 * The choice of matrices: K of the S * H matrices of each layer, drawn by a seed without
 * repetition. Samples are drawn first, the same for all layers, with all their heads, so that
 * measures of pairs of heads, and of a sample across layers, have the matrices they compare. If K
 * is not a multiple of H, one randomly drawn sample has fewer heads.
 */
#ifndef MGK_ANALYSIS_SELECTION_H
#define MGK_ANALYSIS_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/run/source.h"
#include "base/status.h"

typedef struct mgk_selection {
    size_t samples, layers, heads; /* S, L of the selected layers, H */
    size_t per_layer;              /* K, at most S * H */
    size_t *chosen; /* [L, K], each layer ascending; entry s * H + h is head h of sample s */
    int32_t *head;  /* [L, K], h of each */

    /* The position of mgk_selection_next. */
    size_t sample, layer;
    size_t *passed; /* [L], matrices already named of each layer */
} mgk_selection;

/*
 * Draws `per_layer` matrices of each layer; 0, or more than exist, means all. All are equally
 * likely; matrices of one sample are drawn together. numbers [layers] are the model's: the heads of
 * the sample with fewer heads depend on the number of the layer, not on the other layers. So a
 * store, a part of it and a running model give the same choice for the same request. STATUS_MEMORY.
 * Release with mgk_selection_free.
 */
mgk_status mgk_selection_make(uint64_t seed, size_t samples, size_t layers, const int32_t *numbers,
                              size_t heads, size_t per_layer, mgk_selection *out);

/*
 * The next group of chosen matrices, of at most `most` heads (`next` of a source); false after the
 * last one. group->heads points into selection->head.
 */
bool mgk_selection_next(mgk_selection *selection, size_t most, mgk_group *group);

/* Releases; a zeroed selection is accepted. */
void mgk_selection_free(mgk_selection *selection);

#endif
