/* SPDX-License-Identifier: MIT */
/*
 * Counts where the rank is far below N. Images of random vectors span the range of A except for its
 * smallest singular values (Halko, Martinsson & Tropp 2011). With their orthonormal basis Q and
 * B = QᵀA, A = Q B + E and QᵀE = 0, so that
 *     σ_i(B) <= σ_i(A) <= √(σ_i(B)² + ‖E‖²),
 * where E is computed and its norm measured. The random vectors determine only the size of E; the
 * inequality always holds. Nothing is squared, and Q of k columns takes 6 k n² operations.
 */
#ifndef MGK_ANALYSIS_LOW_RANK_H
#define MGK_ANALYSIS_LOW_RANK_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/measures/rank.h"
#include "base/status.h"
#include "kernels/spectral/spectrum.h"

/* Q has at most n / MGK_LOW_RANK_SHARE columns. */
enum { MGK_LOW_RANK_SHARE = 8 };

/* The workspace of one thread, for matrices up to n_max; nothing is allocated per matrix. */
typedef struct mgk_low_rank mgk_low_rank;

/* STATUS_MEMORY; STATUS_DEVICE as mgk_blas_open. Closed with mgk_low_rank_close. */
mgk_status mgk_low_rank_open(size_t n_max, mgk_low_rank **out);
void mgk_low_rank_close(mgk_low_rank *low_rank); /* NULL is accepted */

/*
 * Counts the singular values at tau > 0 of `matrix` [n, n], packed and finite, not changed; `moved`
 * and `storage` as for mgk_count_rank. Q starts with `columns` columns, as earlier matrices of the
 * head needed, and grows; *used: its final number. `rest` [n, n] receives E; the spectrum's n_max
 * must be at least n / MGK_LOW_RANK_SHARE. Since nothing is squared, a bound of all rounding errors
 * is small enough: MGK_CERTIFICATE_BOUND. *largest is σ₁ of B, less than ‖E‖² / (2 σ) below that of
 * A, or NaN if E may hide it; out->nearest has a relative error of 1e-2 in its distance from tau,
 * or is NaN. False if too many columns would be needed.
 */
bool mgk_low_rank_count(mgk_low_rank *low_rank, mgk_spectrum *spectrum, size_t n,
                        const double *matrix, size_t columns, double tau, double moved,
                        double storage, double *rest, size_t *used, double *largest,
                        mgk_rank_count *out);

#endif
