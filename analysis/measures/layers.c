/* SPDX-License-Identifier: MIT */
/* Measures of a layer from a measure of its pairs of heads. */
#include <math.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "kernels/blas.h"

static bool is_defined(size_t count, const double *values)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(values[i]))
            return false;
    return true;
}

double mgk_mean_of_pairs(size_t heads, const double *values)
{
    double sum = 0;
    for (size_t h = 0; h < heads; h++)
        for (size_t g = h + 1; g < heads; g++)
            sum += values[h * heads + g];
    return heads > 1 ? sum / (double)(heads * (heads - 1) / 2) : NAN;
}

static double mean_of_pairs(size_t heads, const double *values, double *scratch)
{
    (void)scratch;
    return mgk_mean_of_pairs(heads, values);
}

/* Li et al. sum over all pairs, of a head with itself too. */
static double disagreement(size_t heads, const double *values, double *scratch)
{
    double sum = 0;
    (void)scratch;
    for (size_t i = 0; i < heads * heads; i++)
        sum += values[i];
    return heads > 1 ? -sum / (double)(heads * heads) : NAN;
}

/*
 * The eigenvalues of affinity, divided by their sum (H for rows that sum to 1), are a distribution:
 * the matrix is positive semi-definite. It is not where pairs of heads are compared over different
 * queries, because rows of zeros are left out.
 */
static double effective_heads(size_t heads, const double *values, double *scratch)
{
    double *matrix = scratch, *lambda = matrix + heads * heads, entropy = 0, trace = 0;
    if (heads < 2 || !is_defined(heads * heads, values))
        return NAN;
    for (size_t h = 0; h < heads; h++)
        trace += values[h * heads + h];
    for (size_t i = 0; i < heads * heads; i++)
        matrix[i] = values[i] / trace;
    if (!(trace > 0) ||
        mgk_blas.dsyev_work(LAPACK_COL_MAJOR, 'N', 'U', (lapack_int)heads, matrix,
                            (lapack_int)heads, lambda, lambda + heads, 3 * (lapack_int)heads) != 0)
        return NAN;
    if (lambda[0] < -(double)heads * 1e-15) /* ascending */
        return NAN;
    for (size_t i = 0; i < heads; i++)
        if (lambda[i] > 0)
            entropy -= lambda[i] * log(lambda[i]);
    return exp(entropy);
}

const mgk_measure mgk_measure_effective_heads = {
    .name = "effective_heads",
    .level = MGK_MEASURE_LAYER,
    .unit = "heads",
    .range = "1 (all equal) to H (no key in common)",
    .formula = "exp(-sum lambda_i ln lambda_i), eigenvalues of affinity / its trace (H if rows sum "
               "to 1)",
    .source = "Friedman & Dieng 2023",
    .of = &mgk_measure_affinity,
    .pairs = effective_heads};

const mgk_measure mgk_measure_mean_js = {.name = "mean_js",
                                         .level = MGK_MEASURE_LAYER,
                                         .unit = "",
                                         .range = "0 (all equal) to 1 (no key in common)",
                                         .formula = "mean of js over the pairs h < g",
                                         .source = "Clark et al. 2019",
                                         .of = &mgk_measure_js,
                                         .pairs = mean_of_pairs};

#define DISAGREEMENT(measure)                                                             \
    .level = MGK_MEASURE_LAYER, .unit = "", .source = "Li et al. 2018", .of = &(measure), \
    .pairs = disagreement

/* The matrix of mean cosines is positive semi-definite, so its sum is not negative. */
#define DISAGREEMENT_OF_VECTORS(measure) \
    .range = "-1 (all equal) to 0, near -1/H for unrelated heads", DISAGREEMENT(measure)

const mgk_measure mgk_measure_disagreement_position = {
    .name = "disagreement_position",
    .range = "-1 (one key, the same in all heads) to 0",
    .formula = "-1/H^2 sum over h, g of position_overlap",
    DISAGREEMENT(mgk_measure_position_overlap)};

const mgk_measure mgk_measure_disagreement_output = {
    .name = "disagreement_output",
    .formula = "-1/H^2 sum over h, g of output_cosine",
    DISAGREEMENT_OF_VECTORS(mgk_measure_output_cosine)};

const mgk_measure mgk_measure_disagreement_value = {
    .name = "disagreement_value",
    .formula = "-1/H^2 sum over h, g of value_cosine",
    DISAGREEMENT_OF_VECTORS(mgk_measure_value_cosine)};
