/* SPDX-License-Identifier: MIT */
/* How far attention is from replacing all tokens by one mean, which over-smooths them. */
#include <math.h>

#include "analysis/measures/registry.h"

/*
 * ||A - 1 mᵀ||_F², m = Aᵀ1 / N the mean of each column: every row of (1/N) 11ᵀA is m. Rows of zeros
 * are left out. The key of query i has weight 0 for the earlier queries if the mask is causal.
 */
static double squared_distance(const mgk_matrix_view *matrix, const double *means)
{
    const size_t n = matrix->n;
    double sum = 0, earlier = 0;
    for (size_t i = 0; i < matrix->queries; i++) {
        const size_t keys = matrix->causal ? i + 1 : matrix->keys;
        if (matrix->causal)
            sum += earlier * means[i] * means[i];
        if (matrix->zero_rows[i])
            continue;
        sum += matrix->kernels->distance(keys, matrix->a + i * n, means);
        earlier++;
    }
    return sum;
}

static double high_frequency(const mgk_matrix_view *matrix)
{
    const double square = matrix->frobenius * matrix->frobenius;
    double *means = matrix->scratch;
    size_t rows = 0;
    for (size_t i = 0; i < matrix->queries; i++)
        rows += !matrix->zero_rows[i];
    for (size_t j = 0; j < matrix->keys; j++)
        means[j] = matrix->column_sums[j] / (double)rows;
    return square > 0 ? sqrt(squared_distance(matrix, means) / square) : NAN;
}

const mgk_measure mgk_measure_high_frequency = {.name = "high_frequency",
                                                .level = MGK_MEASURE_HEAD,
                                                .unit = "",
                                                .range = "0 (all rows alike) to 1",
                                                .formula = "||A - (1/N) 1 1^T A||_F / ||A||_F",
                                                .source = "Wang et al. 2022",
                                                .matrix = high_frequency};
