/* SPDX-License-Identifier: MIT */
/*
 * Sparse Sinkhorn attention (Tay et al. 2020). Tokens are cut into blocks of u; block b has a
 * second set of keys and values, which mix those of all blocks place by place:
 *     R_b = (mean key of block b) W,   P = Sinkhorn(exp R),   k'_bt = Σ_l P_bl k_lt, v' likewise.
 * A query of block b has one softmax over the keys of its block and these, whose weights are w and
 * w', so that its row has
 *     A_i,(l,t) = w'_it P_bl + (l = b) w_it
 * and sums to 1 only where rows of P do: the last step of Sinkhorn's makes those of columns 1.
 * Tokens beyond the last are 0 in the mixture, and a query of a block that they cut short sees as
 * many k' as its block has keys.
 */
#include <math.h>

#include "base/memory.h"
#include "kernels/attention/groups.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

enum { ITERATIONS = 8 }; /* of Sinkhorn's algorithm */

/* What a layer keeps. */
typedef struct arrays {
    mgk_group_arrays kept; /* its keys are pairs [B, G, u, 2, H, D]: k and k' */
    size_t maps;           /* numbers of P */
    size_t most;           /* blocks of the model */
    void *means;           /* of keys of blocks, [B, G, H, D] */
    void *logits, *plan;   /* R and P, [B, H, G, G] */
    int32_t *counts;       /* of segment_means, [B G] */
    int32_t *blocks;       /* with tokens, [B] */
} arrays;

static size_t blocks_of(size_t tokens, size_t block)
{
    return (tokens + block - 1) / block;
}

/* Blocks, and two sets of keys for each. */
static mgk_groups sizes_of(const mgk_attention_size *size, int samples)
{
    const size_t tokens = (size_t)size->tokens,
                 block = mgk_at_most_tokens(size, size->settings->block);
    return (mgk_groups){.samples = (size_t)samples,
                        .heads = (size_t)size->heads,
                        .tokens = tokens,
                        .groups = blocks_of(tokens, block),
                        .queries = block,
                        .keys = 2 * block};
}

/*
 * Scratch: packed values, outputs and gradients, and gradients of P, R and means; or an index and
 * the matrix of one block. Integers take the place of reals.
 */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const mgk_groups g = sizes_of(size, samples);
    const size_t dim = (size_t)size->dim, all = g.samples * g.groups;
    const size_t packed = mgk_groups_queries(&g) * dim, maps = all * g.heads * g.groups;
    const size_t means = all * g.heads * dim;
    const size_t pass = training ? 9 * packed + 2 * maps + means : 3 * packed;
    const size_t matrix = 2 * g.queries * (g.groups + g.queries);
    return (mgk_kind_memory){.kept = mgk_group_arrays_reals(&g, dim) + means + 2 * maps + all +
                                     g.samples,
                             .scratch = pass > matrix ? pass : matrix};
}

static arrays arrays_of(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    const mgk_groups g = sizes_of(&layer->size, view->samples);
    const size_t dim = (size_t)view->dim, all = g.samples * g.groups;
    arrays out = {.kept = mgk_group_arrays_at(device, &g, dim, layer->kept),
                  .maps = all * g.heads * g.groups,
                  .most =
                      blocks_of((size_t)layer->size.length, (size_t)layer->size.settings->block)};
    out.means = mgk_at(device, layer->kept, mgk_group_arrays_reals(&g, dim));
    out.logits = mgk_at(device, out.means, all * g.heads * dim);
    out.plan = mgk_at(device, out.logits, out.maps);
    out.counts = mgk_at(device, out.plan, out.maps);
    out.blocks = mgk_at(device, out.counts, all);
    return out;
}

static mgk_head_maps plan_maps(const arrays *a)
{
    const mgk_groups *g = &a->kept.groups;
    return (mgk_head_maps){g->samples, g->heads, g->groups, g->groups, a->blocks, a->blocks, false};
}

/* Own keys of blocks as samples: every second token of the pairs. */
static mgk_head_tokens block_tokens(const arrays *a)
{
    const mgk_groups *g = &a->kept.groups;
    return (mgk_head_tokens){
        g->samples * g->groups,      g->queries, g->heads, a->kept.dim, 2 * g->heads * a->kept.dim,
        a->kept.groups.query_lengths};
}

