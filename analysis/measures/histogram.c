/* SPDX-License-Identifier: MIT */
#include "analysis/measures/histogram.h"

#include <math.h>
#include <stdlib.h>

#include "base/number.h"

static int compare(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

void mgk_sort_values(size_t count, size_t *values)
{
    if (count > 1)
        qsort(values, count, sizeof(*values), compare);
}

static double quantile(size_t count, const size_t *sorted, double q)
{
    double position = q * (double)(count - 1);
    size_t below = (size_t)position;
    size_t above = below + 1 < count ? below + 1 : below;
    double step = position - (double)below;
    return (double)sorted[below] * (1 - step) + (double)sorted[above] * step;
}

mgk_summary mgk_summarize(size_t count, const size_t *sorted)
{
    mgk_summary summary = {.count = count, .mean = NAN, .quartile = {NAN, NAN, NAN}};
    if (count == 0)
        return summary;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)sorted[i];
    summary.mean = sum / (double)count;
    for (size_t k = 0; k < 3; k++)
        summary.quartile[k] = quantile(count, sorted, 0.25 * (double)(k + 1));
    return summary;
}

mgk_bins mgk_choose_bins(size_t count, const size_t *sorted, size_t bins_max)
{
    if (count == 0)
        return (mgk_bins){.width = 1};
    size_t left = sorted[0], range = sorted[count - 1] - left;
    mgk_summary summary = mgk_summarize(count, sorted);
    double iqr = summary.quartile[2] - summary.quartile[0];
    double width = round(2 * iqr / cbrt((double)count));
    /* range + 1 values in at most bins_max bins: width > range / bins_max. */
    size_t narrowest = range / bins_max + 1;
    size_t chosen = width > (double)narrowest ? (size_t)width : narrowest;
    return (mgk_bins){.left = left, .width = chosen, .count = range / chosen + 1};
}

void mgk_count_bins(mgk_bins bins, size_t count, const size_t *values, size_t *counts)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i] < bins.left)
            continue;
        size_t bin = (values[i] - bins.left) / bins.width;
        if (bin < bins.count)
            counts[bin]++;
    }
}

mgk_status mgk_print_histogram(FILE *file, const char *title, size_t count, const size_t *sorted,
                               size_t bins_max, size_t columns)
{
    enum { LABEL = 26, BAR_MAX = 400 };
    char bar[BAR_MAX + 1];
    size_t counts[MGK_BINS_MAX] = {0}, highest = 1;
    mgk_bins bins = mgk_choose_bins(count, sorted, bins_max);
    mgk_count_bins(bins, count, sorted, counts);
    for (size_t k = 0; k < bins.count; k++)
        highest = counts[k] > highest ? counts[k] : highest;
    size_t room = columns > LABEL + BAR_MAX ? BAR_MAX : columns > LABEL ? columns - LABEL : 1;

    mgk_summary summary = mgk_summarize(count, sorted);
    fprintf(file, "%s: %zu %s", title, count, MGK_NOUN(count, "matrix", "matrices"));
    if (count > 0)
        fprintf(file, ", mean %.1f, median %.6g, quartiles %.6g to %.6g", summary.mean,
                summary.quartile[1], summary.quartile[0], summary.quartile[2]);
    fputc('\n', file);
    for (size_t k = 0; k < bins.count; k++) {
        size_t left = bins.left + k * bins.width;
        /* Rounded up: a bin that is not empty shows at least one mark. */
        size_t length = (size_t)ceil((double)counts[k] * (double)room / (double)highest);
        for (size_t i = 0; i < length; i++)
            bar[i] = '#';
        bar[length] = '\0';
        if (bins.width == 1)
            fprintf(file, "%13zu %9zu  %s\n", left, counts[k], bar);
        else
            fprintf(file, "%5zu - %5zu %9zu  %s\n", left, left + bins.width - 1, counts[k], bar);
    }
    if (ferror(file))
        return mgk_fail(STATUS_IO, "cannot write the histogram of %s", title);
    return STATUS_OK;
}
