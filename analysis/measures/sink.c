/* The attention sink: a key that takes the attention of all later queries. */
#include <math.h>
#include <string.h>

#include "analysis/measures/registry.h"

/* For each key k the sum of a_ik over i >= k, and the number of these queries; [n] each. */
static void sum_later(const mgk_matrix_view *matrix, double *sums, double *counts)
{
    const size_t n = matrix->n;
    memset(sums, 0, n * sizeof(*sums));
    for (size_t i = 0; i < n; i++) {
        const double *row = matrix->a + i * n;
#pragma omp simd
        for (size_t k = 0; k <= i; k++)
            sums[k] += row[k];
    }
    double queries = 0;
    for (size_t k = n; k-- > 0;) {
        queries += !matrix->zero_rows[k];
        counts[k] = queries;
    }
}

static double sink(const mgk_matrix_view *matrix)
{
    double *sums = matrix->scratch, *counts = sums + matrix->n, largest = NAN;
    sum_later(matrix, sums, counts);
    for (size_t k = 0; k < matrix->n; k++)
        if (counts[k] > 0)
            largest = fmax(largest, sums[k] / counts[k]);
    return largest;
}

const mgk_measure mgk_measure_sink = {.name = "sink",
                                      .level = MGK_MEASURE_HEAD,
                                      .unit = "",
                                      .range = "1/N to 1",
                                      .formula = "max_k mean over i >= k of a_ik",
                                      .source = "Gu et al. 2025",
                                      .matrix = sink};
