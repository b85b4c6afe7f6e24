/* SPDX-License-Identifier: MIT */
/* The entropy of rows: how many keys a query attends to. */
#include <math.h>

#include "analysis/measures/registry.h"

static void entropy(const mgk_rows *rows, double *values)
{
    for (size_t r = 0; r < rows->count; r++)
        values[r] = rows->entropies[r];
}

static void normalized_entropy(const mgk_rows *rows, double *values)
{
    for (size_t r = 0; r < rows->count; r++) {
        const size_t keys = mgk_row_keys(rows, r);
        values[r] = keys > 1 ? rows->entropies[r] / log((double)keys) : NAN;
    }
}

const mgk_measure mgk_measure_entropy = {.name = "entropy",
                                         .level = MGK_MEASURE_HEAD,
                                         .needs = MGK_NEEDS_DISTRIBUTION | MGK_NEEDS_ENTROPIES,
                                         .unit = "nats",
                                         .range = "0 to ln N",
                                         .formula = "mean_i -sum_j a_ij ln a_ij",
                                         .source = "Clark et al. 2019",
                                         .rows = entropy};

const mgk_measure mgk_measure_normalized_entropy = {
    .name = "normalized_entropy",
    .level = MGK_MEASURE_HEAD,
    .needs = MGK_NEEDS_DISTRIBUTION | MGK_NEEDS_ENTROPIES,
    .unit = "",
    .range = "0 to 1",
    .formula = "mean over i with V_i > 1 of (-sum_j a_ij ln a_ij) / ln V_i, V_i keys that query i "
               "sees",
    .source = "",
    .rows = normalized_entropy};
