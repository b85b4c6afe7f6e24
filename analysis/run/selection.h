/*
 * Which matrices of each layer are analysed: K of the S * H, drawn by seed without repeats. Samples
 * are drawn first, the same for all layers, and all heads of each: so that measures of pairs of
 * heads, and of a sample through all layers, have what they compare. Where K is no multiple of H,
 * one of the samples, drawn too, has fewer heads.
 */
#ifndef MGK_ANALYSIS_SELECTION_H
#define MGK_ANALYSIS_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/run/source.h"
#include "base/status.h"

typedef struct mgk_selection {
    size_t samples, layers, heads; /* S, L of the chosen layers, H */
    size_t per_layer;              /* K, at most S * H */
    size_t *chosen; /* [L, K], each layer ascending; entry s * H + h is head h of sample s */
    int32_t *head;  /* [L, K], h of each */

    /* How far mgk_selection_next is. */
    size_t sample, layer;
    size_t *passed; /* [L], matrices of each layer */
} mgk_selection;

/*
 * Draws `per_layer` matrices of each layer; 0, or more than there are, means all. Each is as likely
 * as any other, those of one sample go together. numbers [layers] are the model's: which heads of
 * the sample with fewer are drawn depends on the number of the layer, not on the other layers, so
 * that a store, a part of one and a running model asked alike choose alike. STATUS_MEMORY.
 */
mgk_status mgk_selection_make(uint64_t seed, size_t samples, size_t layers, const int32_t *numbers,
                              size_t heads, size_t per_layer, mgk_selection *out);

/*
 * Names the next group of chosen matrices, of at most `most` heads (`next` of a source); false
 * behind the last one. group->heads points into selection->head.
 */
bool mgk_selection_next(mgk_selection *selection, size_t most, mgk_group *group);

/* Releases; a zeroed selection is accepted. */
void mgk_selection_free(mgk_selection *selection);

#endif
