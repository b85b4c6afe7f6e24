/* SPDX-License-Identifier: MIT */
/* Measures of two heads from sums over their rows. */
#include <math.h>

#include "analysis/measures/registry.h"

/* What is beyond 1 by rounding alone is 1. Rows that sum to more have a larger js. */
static double without_rounding(double value)
{
    return value > 1 && value < 1 + 1e-9 ? 1 : value;
}

static double js(const mgk_pair_sums *sums, size_t h, size_t g)
{
    const size_t pair = h * sums->heads + g;
    return without_rounding(sums->divergences[pair] / (sums->queries[pair] * log(2)));
}

static double hellinger(const mgk_pair_sums *sums, size_t h, size_t g)
{
    const size_t pair = h * sums->heads + g;
    return sums->hellinger[pair] / sums->queries[pair];
}

static double affinity(const mgk_pair_sums *sums, size_t h, size_t g)
{
    const size_t pair = h * sums->heads + g;
    return sums->affinities[pair] / sums->queries[pair];
}

static double cosine(const mgk_pair_sums *sums, size_t h, size_t g)
{
    const size_t heads = sums->heads;
    const double *products = sums->products;
    if (h == g)
        return products[h * heads + h] > 0 ? 1 : NAN;
    return without_rounding(products[h * heads + g] /
                            (sqrt(products[h * heads + h]) * sqrt(products[g * heads + g])));
}

static double position_overlap(const mgk_pair_sums *sums, size_t h, size_t g)
{
    const size_t pair = h * sums->heads + g;
    return sums->products[pair] / sums->queries[pair];
}

#define PAIR(function) .level = MGK_MEASURE_PAIR, .unit = "", .pair = (function)

const mgk_measure mgk_measure_js = {.name = "js",
                                    .needs = MGK_NEEDS_DIVERGENCES | MGK_NEEDS_DISTRIBUTION,
                                    .range = "0 (equal) to 1 (no key in common)",
                                    .formula = "mean_i JS(a_i, b_i) / ln 2",
                                    .source = "Clark et al. 2019",
                                    PAIR(js)};

/* For rows that sum to 1, 1 − sum_j √(a_ij b_ij) = ½ sum_j (√a_ij − √b_ij)², which is exactly 0
 * for equal rows, whatever storage has rounded. */
const mgk_measure mgk_measure_hellinger = {.name = "hellinger",
                                           .needs = MGK_NEEDS_ROOTS | MGK_NEEDS_DISTRIBUTION,
                                           .range = "0 (equal) to 1 (no key in common)",
                                           .formula =
                                               "mean_i sqrt(1/2 sum_j (sqrt a_ij - sqrt b_ij)^2), "
                                               "which is sqrt(1 - sum_j sqrt(a_ij b_ij)) "
                                               "for rows that sum to 1",
                                           .source = "",
                                           PAIR(hellinger)};

const mgk_measure mgk_measure_affinity = {.name = "affinity",
                                          .similarity = true,
                                          .needs = MGK_NEEDS_ROOTS | MGK_NEEDS_DISTRIBUTION,
                                          .range = "0 (no key in common) to 1 (equal)",
                                          .formula = "mean_i sum_j sqrt(a_ij b_ij)",
                                          .source = "Bhattacharyya 1943",
                                          PAIR(affinity)};

const mgk_measure mgk_measure_cosine = {.name = "cosine",
                                        .similarity = true,
                                        .needs = MGK_NEEDS_PRODUCTS,
                                        .range = "-1 (opposite) to 1 (proportional)",
                                        .formula = "cos(vec A, vec B)",
                                        .source = "Bian et al. 2021",
                                        PAIR(cosine)};

const mgk_measure mgk_measure_position_overlap = {.name = "position_overlap",
                                                  .similarity = true,
                                                  .needs = MGK_NEEDS_PRODUCTS,
                                                  .range = "0 to 1",
                                                  .formula = "mean_i sum_j a_ij b_ij",
                                                  .source = "Li et al. 2018",
                                                  PAIR(position_overlap)};
