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

mgk_rank_bins mgk_real_bins_over(double low, double high)
{
    const double range = high - low, size = fmax(fabs(low), fabs(high));
    /* Equal values: bins of about a tenth of them. */
    const double width = mgk_round_step(range > 1e-9 * size ? range / BINS_WANTED
                                        : size > 0          ? size / 10
                                                            : 0.1);
    const double first = floor(low / width), last = ceil(high / width);
    return (mgk_rank_bins){first * width, width, (size_t)fmax(last - first, 1)};
}

void mgk_bin_shares(mgk_rank_bins bins, const double *values, size_t count, double *shares)
{
    const double most = (double)bins.count;
    size_t known = 0;
    memset(shares, 0, bins.count * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        const double place = (values[i] - bins.low) / bins.width;
        if (isnan(place))
            continue;
        known++;
        /* Rounding may move a value at the end of the last bin beyond it. */
        if (place >= 0 && place < most + 1e-9)
            shares[place < most ? (size_t)place : bins.count - 1]++;
    }
    for (size_t b = 0; b < bins.count && known > 0; b++)
        shares[b] *= 100.0 / (double)known;
}
