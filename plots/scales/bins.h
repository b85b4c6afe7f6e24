/* Histogram bins of whole numbers. */
#ifndef MGK_PLOTS_BINS_H
#define MGK_PLOTS_BINS_H

#include <stddef.h>

/*
 * Bins of equal width that hold every value. Ranks are whole numbers: widths are 1, 2 or
 * 5 x 10^k, at least 1, and a bin [left, left + width) starts half below a rank, so that a bin of
 * width 1 stands about its rank. There are at least five bins or ranks, for the ticks of an axis to
 * be whole numbers.
 */
typedef struct mgk_rank_bins {
    double low, width;
    size_t count;
} mgk_rank_bins;

/*
 * Bins for ranks low to high. most: the largest rank that there can be, N, which no bin goes
 * beyond; the last one ends with it where it is near. 0: not known, bins start at multiples of
 * their width.
 */
mgk_rank_bins mgk_bins_over(double low, double high, double most);

/* shares[b]: the percentage of values [count] in bin b, [bins.count]. */
void mgk_bin_shares(mgk_rank_bins bins, const double *values, size_t count, double *shares);

#endif
