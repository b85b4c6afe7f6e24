/*
 * Counting singular values without computing them. The matrix of the Gram products is squared,
 * which costs digits: singular values whose square is within some δ of τ² may be counted on either
 * side. So they are counted at two shifts, δ beyond what storage may have moved on either side of
 * τ. When both counts agree no singular value lies between, and the rank is certain; when they do
 * not, it is left to those who compute singular values, all of them or those between (refine.h).
 */
#ifndef MGK_ANALYSIS_COUNT_H
#define MGK_ANALYSIS_COUNT_H

#include <stdbool.h>

#include "analysis/counting/gram.h"
#include "analysis/measures/rank.h"

/* Certain: how many singular values are above tau; [0, n] to begin with. */
typedef struct mgk_known {
    size_t fewest, most;
} mgk_known;

/*
 * Counts the singular values at tau > 0; a count that fails may know more of them afterwards.
 * `moved`: how far they may have moved since the matrix was read; `storage`: how far before
 * (mgk_rank_noise_floor). False if a singular value may be as close to tau as all these; then *out
 * is not written. `nearest` is NaN: landmarks.h.
 */
bool mgk_count_rank(mgk_gram *gram, double tau, double moved, double storage,
                    mgk_certificate certificate, mgk_known *known, mgk_rank_count *out);

/* A rank that nothing leaves open; `nearest` is NaN. */
mgk_rank_count mgk_count_certain(size_t rank, mgk_certificate certificate);

#endif
