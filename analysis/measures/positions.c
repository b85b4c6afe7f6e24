/* SPDX-License-Identifier: MIT */
/* The weight of one key that a query's position chooses. */
#include <math.h>

#include "analysis/measures/registry.h"

/* The weights of the keys `offset` places after their queries; NaN where there is none, or the
 * query does not see it. */
static void weights_at(const mgk_rows *rows, int offset, double *values)
{
    for (size_t r = 0; r < rows->count; r++) {
        const ptrdiff_t j = (ptrdiff_t)mgk_row_query(rows, r) + offset;
        const bool seen = j >= 0 && (size_t)j < mgk_row_keys(rows, r);
        values[r] = seen ? mgk_row(rows, r)[j] : NAN;
    }
}

static void diagonal(const mgk_rows *rows, double *values)
{
    weights_at(rows, 0, values);
}

static void previous(const mgk_rows *rows, double *values)
{
    weights_at(rows, -1, values);
}

static void next(const mgk_rows *rows, double *values)
{
    weights_at(rows, 1, values);
}

static void first(const mgk_rows *rows, double *values)
{
    for (size_t r = 0; r < rows->count; r++)
        values[r] = mgk_row(rows, r)[0];
}

#define POSITION(function, what)                                               \
    .level = MGK_MEASURE_HEAD, .needs = (what), .unit = "", .range = "0 to 1", \
    .source = "Clark et al. 2019", .rows = (function)

const mgk_measure mgk_measure_diagonal = {
    .name = "diagonal", .formula = "mean_i a_ii", POSITION(diagonal, MGK_NEEDS_POSITIONS)};

const mgk_measure mgk_measure_previous = {.name = "previous",
                                          .formula = "mean over i > 0 of a_i,i-1",
                                          POSITION(previous, MGK_NEEDS_POSITIONS)};

const mgk_measure mgk_measure_next = {
    .name = "next",
    .formula = "mean over i < N - 1 of a_i,i+1; empty with a causal mask",
    POSITION(next, MGK_NEEDS_POSITIONS)};

const mgk_measure mgk_measure_first = {
    .name = "first", .formula = "mean_i a_i0", POSITION(first, 0)};
