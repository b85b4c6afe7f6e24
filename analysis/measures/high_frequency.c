/* How far attention is from replacing all tokens by one mean, which over-smooths them. */
#include <math.h>
#include <string.h>

#include "analysis/measures/registry.h"

/* The mean of each column, m = Aᵀ1 / N, into means [n]. Rows of zeros are left out of A. */
static void average_columns(const mgk_matrix_view *matrix, double *means)
{
    const size_t n = matrix->n;
    size_t rows = 0;
    memset(means, 0, n * sizeof(*means));
    for (size_t i = 0; i < n; i++) {
        const double *row = matrix->a + i * n;
        rows += !matrix->zero_rows[i];
#pragma omp simd
        for (size_t j = 0; j < n; j++)
            means[j] += row[j];
    }
    for (size_t j = 0; j < n; j++)
        means[j] /= (double)rows;
}

/* Every row of (1/N) 11ᵀA is m, so the norms need no second matrix. */
static double high_frequency(const mgk_matrix_view *matrix)
{
    const size_t n = matrix->n;
    double *means = matrix->scratch, differences = 0, squares = 0;
    average_columns(matrix, means);
    for (size_t i = 0; i < n; i++) {
        const double *row = matrix->a + i * n;
        double difference = 0, square = 0;
        if (matrix->zero_rows[i])
            continue;
#pragma omp simd reduction(+ : difference, square)
        for (size_t j = 0; j < n; j++) {
            difference += (row[j] - means[j]) * (row[j] - means[j]);
            square += row[j] * row[j];
        }
        differences += difference;
        squares += square;
    }
    return squares > 0 ? sqrt(differences / squares) : NAN;
}

const mgk_measure mgk_measure_high_frequency = {.name = "high_frequency",
                                                .level = MGK_MEASURE_HEAD,
                                                .unit = "",
                                                .range = "0 (all rows alike) to 1",
                                                .formula = "||A - (1/N) 1 1^T A||_F / ||A||_F",
                                                .source = "Wang et al. 2022",
                                                .matrix = high_frequency};
