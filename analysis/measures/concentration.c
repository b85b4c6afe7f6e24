/* SPDX-License-Identifier: MIT */
/* How unequal the weights of a row are: measures of its sorted weights. */
#include "analysis/measures/registry.h"

/*
 * sum_jk |x_j − x_k| is twice the sum of the differences of all pairs j < k. The zeros in front of
 * a row, of which there are longest − V, are in pairs with all its weights.
 */
static void gini(const mgk_rows *rows, double *values)
{
    double spreads[MGK_ROWS_MOST];
    rows->kernels->spreads(rows->longest, rows->sorted, spreads);
    for (size_t r = 0; r < rows->count; r++) {
        const size_t keys = mgk_row_keys(rows, r);
        const double zeros = (double)(rows->longest - keys) * rows->sums[r];
        values[r] = (spreads[r] - zeros) / ((double)keys * rows->sums[r]);
    }
}

enum { TOP = 8 };

static void top_8_mass(const mgk_rows *rows, double *values)
{
    const size_t from = rows->longest > TOP ? rows->longest - TOP : 0;
    for (size_t r = 0; r < rows->count; r++) {
        values[r] = 0;
        for (size_t j = from; j < rows->longest; j++)
            values[r] += rows->sorted[j * MGK_ROWS_MOST + r];
    }
}

const mgk_measure mgk_measure_gini = {
    .name = "gini",
    .level = MGK_MEASURE_HEAD,
    .needs = MGK_NEEDS_DISTRIBUTION | MGK_NEEDS_SORTED,
    .unit = "",
    .range = "0 (all keys alike) to 1 - 1/N (one key)",
    .formula = "mean_i sum_jk |a_ij - a_ik| / (2 V_i sum_j a_ij), over the V_i keys that query i "
               "sees",
    .source = "",
    .rows = gini};

const mgk_measure mgk_measure_top_8_mass = {.name = "top_8_mass",
                                            .level = MGK_MEASURE_HEAD,
                                            .needs = MGK_NEEDS_DISTRIBUTION | MGK_NEEDS_SORTED,
                                            .unit = "",
                                            .range = "min(1, 8/N) to 1",
                                            .formula = "mean_i of the sum of the 8 largest a_ij",
                                            .source = "",
                                            .rows = top_8_mass};
