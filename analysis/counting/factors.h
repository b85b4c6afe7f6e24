/*
 * Ranks of matrices that come as products A = L R' of thin factors, L and R [n, d], as those of
 * linear attention do. Householder's L = Q_L T_L and R = Q_R T_R leave A the singular values of
 * T_L T_R', of order min(n, d), and zeros: n d² operations, and A is never formed.
 *
 * How far the values found are from those of L R' is bounded by S = Σ_c |l_c| |r_c| over the
 * columns: both decompositions are backward stable column by column, a column being off by
 * n d 2^-53 of its norm (Higham 2002, Theorem 19.4, with 1 for its unnamed constant), and the
 * product adds at most d 2^-53 S.
 */
#ifndef MGK_ANALYSIS_FACTORS_H
#define MGK_ANALYSIS_FACTORS_H

#include "analysis/counting/engine.h"

/* The workspace of one thread, for n up to n_max; nothing is allocated per matrix. */
typedef struct mgk_factors mgk_factors;

/* STATUS_SHAPE: depth, which is d, is above 32768; STATUS_MEMORY. */
mgk_status mgk_factors_open(size_t n_max, size_t depth, mgk_factors **out);
void mgk_factors_close(mgk_factors *factors); /* NULL is accepted */

/*
 * How far the rounding of not negative factors moves singular values: entries of L and R that are
 * off by a relative u, as their format rounds them, leave each entry of A within 2 u of itself, and
 * the norm of that change is at most 2 u σ_1. Unlike mgk_rank_noise_floor this is a bound.
 */
double mgk_factors_noise_floor(double sigma_1, mgk_float_format format);

/* The first row of L R' that is all zeros, n if there is none; not negative factors, [2, n, d]. */
size_t mgk_factors_zero_row(mgk_factors *factors, size_t n, const double *pair);

/*
 * Everything about the matrix of `pair` [2, n, d], L and behind it R, not negative, rounded to
 * `stored`; it is overwritten. counts [threshold_count] at the thresholds of the task, *row, and
 * sigma [n], descending. The norm and the sums of *row are those of L R'.
 * STATUS_NUMERIC: an entry is not finite or negative, or a sum overflows.
 */
mgk_status mgk_factors_rank(mgk_factors *factors, const mgk_engine_task *task, size_t n,
                            double *pair, mgk_float_format stored, mgk_rank_row *row,
                            mgk_rank_count *counts, double *sigma);

#endif
