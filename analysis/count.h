/*
 * Counting singular values without computing them. The matrix of the Gram products is squared,
 * which costs digits: singular values whose square is within some δ of τ² may be counted on either
 * side. So they are counted at two shifts, δ beyond what storage may have moved on either side of
 * τ. When both counts agree no singular value lies between, and the rank is certain; when they do
 * not, it is left to those who compute singular values.
 */
#ifndef MGK_ANALYSIS_COUNT_H
#define MGK_ANALYSIS_COUNT_H

#include <stdbool.h>

#include "analysis/gram.h"
#include "analysis/rank.h"

/*
 * Counts the singular values at tau > 0 of the matrix that was loaded. *most: no more than so many
 * are above it, n if nothing is known; a count that fails may know better afterwards. `moved`: how
 * far they may have moved since it was read; `storage`: how far before (mgk_rank_noise_floor). With
 * MGK_CERTIFICATE_BOUND, δ is a bound, with MGK_CERTIFICATE_STATISTICAL an estimate. False if a
 * singular value may be as close to tau as all these; then *out is not written. `nearest` is NaN:
 * landmarks.h.
 */
bool mgk_count_rank(mgk_gram *gram, double tau, double moved, double storage,
                    mgk_certificate certificate, size_t *most, mgk_rank_count *out);

#endif
