/* SPDX-License-Identifier: MIT */
#include "plots/scales/bins.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "plots/scales/ticks.h"

enum { BINS_WANTED = 24 };

/* Widens to at least five ranks, none above `most`. */
static void widen(double *low, double *high, double most)
{
    if (*high - *low >= 4)
        return;
    *high = fmin(*high + 2, most);
    *low = fmax(0, fmin(*low - 2, *high - 4));
}

mgk_rank_bins mgk_bins_over(double low, double high, double most)
{
    bool known = most >= high;
    /* Near: at most as far as the width of the ranks' range. */
    if (known && most - high <= fmax(high - low, 4))
        high = most;
    widen(&low, &high, known ? most : INFINITY);
    double width = fmax(1, mgk_round_step((high - low + 1) / BINS_WANTED));
    if (!known) {
        double first = floor(low / width), last = floor(high / width);
        return (mgk_rank_bins){first * width - 0.5, width, (size_t)(last - first) + 1};
    }
    double end = most - width * floor((most - high) / width);
    double count = floor((end - low) / width) + 1;
    return (mgk_rank_bins){end + 0.5 - count * width, width, (size_t)count};
}

void mgk_bin_shares(mgk_rank_bins bins, const double *values, size_t count, double *shares)
{
    memset(shares, 0, bins.count * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        double index = floor((values[i] - bins.low) / bins.width);
        if (index >= 0 && index < (double)bins.count)
            shares[(size_t)index] += 100.0 / (double)count;
    }
}
