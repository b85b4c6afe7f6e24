/* SPDX-License-Identifier: MIT */
#include "heads.h"

const double *head_parameter(const head *at)
{
    return at->problem->layers[0].input[KIND_PARAMETERS];
}

static void load_head(const kind_case *problem, int sample, int index, head *out)
{
    const kind_layer *layer = &problem->layers[0];
    *out = (head){.problem = problem,
                  .index = index,
                  .n = problem->lengths[sample],
                  .causal = problem->shape.causal};
    for (int t = 0; t < out->n; t++)
        for (int d = 0; d < DIM; d++) {
            const int at = ((sample * problem->shape.tokens + t) * HEADS + index) * DIM + d;
            out->query[t][d] = layer->input[KIND_QUERY][at];
            out->key[t][d] = layer->input[KIND_KEY][at];
        }
}

void heads_match(workspace *space, const kind_case *problem, head_formula *fill)
{
    const int tokens = problem->shape.tokens;
    double *expected = host_array(space, problem->matrices), *row = expected;
    for (int b = 0; b < KIND_SAMPLES; b++)
        for (int h = 0; h < HEADS; h++) {
            head at;
            matrix filled;
            load_head(problem, b, h, &at);
            fill(&at, filled);
            for (int i = 0; i < tokens; i++, row += tokens)
                for (int j = 0; i < at.n && j < at.n; j++)
                    row[j] = filled[i][j];
        }
    assert_rows_close(problem->matrices / (size_t)tokens, (size_t)tokens,
                      kind_case_matrices(space, problem), expected, 100 * space->tolerance);
}
