/* SPDX-License-Identifier: MIT */
/*
 * Counts where singular values are so close to the threshold that AᵀA - τ² I, which is squared,
 * cannot place them. The factors of one count give approximate eigenvectors V of the singular
 * values near τ; in their subspace the singular values are those of A V, which is not squared. Two
 * counts prove that no others are near τ.
 *
 * The method that found V does not matter. With orthonormal V, M = VᵀAᵀA V, R = AᵀA V - V M, and
 * N = V₂ᵀAᵀA V₂ of the orthogonal complement V₂,
 *     [V V₂]ᵀ AᵀA [V V₂] = [[M, Rᵀ V₂], [V₂ᵀ R, N]].
 * A count at x is that of AᵀA + E, and E V is known (gram.h). So with P = M - x I + VᵀE V and
 * κ >= ‖R‖ + ‖E V‖,
 *     [V V₂]ᵀ (AᵀA + E - x I) [V V₂] = [[P, ·], [·, N - x I + V₂ᵀE V₂]],
 * and without the two other blocks eigenvalues move by at most κ (Weyl). If P has p positive
 * eigenvalues and none within κ of 0, and the count is c, then N has c - p eigenvalues above x,
 * except for those within ‖E‖ + κ of x. If two counts give the same number for N, it has none
 * between. And for any y at a distance g from all eigenvalues of N, AᵀA - y I has the inertia of
 * N - y I plus that of
 *     M - y I - Rᵀ V₂ (N - y I)⁻¹ V₂ᵀ R, where the last term is at most ‖R‖² / g.
 */
#ifndef MGK_ANALYSIS_REFINE_H
#define MGK_ANALYSIS_REFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/counting/count.h"
#include "base/status.h"

/* The smallest n for which refinement pays. */
enum { MGK_REFINE_ORDER = 512 };

/* The workspace of one thread, for matrices up to n_max. */
typedef struct mgk_refine mgk_refine;

/* STATUS_MEMORY. Closed with mgk_refine_close. */
mgk_status mgk_refine_open(size_t n_max, mgk_refine **out);
void mgk_refine_close(mgk_refine *refine); /* NULL is accepted */

/*
 * Counts the singular values at tau > 0 of the loaded matrix, n >= MGK_REFINE_ORDER; `moved`,
 * `storage` and *known as for mgk_count_rank. The certificate is MGK_CERTIFICATE_MEASURED: it
 * depends on two measured norms (mgk_gram_measure). out->nearest is NaN unless the search found it.
 * False if the rank cannot be certified.
 */
bool mgk_refine_rank(mgk_refine *refine, mgk_gram *gram, double tau, double moved, double storage,
                     const mgk_known *known, mgk_rank_count *out);

#endif
