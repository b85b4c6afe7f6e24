/* SPDX-License-Identifier: MIT */
/* The largest weight of each row. */
#include "analysis/measures/registry.h"

static void confidence(const mgk_rows *rows, double *values)
{
    for (size_t r = 0; r < rows->count; r++)
        values[r] = rows->largest[r];
}

const mgk_measure mgk_measure_confidence = {.name = "confidence",
                                            .level = MGK_MEASURE_HEAD,
                                            .needs = MGK_NEEDS_DISTRIBUTION,
                                            .unit = "",
                                            .range = "1/N to 1",
                                            .formula = "mean_i max_j a_ij",
                                            .source = "Voita et al. 2019",
                                            .rows = confidence};
