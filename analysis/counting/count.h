/* SPDX-License-Identifier: MIT */
/*
 * Counts singular values without computing them, by the inertia of AᵀA - x I (gram.h). Squaring A
 * costs digits: singular values whose square is within some δ of x may be counted on either side.
 * So there are two counts, one δ above and one δ below the range [τ - error, τ + error], where the
 * error is what moving and storage may change. If both counts agree, no singular value lies
 * between, and the rank is certain. Otherwise some or all singular values must be computed
 * (refine.h, engine.h).
 */
#ifndef MGK_ANALYSIS_COUNT_H
#define MGK_ANALYSIS_COUNT_H

#include <stdbool.h>

#include "analysis/counting/gram.h"
#include "analysis/measures/rank.h"

/* Certain bounds of the number of singular values above tau; [0, n] at the start. */
typedef struct mgk_known {
    size_t fewest, most;
} mgk_known;

/*
 * Counts the singular values at tau > 0. `moved`: how far they may have moved since the matrix was
 * read; `storage`: how far storage rounding may have moved them (mgk_rank_noise_floor). False if a
 * singular value may be within these distances of tau; then *out is not written, but *known may
 * have become narrower. out->nearest is NaN: see landmarks.h.
 */
bool mgk_count_rank(mgk_gram *gram, double tau, double moved, double storage,
                    mgk_certificate certificate, mgk_known *known, mgk_rank_count *out);

/* The count of a certain rank; `nearest` is NaN. */
mgk_rank_count mgk_count_certain(size_t rank, mgk_certificate certificate);

#endif
