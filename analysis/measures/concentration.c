/* How unequal the weights of a row are: measures of its sorted weights. */
#include "analysis/measures/registry.h"

/* With x ascending, sum_jk |x_j − x_k| = 2 sum_k (2 k − V − 1) x_k, k from 1. */
static void gini(const mgk_rows *rows, double *values)
{
    const double *columns = rows->sorted;
    for (size_t r = 0; r < rows->count; r++) {
        const size_t keys = mgk_row_keys(rows, r), hidden = rows->n - keys;
        double weighted = 0, sum = 0;
        for (size_t k = 1; k <= keys; k++) {
            const double x = columns[(hidden + k - 1) * MGK_ROWS_MOST + r];
            weighted += (2 * (double)k - (double)keys - 1) * x;
            sum += x;
        }
        values[r] = weighted / ((double)keys * sum);
    }
}

enum { TOP = 8 };

static void top_8_mass(const mgk_rows *rows, double *values)
{
    const double *columns = rows->sorted;
    const size_t from = rows->n > TOP ? rows->n - TOP : 0;
    for (size_t r = 0; r < rows->count; r++) {
        values[r] = 0;
        for (size_t j = from; j < rows->n; j++)
            values[r] += columns[j * MGK_ROWS_MOST + r];
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
