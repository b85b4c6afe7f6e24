/* SPDX-License-Identifier: MIT */
/* Histogram bins of integers, and of real numbers. */
#ifndef MGK_PLOTS_BINS_H
#define MGK_PLOTS_BINS_H

#include <stddef.h>

/*
 * Bins of equal width that contain all values. Ranks are integers: widths are 1, 2 or 5 x 10^k, at
 * least 1, and a bin [left, left + width) starts at a rank minus one half, so that a bin of width 1
 * is centred at its rank. There are at least five bins or ranks, so that ticks can be integers.
 */
typedef struct mgk_rank_bins {
    double low, width;
    size_t count;
} mgk_rank_bins;

/*
 * Bins for ranks low to high. most: the largest possible rank N, which no bin exceeds; the last bin
 * ends there if high is near N. 0: unknown, bins start at multiples of their width.
 */
mgk_rank_bins mgk_bins_over(double low, double high, double most);

/* Bins for real numbers low to high, from a multiple of their width, 1, 2 or 5 x 10^k, on. The last
 * one contains its upper end. */
mgk_rank_bins mgk_real_bins_over(double low, double high);

/* shares[b]: the percentage of values [count] in bin b, [bins.count]; NaN is no value, and
 * without values all shares are 0. */
void mgk_bin_shares(mgk_rank_bins bins, const double *values, size_t count, double *shares);

#endif
