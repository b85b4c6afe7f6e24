/*
 * Counting where the rank is far below N. Images of random vectors span what A does but for its
 * smallest singular values (Halko, Martinsson & Tropp 2011); with their orthonormal basis Q, and
 * B = QᵀA, A = Q B + E and QᵀE = 0, so that
 *     σ_i(B) <= σ_i(A) <= √(σ_i(B)² + ‖E‖²),
 * where E is made and its norm measured. Random vectors decide how small E is, not whether that is
 * true. Nothing is squared, and Q of k columns takes 6 k n² operations.
 */
#ifndef MGK_ANALYSIS_LOW_RANK_H
#define MGK_ANALYSIS_LOW_RANK_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/measures/rank.h"
#include "base/status.h"
#include "kernels/spectral/spectrum.h"

/* Q has at most n divided by this columns. */
enum { MGK_LOW_RANK_SHARE = 8 };

/* The workspace of one thread, for matrices up to n_max; nothing is allocated per matrix. */
typedef struct mgk_low_rank mgk_low_rank;

/* STATUS_MEMORY; STATUS_DEVICE as mgk_blas_open. Closed with mgk_low_rank_close. */
mgk_status mgk_low_rank_open(size_t n_max, mgk_low_rank **out);
void mgk_low_rank_close(mgk_low_rank *low_rank); /* NULL is accepted */

/*
 * Counts the singular values at tau > 0 of `matrix` [n, n], packed and finite, which stays as it
 * is; `moved` and `storage` as for mgk_count_rank. Q begins with `columns`, as were needed for one
 * like it, and more are added; *used: how many it took. `rest` [n, n] takes E; the spectrum's n_max
 * is n / MGK_LOW_RANK_SHARE at least. Nothing is squared, so a bound on all roundings is
 * small enough: MGK_CERTIFICATE_BOUND. *largest is σ₁ of B, NaN if it is hidden in E, less than
 * ‖E‖² / (2 σ) below that of A; `nearest` is told to two digits of its distance from tau, or NaN.
 * False if that takes too many columns.
 */
bool mgk_low_rank_count(mgk_low_rank *low_rank, mgk_spectrum *spectrum, size_t n,
                        const double *matrix, size_t columns, double tau, double moved,
                        double storage, double *rest, size_t *used, double *largest,
                        mgk_rank_count *out);

#endif