/* The index of samples with so many tokens; places of mixed keys are left empty. */
static void fill_index(const mgk_groups *g, const int32_t *lengths, int32_t *query, int32_t *key)
{
    const size_t places = g->groups * g->queries;
    for (size_t i = 0; i < g->samples * g->heads * places; i++) {
        const size_t t = i % places;
        query[i] = t < (size_t)lengths[i / places / g->heads] ? (int32_t)t : -1;
        key[2 * i] = query[i];
        key[2 * i + 1] = -1;
    }
}

static void fill_lengths(const mgk_groups *g, const int32_t *lengths, int32_t *queries,
                         int32_t *keys, int32_t *blocks)
{
    for (size_t i = 0; i < g->samples * g->groups; i++) {
        const size_t n = (size_t)lengths[i / g->groups], first = i % g->groups * g->queries;
        const size_t left = n > first ? n - first : 0;
        queries[i] = (int32_t)(left < g->queries ? left : g->queries);
        keys[i] = 2 * queries[i];
        blocks[i / g->groups] = (int32_t)blocks_of(n, g->queries);
    }
}

static mgk_status fill_groups(mgk_device *device, const arrays *a, const int32_t *view_lengths)
{
    const mgk_groups *g = &a->kept.groups;
    const size_t count = mgk_group_index_count(g);
    int32_t *lengths = NULL, *index = NULL;
    mgk_status status;
    CHECK(mgk_device_indices(device, view_lengths, g->samples, &lengths));
    CHECK(mgk_alloc(count + g->samples, sizeof *index, &index));
    const mgk_group_index host = mgk_group_index_at(g, index);
    fill_index(g, lengths, host.query, host.key);
    fill_lengths(g, lengths, host.query_lengths, host.key_lengths, index + count);
    CHECK(device->op->upload(device, a->kept.index, index, count * sizeof *index));
    CHECK(device->op->upload(device, a->blocks, index + count, g->samples * sizeof *index));
out:
    mgk_free(lengths);
    mgk_free(index);
    return status;
}

/* P times what stands at one place of all blocks; pairs have heads of `dim` numbers. */
static mgk_batched_product place_product(const mgk_groups *g, size_t dim)
{
    const size_t width = g->heads * dim, blocks = g->groups;
    const mgk_head_strides place = {blocks * g->keys * width, dim, g->keys * width};
    return (mgk_batched_product){.samples = g->samples,
                                 .heads = g->heads,
                                 .m = blocks,
                                 .n = dim,
                                 .k = blocks,
                                 .alpha = 1,
                                 .a = {g->heads * blocks * blocks, blocks * blocks, blocks},
                                 .b = place,
                                 .c = place};
}

/* Fills the second of each of the pairs. */
static mgk_status mix(mgk_device *device, const mgk_groups *g, size_t dim, const void *plan,
                      void *pairs)
{
    const mgk_batched_product product = place_product(g, dim);
    const size_t width = g->heads * dim;
    for (size_t t = 0; t < g->queries; t++)
        TRY(device->op->dense->batched_multiply(device, &product, plan,
                                                mgk_at(device, pairs, 2 * t * width),
                                                mgk_at(device, pairs, (2 * t + 1) * width)));
    return STATUS_OK;
}

/* The gradient of the first of each of the pairs += that through the second, and that of P +=. */
static mgk_status mix_backward(mgk_device *device, const mgk_groups *g, size_t dim,
                               const void *plan, const void *pairs, void *dpairs, void *dplan)
{
    mgk_batched_product to_tokens = place_product(g, dim), to_plan = to_tokens;
    const size_t width = g->heads * dim;
    to_tokens.transpose_a = true;
    to_plan.n = g->groups;
    to_plan.k = dim;
    to_plan.transpose_b = true;
    to_plan.a = to_tokens.b;
    to_plan.c = to_tokens.a;
    to_tokens.beta = to_plan.beta = 1;
    for (size_t t = 0; t < g->queries; t++) {
        void *dmixed = mgk_at(device, dpairs, (2 * t + 1) * width);
        TRY(device->op->dense->batched_multiply(device, &to_plan, dmixed,
                                                mgk_at(device, pairs, 2 * t * width), dplan));
        TRY(device->op->dense->batched_multiply(device, &to_tokens, plan, dmixed,
                                                mgk_at(device, dpairs, 2 * t * width)));
    }
    return STATUS_OK;
}

/* R = means W; W [H, D, blocks of the model]. */
static mgk_batched_product logits_product(const arrays *a)
{
    const mgk_head_maps maps = plan_maps(a);
    const size_t width = a->kept.groups.heads * a->kept.dim, blocks = a->kept.groups.groups;
    return (mgk_batched_product){.samples = maps.samples,
                                 .heads = maps.heads,
                                 .m = blocks,
                                 .n = blocks,
                                 .k = a->kept.dim,
                                 .alpha = 1,
                                 .a = {blocks * width, a->kept.dim, width},
                                 .b = {0, a->kept.dim * a->most, a->most},
                                 .c = mgk_map_strides(&maps)};
}

