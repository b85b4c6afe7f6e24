/* SPDX-License-Identifier: MIT */
/*
 * Ranks of products A = L Rᵀ of thin factors L and R [n, d], as in linear attention. With
 * Householder's L = Q_L T_L and R = Q_R T_R, the singular values of A are those of T_L T_Rᵀ, of
 * order min(n, d), and zeros: n d² operations, without forming A.
 *
 * The error of the computed values is bounded with S = Σ_c |l_c| |r_c| over the columns: both
 * decompositions are backward stable column by column, with an error of n d 2^-53 of a column's
 * norm (Higham 2002, Theorem 19.4, with 1 for its unnamed constant), and the product adds at most
 * d 2^-53 S.
 */
#ifndef MGK_ANALYSIS_FACTORS_H
#define MGK_ANALYSIS_FACTORS_H

#include "analysis/counting/engine.h"

/* The workspace of one thread, for n up to n_max; nothing is allocated per matrix. */
typedef struct mgk_factors mgk_factors;

/* depth: d. STATUS_SHAPE: depth is above 32768; STATUS_MEMORY. Close with mgk_factors_close. */
mgk_status mgk_factors_open(size_t n_max, size_t depth, mgk_factors **out);
void mgk_factors_close(mgk_factors *factors); /* NULL is accepted */

/* The first zero row of L Rᵀ, n if there is none; `pair` [2, n, d] holds non-negative factors. */
size_t mgk_factors_zero_row(mgk_factors *factors, size_t n, const double *pair);

/*
 * The ranks and measures of the matrix with factors `pair` [2, n, d], L followed by R,
 * non-negative, rounded to `stored`; `pair` is overwritten. Writes counts [threshold_count] at the
 * thresholds of the task, *row, and sigma [n], descending. The norm and the sums of *row are those
 * of L Rᵀ. STATUS_NUMERIC: an entry is not finite or is negative, or a sum overflows.
 */
mgk_status mgk_factors_rank(mgk_factors *factors, const mgk_engine_task *task, size_t n,
                            double *pair, mgk_float_format stored, mgk_rank_row *row,
                            mgk_rank_count *counts, double *sigma);

#endif
