/* SPDX-License-Identifier: MIT */
#include "entries.h"

#include <math.h>

const double *entry_token(const kind_case *problem, kind_input input, int b, int t, int h)
{
    const kind_shape *s = &problem->shape;
    return problem->layers[0].input[input] +
           (size_t)(((b * s->tokens + t) * s->heads + h) * s->dim);
}

double entry_weight(int dim, const double *query, const double *key)
{
    return exp(kind_dot(dim, query, key) / sqrt(dim));
}

/* The matrices [B, H, N, N] of a formula. */
static double *matrices_of(workspace *space, const kind_case *problem, entry_score *score)
{
    const kind_shape *s = &problem->shape;
    double *out = host_array(space, problem->matrices), *row = out;
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < s->tokens; i++, row += s->tokens) {
                double sum = 0;
                for (int j = 0; j < s->tokens; j++) {
                    const bool seen = i < problem->lengths[b] && j < problem->lengths[b] &&
                                      (!s->causal || j <= i);
                    row[j] = seen ? score(problem, b, h, i, j) : 0;
                    sum += row[j];
                }
                for (int j = 0; j < s->tokens && sum > 0 && !s->kind->unnormalized; j++)
                    row[j] /= sum;
            }
    return out;
}

void entries_match(workspace *space, const kind_case *problem, entry_score *score)
{
    const size_t tokens = (size_t)problem->shape.tokens;
    assert_rows_close(problem->matrices / tokens, tokens, kind_case_matrices(space, problem),
                      matrices_of(space, problem, score), 10 * space->tolerance);
}

void entry_outputs_match(workspace *space, const kind_case *problem, entry_score *score,
                         entry_value *value)
{
    const kind_shape *s = &problem->shape;
    double *found = host_array(space, problem->outputs);
    double *expected = host_array(space, problem->outputs);
    const double *matrix = matrices_of(space, problem, score);
    kind_case_run(space, problem, found, MGK_MATRIX_ATTENTION, NULL);
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < s->tokens; i++, matrix += s->tokens)
                for (int j = 0; j < s->tokens; j++)
                    for (int d = 0; d < s->dim; d++)
                        expected[((b * s->tokens + i) * s->heads + h) * s->dim + d] +=
                            matrix[j] * value(problem, b, h, i, j)[d];
    assert_rows_close(problem->outputs / (size_t)s->dim, (size_t)s->dim, found, expected,
                      10 * space->tolerance);
}