/* Means of blocks, R and P. */
static mgk_status fill_plan(mgk_device *device, const mgk_attention_layer *layer, const arrays *a)
{
    const mgk_dense_operations *dense = device->op->dense;
    const mgk_head_maps maps = plan_maps(a);
    const mgk_head_tokens tokens = block_tokens(a);
    const mgk_batched_product product = logits_product(a);
    TRY(dense->segment_means(device, &tokens, 1, a->kept.key, a->means, a->counts));
    TRY(dense->batched_multiply(device, &product, a->means, layer->parameters[0], a->logits));
    TRY(dense->add_scaled(device, a->maps, 1, a->logits, 0, a->plan));
    return dense->sinkhorn(device, &maps, ITERATIONS, a->plan);
}

/* The gradients of W and of keys from that of P; `room` is memory for R and means. */
static mgk_status plan_backward(mgk_device *device, const mgk_attention_layer *layer,
                                const arrays *a, const void *dplan, void *room, void *dweight,
                                void *dpairs)
{
    const mgk_dense_operations *dense = device->op->dense;
    const mgk_head_maps maps = plan_maps(a);
    const mgk_head_tokens tokens = block_tokens(a);
    const mgk_batched_product forth = logits_product(a);
    void *dlogits = room, *dmeans = mgk_at(device, room, a->maps);
    mgk_batched_product to_weight = forth, to_means = forth;
    to_weight.samples = 1; /* one after the other, as all add to the same numbers */
    to_weight.m = a->kept.dim;
    to_weight.k = a->kept.groups.groups;
    to_weight.transpose_a = true;
    to_weight.beta = 1;
    to_weight.b = forth.c;
    to_weight.c = forth.b;
    to_means.n = a->kept.dim;
    to_means.k = a->kept.groups.groups;
    to_means.transpose_b = true;
    to_means.a = forth.c;
    to_means.c = forth.a;
    TRY(dense->sinkhorn_backward(device, &maps, ITERATIONS, a->logits, dplan, dlogits));
    for (size_t b = 0; b < maps.samples; b++)
        TRY(dense->batched_multiply(device, &to_weight,
                                    mgk_at(device, a->means, b * forth.a.sample),
                                    mgk_at(device, dlogits, b * forth.c.sample), dweight));
    TRY(dense->batched_multiply(device, &to_means, dlogits, layer->parameters[0], dmeans));
    return dense->segment_means_backward(device, &tokens, 1, dmeans, dpairs);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_groups *g = &a.kept.groups;
    TRY(fill_groups(device, &a, view->lengths));
    TRY(mgk_groups_pack(device, g, false, a.kept.dim, view->query, view->query_stride,
                        a.kept.query));
    TRY(mgk_groups_pack(device, g, true, a.kept.dim, view->key, view->key_stride, a.kept.key));
    TRY(fill_plan(device, layer, &a));
    return mix(device, g, a.kept.dim, a.plan, a.kept.key);
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_groups *g = &a.kept.groups;
    const size_t dim = a.kept.dim;
    const mgk_mixture mixture = mgk_dot_products(view);
    void *values = layer->scratch, *part = mgk_at(device, values, 2 * a.kept.packed);
    TRY(mgk_groups_pack(device, g, true, dim, view->value, view->value_stride, values));
    TRY(mix(device, g, dim, a.plan, values));
    TRY(mgk_groups_attend(device, &a.kept, &mixture, values, part));
    return mgk_groups_spread(device, g, false, dim, part, output, output_stride);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_groups *g = &a.kept.groups;
    const size_t dim = a.kept.dim, packed = a.kept.packed;
    const mgk_mixture mixture = mgk_dot_products(view);
    const mgk_attention_gradient *out = &gradient->view;
    mgk_attention_gradient inner = {0};
    void *values = layer->scratch, *room = mgk_at(device, values, 2 * packed);
    void *dplan = mgk_at(device, room, 7 * packed);
    TRY(mgk_groups_pack(device, g, true, dim, view->value, view->value_stride, values));
    TRY(mix(device, g, dim, a.plan, values));
    TRY(mgk_groups_attend_backward(device, &a.kept, &mixture, values, output, doutput,
                                   output_stride, room, &inner));
    TRY(device->op->zero(device, dplan, a.maps * device->real_size));
    TRY(mix_backward(device, g, dim, a.plan, values, inner.value, dplan));
    TRY(mix_backward(device, g, dim, a.plan, a.kept.key, inner.key, dplan));
    TRY(plan_backward(device, layer, &a, dplan, mgk_at(device, dplan, a.maps),
                      gradient->parameters[0], inner.key));
    TRY(mgk_groups_spread(device, g, false, dim, inner.query, out->query, view->query_stride));
    TRY(mgk_groups_spread(device, g, true, dim, inner.key, out->key, view->key_stride));
    return mgk_groups_spread(device, g, true, dim, inner.value, out->value, view->value_stride);
}

