/* SPDX-License-Identifier: MIT */
/*
 * Jensen-Shannon divergences of all pairs of rows: the entropy of the mean of two rows minus the
 * mean of their entropies. The terms of identical rows are those of one row's entropy, and so is
 * their order: the divergence is exactly 0.
 */
#include "kernels/cpu/log.h"
#include "kernels/cpu/rows/row.h"

static inline mgk_vector add_entropy_of_mean(mgk_vector sum, mgk_vector x, mgk_vector y)
{
    const mgk_vector mean = 0.5 * (x + y);
    return sum - mean * mgk_log(mean);
}

void MGK_CPU(row_divergences)(size_t heads, size_t n, const double *rows, size_t pitch,
                              const double *entropies, double *out)
{
    for (size_t h = 0; h < heads; h++) {
        for (size_t g = 0; g < h; g++) {
            const double mixed =
                mgk_row_reduce(add_entropy_of_mean, n, rows + h * pitch, rows + g * pitch);
            const double divergence = mixed - 0.5 * (entropies[h] + entropies[g]);
            out[h * heads + g] = out[g * heads + h] = divergence > 0 ? divergence : 0;
        }
        out[h * heads + h] = 0;
    }
}
