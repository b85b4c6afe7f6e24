/* SPDX-License-Identifier: MIT */
/* The inputs of a count as sources of matrices. */
#include <string.h>

#include "rank/rank.h"

/* Whether the method computes singular values of whole matrices: others may use thin factors. */
static bool needs_entries(const mgk_rank_options *o)
{
    return o->method && (strcmp(o->method, "svd") == 0 || strcmp(o->method, "bisection") == 0);
}

mgk_source_options mgk_rank_source_options(const mgk_rank_options *o)
{
    return (mgk_source_options){.job = &o->job,
                                .inputs = o->inputs,
                                .input_count = o->input_count,
                                .arrays = o->arrays,
                                .array_count = o->array_count,
                                .dataset = o->dataset,
                                .axes = o->axes,
                                .mask = o->mask,
                                .model = o->model,
                                .input = &o->input,
                                .layers = o->layers,
                                .layer_count = o->layer_count,
                                .heads = o->heads,
                                .head_count = o->head_count,
                                .double_precision = o->double_precision,
                                .allow_half = o->allow_half,
                                .matrices = o->matrices,
                                .factors = !needs_entries(o)};
}
