/* SPDX-License-Identifier: MIT */
#include "kernels/attention.h"

#include <string.h>

#include "base/memory.h"
#include "kernels/attention/kinds.h"

static const mgk_attention_kind *const registry[] = {
    &mgk_attention_softmax,
    &mgk_attention_mgk,
    &mgk_attention_smgk,
    &mgk_attention_linear,
    &mgk_attention_mlk,
    &mgk_attention_smlk,
    &mgk_attention_band,
    &mgk_attention_dilated,
    &mgk_attention_strided,
    &mgk_attention_fixed,
    &mgk_attention_random,
    &mgk_attention_block,
    &mgk_attention_chunks,
    &mgk_attention_ring,
    &mgk_attention_global,
    &mgk_attention_bigbird,
    &mgk_attention_bigbird_published,
    &mgk_attention_multi_scale,
    &mgk_attention_longformer,
    &mgk_attention_lowrank_band,
    &mgk_attention_etc,
    &mgk_attention_star,
    &mgk_attention_bpt,
    &mgk_attention_performer,
    &mgk_attention_rfa,
    &mgk_attention_rfa_gate,
    &mgk_attention_cosformer,
    &mgk_attention_dpfp,
    &mgk_attention_delta,
    &mgk_attention_average,
    &mgk_attention_hard_coded,
    &mgk_attention_synthesizer_random,
    &mgk_attention_gaussian,
    &mgk_attention_adaptive_span,
    &mgk_attention_localness,
    &mgk_attention_camtl,
    &mgk_attention_linformer,
    &mgk_attention_memory_compressed,
    &mgk_attention_set,
    &mgk_attention_luna,
    &mgk_attention_poolingformer,
    &mgk_attention_linformer_separate,
    &mgk_attention_linformer_heads,
    &mgk_attention_nystrom,
    &mgk_attention_convolved,
    &mgk_attention_csalr,
    &mgk_attention_informer,
    &mgk_attention_clustered,
    &mgk_attention_improved_clustered,
    &mgk_attention_routing,
    &mgk_attention_reformer,
    &mgk_attention_sinkhorn,
    &mgk_attention_sac,
    &mgk_attention_talking_heads,
    &mgk_attention_realformer,
    &mgk_attention_lazyformer,
    &mgk_attention_synthesizer_factored,
    &mgk_attention_synthesizer_dense,
    &mgk_attention_multi_query,
    &mgk_attention_predictive,
    &mgk_attention_collaborative,
};

const mgk_attention_kind *mgk_attention_row(size_t index)
{
    return index < sizeof(registry) / sizeof(registry[0]) ? registry[index] : NULL;
}

const mgk_attention_kind *mgk_attention_find(const char *name)
{
    const mgk_attention_kind *kind;
    for (size_t i = 0; (kind = mgk_attention_row(i)); i++)
        if (strcmp(kind->name, name) == 0)
            return kind;
    return NULL;
}

/* A kind and sizes, for mgk_pattern_build. */
typedef struct pattern_context {
    const mgk_attention_kind *kind;
    const mgk_attention_size *size;
} pattern_context;

static void add_row(const void *context, int head, int query, mgk_pattern_row *row)
{
    const pattern_context *c = context;
    c->kind->pattern(c->size, head, query, row);
}

mgk_pattern_shape mgk_attention_pattern_shape(const mgk_attention_kind *kind,
                                              const mgk_attention_size *size)
{
    return (mgk_pattern_shape){.heads = kind->pattern_of_head ? size->heads : 1,
                               .tokens = size->tokens,
                               .key_tokens = kind->pattern_keys ? kind->pattern_keys(size) : 0,
                               .causal = size->causal && !kind->pattern_keys};
}

mgk_status mgk_attention_pattern(const mgk_attention_kind *kind, const mgk_attention_size *size,
                                 mgk_pattern *out)
{
    const mgk_pattern_shape shape = mgk_attention_pattern_shape(kind, size);
    mgk_attention_size planned = *size;
    const pattern_context context = {kind, &planned};
    int32_t *plan = NULL;
    mgk_status status;
    *out = (mgk_pattern){0};
    if (kind->plan) {
        CHECK(mgk_alloc(kind->plan_count(size), sizeof *plan, &plan));
        CHECK(kind->plan(size, plan));
        planned.plan = plan;
    }
    status = mgk_pattern_build(&shape, add_row, &context, out);
out:
    mgk_free(plan);
    return status;
}

mgk_status mgk_attention_check_matrix(const mgk_attention_kind *kind)
{
    if (kind->methods->matrix)
        return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED, "attention \"%s\": no N x N matrix exists: %s", kind->name,
                    kind->no_matrix);
}

bool mgk_attention_runs_on(const mgk_attention_kind *kind, const mgk_device *device)
{
    return kind->on_cuda || device->all_parts;
}

double mgk_attention_pairs(const mgk_attention_size *size)
{
    double tokens = size->tokens, far = tokens - size->terms.window;
    double outside = size->terms.window > 0 && far > 0 ? far * (far + 1) / 2 : 0; /* of one side */
    return size->causal ? tokens * (tokens + 1) / 2 - outside : tokens * tokens - 2 * outside;
}
