/* SPDX-License-Identifier: MIT */
/* Measures of the singular values of one matrix, descending. */
#include <math.h>

#include "analysis/measures/registry.h"

static double rank(const mgk_spectrum_view *spectrum)
{
    return (double)spectrum->count->rank;
}

static double effective_rank(const mgk_spectrum_view *spectrum)
{
    return spectrum->row->effective_rank;
}

static double stable_rank(const mgk_spectrum_view *spectrum)
{
    return spectrum->row->stable_rank;
}

static double sigma_ratio(const mgk_spectrum_view *spectrum)
{
    return spectrum->row->sigma_ratio;
}

/* (sigma_i / sigma_1)^2, whose powers neither overflow nor vanish together; sigma_1 > 0. */
static double energy(const mgk_spectrum_view *spectrum, size_t i)
{
    const double ratio = spectrum->sigma[i] / spectrum->sigma[0];
    return ratio * ratio;
}

static bool is_zero(const mgk_spectrum_view *spectrum)
{
    return spectrum->n == 0 || !(spectrum->sigma[0] > 0);
}

static double participation_ratio(const mgk_spectrum_view *spectrum)
{
    double squares = 0, fourths = 0;
    if (is_zero(spectrum))
        return NAN;
    for (size_t i = 0; i < spectrum->n; i++) {
        const double square = energy(spectrum, i);
        squares += square;
        fourths += square * square;
    }
    return squares * squares / fourths;
}

/* The least k whose first k singular values have `share` of all energy, but for roundings. */
static double components(const mgk_spectrum_view *spectrum, double share)
{
    const double enough = share * (1 - (double)spectrum->n * 0x1p-50);
    double total = 0, sum = 0;
    size_t k = 0;
    if (is_zero(spectrum))
        return NAN;
    for (size_t i = 0; i < spectrum->n; i++)
        total += energy(spectrum, i);
    while (sum < enough * total)
        sum += energy(spectrum, k++);
    return (double)k;
}

static double components_90(const mgk_spectrum_view *spectrum)
{
    return components(spectrum, 0.90);
}

static double components_95(const mgk_spectrum_view *spectrum)
{
    return components(spectrum, 0.95);
}

static double components_99(const mgk_spectrum_view *spectrum)
{
    return components(spectrum, 0.99);
}

#define SPECTRUM(function) \
    .level = MGK_MEASURE_HEAD, .needs = MGK_NEEDS_SPECTRUM, .spectrum = (function)

static const char unit[] = "singular values";

const mgk_measure mgk_measure_rank = {.name = "rank",
                                      .unit = unit,
                                      .range = "0 to N",
                                      .formula = "#{i: sigma_i >= threshold}",
                                      .source = "Nguyen et al. 2022",
                                      SPECTRUM(rank)};

const mgk_measure mgk_measure_effective_rank = {.name = "effective_rank",
                                                .unit = unit,
                                                .range = "1 to N",
                                                .formula =
                                                    "exp(-sum p_i ln p_i), p_i = sigma_i / sum "
                                                    "sigma",
                                                .source = "Roy & Vetterli 2007",
                                                SPECTRUM(effective_rank)};

const mgk_measure mgk_measure_stable_rank = {.name = "stable_rank",
                                             .unit = unit,
                                             .range = "1 to N",
                                             .formula = "sum sigma_i^2 / sigma_1^2",
                                             .source = "Rudelson & Vershynin 2007",
                                             SPECTRUM(stable_rank)};

const mgk_measure mgk_measure_participation_ratio = {.name = "participation_ratio",
                                                     .unit = unit,
                                                     .range = "1 to N",
                                                     .formula = "(sum sigma_i^2)^2 / sum sigma_i^4",
                                                     .source = "",
                                                     SPECTRUM(participation_ratio)};

const mgk_measure mgk_measure_components_90 = {.name = "components_90",
                                               .unit = unit,
                                               .range = "1 to N",
                                               .formula = "least k with sum_{i<=k} sigma_i^2 >= "
                                                          "0.90 sum sigma_i^2",
                                               .source = "",
                                               SPECTRUM(components_90)};

const mgk_measure mgk_measure_components_95 = {.name = "components_95",
                                               .unit = unit,
                                               .range = "1 to N",
                                               .formula = "least k with sum_{i<=k} sigma_i^2 >= "
                                                          "0.95 sum sigma_i^2",
                                               .source = "",
                                               SPECTRUM(components_95)};

const mgk_measure mgk_measure_components_99 = {.name = "components_99",
                                               .unit = unit,
                                               .range = "1 to N",
                                               .formula = "least k with sum_{i<=k} sigma_i^2 >= "
                                                          "0.99 sum sigma_i^2",
                                               .source = "",
                                               SPECTRUM(components_99)};

const mgk_measure mgk_measure_sigma_ratio = {.name = "sigma_ratio",
                                             .unit = "",
                                             .range = "0 to 1",
                                             .formula = "sigma_2 / sigma_1",
                                             .source = "Nait Saada et al. 2025",
                                             SPECTRUM(sigma_ratio)};
