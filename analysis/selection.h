/* Which matrices of each layer are analysed: K of the S * H, drawn by seed without repeats. */
#ifndef MGK_ANALYSIS_SELECTION_H
#define MGK_ANALYSIS_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mgk_selection {
    size_t samples, layers, heads;
    size_t per_layer; /* K, at most S * H */
    size_t *chosen;   /* [L, K], each layer ascending; entry s * H + h is head h of sample s */
} mgk_selection;

/*
 * Draws `per_layer` matrices of each layer; 0, or more than there are, means all.
 * A pure function of its arguments: a store and a running model asked alike choose
 * alike. STATUS_MEMORY.
 */
mgk_status mgk_selection_make(uint64_t seed, size_t samples, size_t layers, size_t heads,
                              size_t per_layer, mgk_selection *out);

/* Whether this matrix is among them; false for indices out of range. */
bool mgk_selection_has(const mgk_selection *selection, size_t sample, size_t layer, size_t head);

/* Releases; a zeroed selection is accepted. */
void mgk_selection_free(mgk_selection *selection);

#endif
