/* SPDX-License-Identifier: MIT */
/* Measures of the output of a layer: do tokens become alike? */
#include <math.h>
#include <string.h>

#include "analysis/measures/registry.h"

/* ---- distance from equal rows ---------------------------------------------------------------- */

/* The mean row of X, into mean [C]. */
static void average_rows(const mgk_layer_output *output, double *mean)
{
    const size_t n = output->n, dim = output->dim;
    memset(mean, 0, dim * sizeof(*mean));
    for (size_t i = 0; i < n; i++)
        for (size_t d = 0; d < dim; d++)
            mean[d] += output->x[i * dim + d];
    for (size_t d = 0; d < dim; d++)
        mean[d] /= (double)n;
}

/* √(‖X − 1 mᵀ‖₁ ‖X − 1 mᵀ‖_∞): the largest sums of magnitudes of a column and of a row; sums [C] is
 * overwritten. */
static double composite_norm(const mgk_layer_output *output, const double *m, double *sums)
{
    const size_t n = output->n, dim = output->dim;
    double row_most = 0, column_most = 0;
    memset(sums, 0, dim * sizeof(*sums));
    for (size_t i = 0; i < n; i++) {
        double row = 0;
        for (size_t d = 0; d < dim; d++) {
            const double size = fabs(output->x[i * dim + d] - m[d]);
            sums[d] += size;
            row += size;
        }
        row_most = fmax(row_most, row);
    }
    for (size_t d = 0; d < dim; d++)
        column_most = fmax(column_most, sums[d]);
    return sqrt(column_most) * sqrt(row_most);
}

static double rank_collapse(const mgk_layer_output *output)
{
    double *mean = output->scratch, *zero = mean + output->dim, *sums = zero + output->dim;
    average_rows(output, mean);
    memset(zero, 0, output->dim * sizeof(*zero));
    const double whole = composite_norm(output, zero, sums);
    return whole > 0 ? composite_norm(output, mean, sums) / whole : NAN;
}

/* ---- cosine of tokens ------------------------------------------------------------------------ */

/* The sum of all cosines is the squared length of the sum of the unit rows. */
static double token_cosine(const mgk_layer_output *output)
{
    const size_t n = output->n, dim = output->dim;
    double *sum = output->scratch, count = 0;
    memset(sum, 0, dim * sizeof(*sum));
    for (size_t i = 0; i < n; i++) {
        const double *row = output->x + i * dim;
        const double length = sqrt(output->kernels->dot(dim, row, row));
        if (!(length > 0))
            continue;
        for (size_t d = 0; d < dim; d++)
            sum[d] += row[d] / length;
        count++;
    }
    return count > 1 ? (output->kernels->dot(dim, sum, sum) - count) / (count * (count - 1)) : NAN;
}

const mgk_measure mgk_measure_rank_collapse = {
    .name = "rank_collapse",
    .level = MGK_MEASURE_LAYER,
    .needs = MGK_NEEDS_LAYER_OUTPUT,
    .unit = "",
    .range = "0 (all tokens equal) to about 1",
    .formula = "||X - 1 x^T|| / ||X||, X the layer's output, x its mean row, norm sqrt(||.||_1 "
               "||.||_inf)",
    .source = "Dong et al. 2021",
    .layer_output = rank_collapse};

const mgk_measure mgk_measure_token_cosine = {
    .name = "token_cosine",
    .level = MGK_MEASURE_LAYER,
    .needs = MGK_NEEDS_LAYER_OUTPUT,
    .unit = "",
    .range = "-1/(N - 1) to 1 (all tokens alike)",
    .formula = "mean over i != j of cos(x_i, x_j), rows of the layer's output",
    .source = "Ethayarajh 2019",
    .layer_output = token_cosine};
