#include "plots/scales/bins.h"

#include <math.h>
#include <string.h>

#include "plots/scales/ticks.h"

enum { BINS_WANTED = 24 };

mgk_rank_bins mgk_bins_over(double low, double high)
{
    if (high - low < 4) {
        low = fmax(0, low - 2);
        high += 2;
    }
    double width = fmax(1, mgk_round_step((high - low + 1) / BINS_WANTED));
    double first = floor(low / width), last = floor(high / width);
    return (mgk_rank_bins){first * width - 0.5, width, (size_t)(last - first) + 1};
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
