/* SPDX-License-Identifier: MIT */
/*
 * Orders in which the heads of a model are removed. A head is number l H + h, of layer l (by
 * position) and head h; an order lists each once, the first removed head first.
 */
#ifndef MGK_ANALYSIS_REMOVAL_H
#define MGK_ANALYSIS_REMOVAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* By importance [count], the least first; heads without one (NaN) last. Equal ones by number. */
void mgk_removal_by_importance(size_t count, const double *importance, size_t *order);

/*
 * By redundancy: again and again one head of the two that are closest, in any layer, by distances
 * [L, H, H] (symmetric; NaN: not known); of the two the one that is closer to its next neighbour
 * among the heads left, else the one that is less important. Heads without a neighbour are removed
 * last, by importance [L, H]. STATUS_MEMORY.
 */
mgk_status mgk_removal_by_redundancy(size_t layers, size_t heads, const double *distances,
                                     const double *importance, size_t *order);

/* Number `draw` of the random orders of a seed. */
void mgk_removal_at_random(uint64_t seed, uint64_t draw, size_t count, size_t *order);

#endif
