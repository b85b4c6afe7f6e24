/* SPDX-License-Identifier: MIT */
/* Known roles of heads: the share of all attention that goes to the keys of a role. */
#include <math.h>

#include "analysis/measures/registry.h"

static double total(const mgk_matrix_view *matrix)
{
    return matrix->kernels->sum(matrix->n, matrix->row_sums);
}

/* The sum of the entries of a row at `count` places. */
static double sum_at(const double *row, size_t count, const mgk_place *places)
{
    double sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += row[places[j].position];
    return sum;
}

/*
 * The share of the keys `offset` places after an earlier token that equals the query's. NaN if no
 * token repeats: the sample then says nothing about the head. Tokens below 0 are not known.
 */
static double share_of_repeats(const mgk_matrix_view *matrix, size_t offset)
{
    const size_t n = matrix->n;
    const mgk_place *places = matrix->places;
    double sum = 0;
    bool repeats = false;
    size_t first = 0;
    while (first < n && places[first].token < 0)
        first++;
    for (size_t k = first + 1; k < n; k++) { /* places first … k − 1 have one token */
        if (places[k].token != places[first].token)
            first = k;
        if (first < k) {
            sum += sum_at(matrix->a + (size_t)places[k].position * n + offset, k - first,
                          places + first);
            repeats = true;
        }
    }
    return repeats && total(matrix) > 0 ? sum / total(matrix) : NAN;
}

static double duplicate_token(const mgk_matrix_view *matrix)
{
    return share_of_repeats(matrix, 0);
}

static double induction(const mgk_matrix_view *matrix)
{
    return share_of_repeats(matrix, 1);
}

static double previous_token(const mgk_matrix_view *matrix)
{
    const size_t n = matrix->n;
    double sum = 0;
    for (size_t i = 1; i < n; i++)
        sum += matrix->a[i * n + i - 1];
    return n > 1 && total(matrix) > 0 ? sum / total(matrix) : NAN;
}

/* Shares are of distributions. */
#define ROLE(function, more)                                                                   \
    .level = MGK_MEASURE_HEAD, .needs = MGK_NEEDS_DISTRIBUTION | MGK_NEEDS_POSITIONS | (more), \
    .unit = "", .range = "0 to 1", .source = "Olsson et al. 2022", .matrix = (function)

const mgk_measure mgk_measure_duplicate_token = {
    .name = "duplicate_token",
    .formula = "sum of a_ij over j < i with t_j = t_i / sum a_ij; empty if no token repeats",
    ROLE(duplicate_token, MGK_NEEDS_TOKENS)};

const mgk_measure mgk_measure_induction = {
    .name = "induction",
    .formula = "sum of a_i,j+1 over j < i with t_j = t_i / sum a_ij; empty if no token repeats",
    ROLE(induction, MGK_NEEDS_TOKENS)};

const mgk_measure mgk_measure_previous_token = {
    .name = "previous_token", .formula = "sum_i a_i,i-1 / sum a_ij", ROLE(previous_token, 0)};
