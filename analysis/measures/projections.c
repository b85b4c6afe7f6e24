/* SPDX-License-Identifier: MIT */
/* Measures of two heads from their weights alone: how far what they read or write overlaps. */
#include <math.h>

#include "analysis/measures/registry.h"
#include "kernels/blas.h"

/* The sum of the squared cosines of the principal angles of two subspaces, as a share of the most
 * that it can be. */
static double overlap(const mgk_basis *a, const mgk_basis *b, double *scratch)
{
    const size_t least = a->rank < b->rank ? a->rank : b->rank;
    const blasint width = (blasint)a->width, rows = (blasint)a->rank, cols = (blasint)b->rank;
    double sum = 0;
    if (least == 0)
        return NAN;
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, cols, width, 1, a->rows, width,
                   b->rows, width, 0, scratch, cols);
    for (size_t i = 0; i < a->rank * b->rank; i++)
        sum += scratch[i] * scratch[i];
    return sum / (double)least;
}

#define PROJECTION(which)                                                                      \
    .level = MGK_MEASURE_PAIR, .similarity = true, .needs = MGK_NEEDS_PROJECTIONS, .unit = "", \
    .range = "0 (orthogonal) to 1 (one holds the other); random about D/C",                    \
    .source = "Bjorck & Golub 1973, arXiv 2601.10266", .projection = (which), .bases = overlap

#define OVERLAP "||Q_h^T Q_g||_F^2 / D, orthonormal bases of what "

const mgk_measure mgk_measure_projection_query = {.name = "projection_query",
                                                  .formula = OVERLAP "W_Q of two heads reads",
                                                  PROJECTION(MGK_PROJECTION_QUERY)};

const mgk_measure mgk_measure_projection_key = {
    .name = "projection_key",
    .formula = OVERLAP "W_K of two heads reads; with M keys per position the span of all of them, "
                       "and its dimension, M D or C, for D",
    PROJECTION(MGK_PROJECTION_KEY)};

const mgk_measure mgk_measure_projection_value = {.name = "projection_value",
                                                  .formula = OVERLAP "W_V of two heads reads",
                                                  PROJECTION(MGK_PROJECTION_VALUE)};

const mgk_measure mgk_measure_projection_output = {.name = "projection_output",
                                                   .formula = OVERLAP "W_O of two heads writes",
                                                   PROJECTION(MGK_PROJECTION_OUTPUT)};
