/* SPDX-License-Identifier: MIT */
/* Histograms and quartiles of ranks: non-negative integers. */
#ifndef MGK_ANALYSIS_HISTOGRAM_H
#define MGK_ANALYSIS_HISTOGRAM_H

#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

enum { MGK_BINS_MAX = 40 };

/*
 * Bins of equal integer width: bin k holds the values from left + k width to left + (k+1)
 * width - 1.
 */
typedef struct mgk_bins {
    size_t left, width, count;
} mgk_bins;

/* Location and spread of some values; NaN without values. */
typedef struct mgk_summary {
    size_t count;
    double mean;
    double quartile[3]; /* linear interpolation between order statistics; [1] is the median */
} mgk_summary;

/* Sorts ascending, in place. */
void mgk_sort_values(size_t count, size_t *values);

/* Summary of `count` values, sorted ascending. */
mgk_summary mgk_summarize(size_t count, const size_t *sorted);

/*
 * Bins for `count` values, sorted ascending: they cover all values, are at least one integer wide,
 * follow the rule of Freedman & Diaconis (width 2 IQR / count^(1/3)), and number at most
 * `bins_max`, 1 to MGK_BINS_MAX. For histograms on shared axes, pass the values of all models
 * together. No values: no bins.
 */
mgk_bins mgk_choose_bins(size_t count, const size_t *sorted, size_t bins_max);

/* Adds the values to counts [bins.count]; ignores values outside the bins. */
void mgk_count_bins(mgk_bins bins, size_t count, const size_t *values, size_t *counts);

/*
 * Writes the histogram of `count` values, sorted ascending, as text lines of at most `columns`
 * (at least 40) characters: a title line with the summary, then one line per bin, at most
 * `bins_max`. ASCII only. STATUS_IO if writing fails.
 */
mgk_status mgk_print_histogram(FILE *file, const char *title, size_t count, const size_t *sorted,
                               size_t bins_max, size_t columns);

#endif
