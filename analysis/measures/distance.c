/* SPDX-License-Identifier: MIT */
/* How far a query looks. */
#include "analysis/measures/registry.h"

static void distance(const mgk_rows *rows, double *values)
{
    for (size_t r = 0; r < rows->count; r++) {
        const double *distances = rows->distances + rows->n - 1 - mgk_row_query(rows, r);
        values[r] = rows->kernels->dot(mgk_row_entries(rows, r), mgk_row(rows, r), distances);
    }
}

const mgk_measure mgk_measure_distance = {.name = "distance",
                                          .level = MGK_MEASURE_HEAD,
                                          .needs = MGK_NEEDS_POSITIONS,
                                          .unit = "tokens",
                                          .range = "0 to N - 1",
                                          .formula = "mean_i sum_j a_ij |i - j|",
                                          .source = "Dosovitskiy et al. 2021",
                                          .rows = distance};
