/* How unequal the weights of a row are: measures of its sorted weights. */
#include "analysis/measures/registry.h"

/*
 * With x ascending, sum_jk |x_j − x_k| = 2 sum_k (2 k − V − 1) x_k, k from 1. The zeros in front of
 * a row add nothing. All rows at once, as they lie.
 */
static void gini(const mgk_rows *rows, double *values)
{
    double weighted[MGK_ROWS_MOST] = {0}, sum[MGK_ROWS_MOST] = {0}, weight[MGK_ROWS_MOST];
    for (size_t r = 0; r < MGK_ROWS_MOST; r++) {
        const size_t keys = r < rows->count ? mgk_row_keys(rows, r) : rows->longest;
        weight[r] = 1 + (double)keys - 2 * (double)rows->longest;
    }
    for (size_t k = 0; k < rows->longest; k++) {
        const double *x = rows->sorted + k * MGK_ROWS_MOST;
        for (size_t r = 0; r < MGK_ROWS_MOST; r++) {
            weighted[r] += weight[r] * x[r];
            sum[r] += x[r];
            weight[r] += 2;
        }
    }
    for (size_t r = 0; r < rows->count; r++)
        values[r] = weighted[r] / ((double)mgk_row_keys(rows, r) * sum[r]);
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
