/* SPDX-License-Identifier: MIT */
/* Measures of two heads from their values, or from their outputs O = A V. */
#include <math.h>

#include "analysis/measures/registry.h"

/* ---- mean cosine of the vectors of each token ------------------------------------------------ */

/* From the sums of products of unit vectors [H, H], over the tokens for which neither vector is
 * zero [H, n]. */
static double mean_cosine(const mgk_outputs *outputs, const double *products, const bool *zero,
                          size_t h, size_t g)
{
    const size_t n = outputs->n;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += !zero[h * n + i] && !zero[g * n + i];
    return count > 0 ? products[h * outputs->heads + g] / (double)count : NAN;
}

static double output_cosine(const mgk_outputs *outputs, size_t h, size_t g)
{
    return mean_cosine(outputs, outputs->output_products, outputs->zero_outputs, h, g);
}

static double value_cosine(const mgk_outputs *outputs, size_t h, size_t g)
{
    return mean_cosine(outputs, outputs->value_products, outputs->zero_values, h, g);
}

/* ---- centred kernel alignment ---------------------------------------------------------------- */

/* x / √(y z); NaN unless both are positive, 1 for a head with itself. */
static double normalise(double x, double y, double z, bool same)
{
    if (!(y > 0 && z > 0))
        return NAN;
    return same ? 1 : x / (sqrt(y) * sqrt(z));
}

static double energy(const mgk_outputs *outputs, size_t h, size_t g)
{
    return outputs->energies[h * outputs->heads + g];
}

static double cka_output(const mgk_outputs *outputs, size_t h, size_t g)
{
    return normalise(energy(outputs, h, g), energy(outputs, h, h), energy(outputs, g, g), h == g);
}

/*
 * ||XᵀY||_F² without the part that few tokens give even to independent outputs: for rows with the
 * squared lengths p_i and q_i, of sums P and Q, subtract n/(n−2) sum p_i q_i and add
 * P Q / ((n−1)(n−2)).
 */
static double debiased_energy(const mgk_outputs *outputs, size_t h, size_t g)
{
    const size_t n = outputs->n;
    const double *p = outputs->squares + h * n, *q = outputs->squares + g * n;
    const double tokens = (double)n, rows = outputs->kernels->dot(n, p, q);
    const double sums = outputs->kernels->sum(n, p) * outputs->kernels->sum(n, q);
    return energy(outputs, h, g) - tokens / (tokens - 2) * rows +
           sums / ((tokens - 1) * (tokens - 2));
}

/* The same of a head with itself; 0 where the terms cancel up to rounding, as those of outputs that
 * are equal for all tokens but one. */
static double debiased_norm(const mgk_outputs *outputs, size_t h)
{
    const double norm = debiased_energy(outputs, h, h);
    return norm > 0x1p-40 * energy(outputs, h, h) ? norm : 0;
}

static double cka_output_debiased(const mgk_outputs *outputs, size_t h, size_t g)
{
    if (outputs->n < 4)
        return NAN;
    return normalise(debiased_energy(outputs, h, g), debiased_norm(outputs, h),
                     debiased_norm(outputs, g), h == g);
}

#define OUTPUTS(function) .level = MGK_MEASURE_PAIR, .unit = "", .outputs = (function)

const mgk_measure mgk_measure_cka_output = {
    .name = "cka_output",
    .similarity = true,
    .needs = MGK_NEEDS_VALUES | MGK_NEEDS_ENERGIES,
    .range = "0 to 1 (equal up to rotation and scale)",
    .formula = "||X^T Y||_F^2 / (||X^T X||_F ||Y^T Y||_F), outputs A V of two heads over the "
               "tokens of a sample, columns centred",
    .source = "Kornblith et al. 2019",
    OUTPUTS(cka_output)};

const mgk_measure mgk_measure_cka_output_debiased = {
    .name = "cka_output_debiased",
    .similarity = true,
    .needs = MGK_NEEDS_VALUES | MGK_NEEDS_ENERGIES,
    .range = "at most 1; near 0 for independent outputs, however few tokens",
    .formula = "cka_output of unbiased estimates of the three norms; empty for fewer than 4 tokens",
    .source = "Song et al. 2012, Kornblith et al. 2019",
    OUTPUTS(cka_output_debiased)};

const mgk_measure mgk_measure_output_cosine = {.name = "output_cosine",
                                               .similarity = true,
                                               .needs = MGK_NEEDS_VALUES,
                                               .range = "-1 to 1",
                                               .formula =
                                                   "mean_i cos(o_i, p_i), outputs of two heads",
                                               .source = "Li et al. 2018",
                                               OUTPUTS(output_cosine)};

const mgk_measure mgk_measure_value_cosine = {.name = "value_cosine",
                                              .similarity = true,
                                              .needs = MGK_NEEDS_VALUES,
                                              .range = "-1 to 1",
                                              .formula =
                                                  "mean_i cos(v_i, w_i), values of two heads",
                                              .source = "Li et al. 2018",
                                              OUTPUTS(value_cosine)};
