/* SPDX-License-Identifier: MIT */
/* The attention sink: a key that takes the attention of all later queries. */
#include <math.h>
#include <string.h>

#include "analysis/measures/registry.h"

/* For each key k the sum of a_ik over i >= k; [n]. With a causal mask no other query sees it. */
static const double *sum_later(const mgk_matrix_view *matrix, double *sums)
{
    const size_t n = matrix->n;
    if (matrix->causal)
        return matrix->column_sums;
    memset(sums, 0, n * sizeof(*sums));
    for (size_t i = 0; i < n; i++) {
        const double *row = matrix->a + i * n;
#pragma omp simd
        for (size_t k = 0; k <= i; k++)
            sums[k] += row[k];
    }
    return sums;
}

static double sink(const mgk_matrix_view *matrix)
{
    const double *sums = sum_later(matrix, matrix->scratch);
    double queries = 0, largest = NAN;
    for (size_t k = matrix->n; k-- > 0;) {
        queries += !matrix->zero_rows[k];
        if (queries > 0)
            largest = fmax(largest, sums[k] / queries);
    }
    return largest;
}

const mgk_measure mgk_measure_sink = {.name = "sink",
                                      .level = MGK_MEASURE_HEAD,
                                      .needs = MGK_NEEDS_POSITIONS,
                                      .unit = "",
                                      .range = "1/N to 1",
                                      .formula = "max_k mean over i >= k of a_ik",
                                      .source = "Gu et al. 2025",
                                      .matrix = sink};
