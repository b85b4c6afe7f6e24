/*
 * Counting where singular values lie so close to the threshold that AᵀA - τ² I, which is squared,
 * cannot place them. Two shifts (count.h) tell how many σ² are between low and high, and not where.
 * The factors at one of them find that many approximate eigenvectors V; in their subspace singular
 * values are those of A V, which is not squared.
 *
 * How V was found is of no matter. With orthonormal V, M = VᵀAᵀA V, R = AᵀA V - V M, and
 * N = V₂ᵀAᵀA V₂ of the orthogonal rest V₂,
 *     [V V₂]ᵀ AᵀA [V V₂] = [[M, Rᵀ V₂], [V₂ᵀ R, N]].
 * Without R eigenvalues move by ‖R‖ at most (Weyl), so M and N have no more of them between
 * low + ‖R‖ and high - ‖R‖ than AᵀA has between low and high. Where M has as many there, N has
 * none; and for any y at a distance g from all of those of N, AᵀA - y I has the inertia of N - y I
 * and of M - y I - Rᵀ V₂ (N - y I)⁻¹ V₂ᵀ R,    where the last term is at most ‖R‖² / g.
 */
#ifndef MGK_ANALYSIS_REFINE_H
#define MGK_ANALYSIS_REFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/count.h"
#include "base/status.h"

/* The smallest n at which this is worth its time. */
enum { MGK_REFINE_ORDER = 512 };

/* The workspace of one thread, for matrices up to n_max. */
typedef struct mgk_refine mgk_refine;

/* STATUS_MEMORY. Closed with mgk_refine_close. */
mgk_status mgk_refine_open(size_t n_max, mgk_refine **out);
void mgk_refine_close(mgk_refine *refine); /* NULL is accepted */

/*
 * Counts the singular values at tau > 0 of the matrix that was loaded, n >= MGK_REFINE_ORDER;
 * `moved`, `storage` and *known as for mgk_count_rank. The certificate is MGK_CERTIFICATE_MEASURED,
 * and what it rests on are two norms that were measured (mgk_gram_measure). `nearest` is NaN where
 * it was not found on the way. False if the rank cannot be certified so.
 */
bool mgk_refine_rank(mgk_refine *refine, mgk_gram *gram, double tau, double moved, double storage,
                     const mgk_known *known, mgk_rank_count *out);

#endif
