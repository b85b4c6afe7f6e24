/*
 * Counting where singular values lie so close to the threshold that AᵀA - τ² I, which is squared,
 * cannot place them. The factors at one shift find the few eigenvectors near it, V; in their
 * subspace singular values are those of A V, which is not squared. The others are far from the
 * shift, and its inertia places them.
 *
 * With V₂ orthogonal to V, AᵀA - y I has the inertia of N - y I, N = V₂ᵀAᵀA V₂, and of
 *     VᵀAᵀA V - y I - Rᵀ (N - y I)⁻¹ R,    R = AᵀA V - V (VᵀAᵀA V),
 * where N has no eigenvalue within a gap g of y, and the last term is at most ‖R‖² / g.
 */
#ifndef MGK_ANALYSIS_REFINE_H
#define MGK_ANALYSIS_REFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/gram.h"
#include "analysis/rank.h"
#include "base/status.h"

/* The smallest n at which this is worth a factorisation. */
enum { MGK_REFINE_ORDER = 512 };

/* The workspace of one thread, for matrices up to n_max. */
typedef struct mgk_refine mgk_refine;

/* STATUS_MEMORY. Closed with mgk_refine_close. */
mgk_status mgk_refine_open(size_t n_max, mgk_refine **out);
void mgk_refine_close(mgk_refine *refine); /* NULL is accepted */

/*
 * Counts the singular values at tau > 0 of the matrix that was loaded, n >= MGK_REFINE_ORDER;
 * `moved` and `storage` as for mgk_count_rank. The certificate is MGK_CERTIFICATE_STATISTICAL:
 * roundings are estimated as independent (mgk_gram_count), and eigenvectors found from a random
 * start. `nearest` is NaN where none was found. False if the rank cannot be certified so.
 */
bool mgk_refine_rank(mgk_refine *refine, mgk_gram *gram, double tau, double moved, double storage,
                     mgk_rank_count *out);

#endif