/* Key t of the mixed keys of a block stands for key t of every block, to the share that P says. */
static mgk_status add_mixed(mgk_device *device, const mgk_groups *g, const int32_t *key,
                            const void *plan, size_t group, const void *one, void *out)
{
    mgk_pairs pairs = {g->tokens, g->queries, g->keys, g->query + group * g->queries, key, 0};
    for (size_t other = 0; other < g->groups; other++, pairs.key += g->keys)
        TRY(device->op->dense->add_pairs(
            device, &pairs, mgk_at(device, plan, group * g->groups + other), one, out));
    return STATUS_OK;
}

/* The index of keys with the mixed keys in the places of a block's own. */
static mgk_status exchange_keys(mgk_device *device, const mgk_groups *g, int32_t *out)
{
    const size_t places = g->groups * g->keys;
    int32_t *key;
    TRY(mgk_device_indices(device, g->key, places, &key));
    for (size_t i = 0; i < places; i += 2) {
        key[i + 1] = key[i];
        key[i] = -1;
    }
    const mgk_status status = device->op->upload(device, out, key, places * sizeof *key);
    mgk_free(key);
    return status;
}

static mgk_status add_head(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, size_t sample, size_t head, void *out)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_packed all = mgk_group_arrays_packed(&a.kept);
    const mgk_groups g = mgk_groups_head(&a.kept.groups, sample, head);
    const mgk_packed packed = mgk_packed_head(device, &a.kept.groups, &all, sample, head);
    const mgk_mixture mixture = mgk_dot_products(view);
    const size_t map = (sample * a.kept.groups.heads + head) * g.groups * g.groups;
    int32_t *mixed = layer->scratch;
    void *one = mgk_at(device, mixed, g.groups * g.keys);
    mgk_pairs own = {g.tokens, g.queries, g.keys, g.query, g.key, 0};
    TRY(exchange_keys(device, &g, mixed));
    for (size_t group = 0; group < g.groups; group++) {
        TRY(mgk_group_matrix(device, &g, &packed, &mixture, group, one));
        TRY(device->op->dense->add_pairs(device, &own, NULL, one, out));
        TRY(add_mixed(device, &g, mixed, mgk_at(device, a.plan, map), group, one, out));
        own.query += g.queries;
        own.key += g.keys;
    }
    return STATUS_OK;
}

/* Rows are not normalised after P: their scores are A as it is. */
static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    (void)content;
    return mgk_matrix_by_heads(device, view, layer, add_head, sample, heads, count, out);
}

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const size_t dim = (size_t)size->dim, length = (size_t)size->length;
    out[0] = (mgk_kind_parameter){
        .name = "sort",
        .axes = 3,
        .shape = {(size_t)size->heads, dim, blocks_of(length, (size_t)size->settings->block)},
        .initial = MGK_INITIAL_NORMAL,
        .value = 1 / sqrt(size->dim)};
    return 1;
}

/* Two sets of keys of a block; P, and mixtures of keys and values by it. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double block = (double)mgk_at_most_tokens(size, size->settings->block), dim = size->dim,
                 tokens = size->tokens;
    const double blocks = ceil(tokens / block);
    (void)kind;
    return size->heads * (tokens * (2 * block * (4 * dim + 5) + 2 * dim) +
                          blocks * blocks * (4 * block * dim + 2 * dim + 8 * ITERATIONS));
}

static const mgk_attention_methods methods = {.primitives = "assignment, tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_sinkhorn = {
    .name = "sinkhorn",
    .score = "w'_it P_bl + w_it of i's block b, P = Sinkhorn(exp(mean key W))",
    .rank_bound = "N",
    .defaults = {.block = 64},
    .not_causal = true,
    .unnormalized = true,
    .plain_sums = true,
    .methods = &methods,
    .parameters = parameters,
    .flops = flops,
};
