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
    size_t dim, packed, maps; /* D; numbers of packed queries, and of P */
    size_t most;              /* blocks of the model */
    void *query, *pairs;      /* pairs [B, G, u, 2, H, D]: keys k and k' */
    void *means;              /* of keys of blocks, [B, G, H, D] */
    void *logits, *plan;      /* R and P, [B, H, G, G] */
    void *statistic;          /* [B G, H, u] */
    int32_t *query_index, *key_index, *query_lengths, *key_lengths;
    int32_t *counts; /* of segment_means, [B G] */
    int32_t *blocks; /* with tokens, [B] */
    mgk_groups groups;
} arrays;

static size_t blocks_of(size_t tokens, size_t block)
{
    return (tokens + block - 1) / block;
}

/*
 * Scratch: packed values, outputs and gradients, and gradients of P, R and means; or an index and
 * the matrix of one block. Integers take the place of reals.
 */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t tokens = (size_t)size->tokens,
                 block = mgk_at_most_tokens(size, size->settings->block);
    const size_t groups = blocks_of(tokens, block), all = (size_t)samples * groups;
    const size_t rows = (size_t)samples * (size_t)size->heads, places = rows * groups * block;
    const size_t packed = places * (size_t)size->dim, maps = rows * groups * groups;
    const size_t means = rows * groups * (size_t)size->dim;
    const size_t pass = training ? 9 * packed + 2 * maps + means : 3 * packed;
    const size_t matrix = 2 * block * (groups + block);
    return (mgk_kind_memory){.kept = 3 * packed + means + 2 * maps + 4 * places + 3 * all +
                                     (size_t)samples,
                             .scratch = pass > matrix ? pass : matrix};
}

static arrays arrays_of(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    const size_t block = mgk_at_most_tokens(&layer->size, layer->size.settings->block),
                 tokens = (size_t)view->tokens;
    const size_t groups = blocks_of(tokens, block), samples = (size_t)view->samples;
    const size_t heads = (size_t)view->heads, places = samples * heads * groups * block;
    arrays out = {.dim = (size_t)view->dim,
                  .packed = places * (size_t)view->dim,
                  .maps = samples * heads * groups * groups,
                  .most =
                      blocks_of((size_t)layer->size.length, (size_t)layer->size.settings->block)};
    out.query = layer->kept;
    out.pairs = mgk_at(device, out.query, out.packed);
    out.means = mgk_at(device, out.pairs, 2 * out.packed);
    out.logits = mgk_at(device, out.means, samples * groups * heads * out.dim);
    out.plan = mgk_at(device, out.logits, out.maps);
    out.statistic = mgk_at(device, out.plan, out.maps);
    out.query_index = mgk_at(device, out.statistic, places);
    out.key_index = mgk_at(device, out.query_index, places);
    out.query_lengths = mgk_at(device, out.key_index, 2 * places);
    out.key_lengths = mgk_at(device, out.query_lengths, samples * groups);
    out.counts = mgk_at(device, out.key_lengths, samples * groups);
    out.blocks = mgk_at(device, out.counts, samples * groups);
    out.groups = (mgk_groups){.samples = samples,
                              .heads = heads,
                              .tokens = tokens,
                              .groups = groups,
                              .queries = block,
                              .keys = 2 * block,
                              .query = out.query_index,
                              .key = out.key_index,
                              .query_lengths = out.query_lengths,
                              .key_lengths = out.key_lengths};
    return out;
}

static mgk_packed packed_of(const arrays *a)
{
    return (mgk_packed){a->dim, a->groups.heads * a->dim, a->query, a->pairs, false};
}

static mgk_head_maps plan_maps(const arrays *a)
{
    const mgk_groups *g = &a->groups;
    return (mgk_head_maps){g->samples, g->heads, g->groups, g->groups, a->blocks, a->blocks, false};
}

/* Own keys of blocks as samples: every second token of the pairs. */
static mgk_head_tokens block_tokens(const arrays *a)
{
    const mgk_groups *g = &a->groups;
    return (mgk_head_tokens){g->samples * g->groups, g->queries,      g->heads, a->dim,
                             2 * g->heads * a->dim,  a->query_lengths};
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
    const mgk_groups *g = &a->groups;
    const size_t groups = g->samples * g->groups, places = groups * g->heads * g->queries;
    int32_t *lengths = NULL, *index = NULL;
    mgk_status status;
    CHECK(mgk_device_indices(device, view_lengths, g->samples, &lengths));
    CHECK(mgk_alloc(3 * places + 2 * groups + g->samples, sizeof *index, &index));
    int32_t *few = index + 3 * places;
    fill_index(g, lengths, index, index + places);
    fill_lengths(g, lengths, few, few + groups, few + 2 * groups);
    CHECK(device->op->upload(device, a->query_index, index, places * sizeof *index));
    CHECK(device->op->upload(device, a->key_index, index + places, 2 * places * sizeof *index));
    CHECK(device->op->upload(device, a->query_lengths, few, groups * sizeof *few));
    CHECK(device->op->upload(device, a->key_lengths, few + groups, groups * sizeof *few));
    CHECK(device->op->upload(device, a->blocks, few + 2 * groups, g->samples * sizeof *few));
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
    const size_t width = a->groups.heads * a->dim, blocks = a->groups.groups;
    return (mgk_batched_product){.samples = maps.samples,
                                 .heads = maps.heads,
                                 .m = blocks,
                                 .n = blocks,
                                 .k = a->dim,
                                 .alpha = 1,
                                 .a = {blocks * width, a->dim, width},
                                 .b = {0, a->dim * a->most, a->most},
                                 .c = mgk_map_strides(&maps)};
}

/* Means of blocks, R and P. */
static mgk_status fill_plan(mgk_device *device, const mgk_attention_layer *layer, const arrays *a)
{
    const mgk_dense_operations *dense = device->op->dense;
    const mgk_head_maps maps = plan_maps(a);
    const mgk_head_tokens tokens = block_tokens(a);
    const mgk_batched_product product = logits_product(a);
    TRY(dense->segment_means(device, &tokens, 1, a->pairs, a->means, a->counts));
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
    to_weight.m = a->dim;
    to_weight.k = a->groups.groups;
    to_weight.transpose_a = true;
    to_weight.beta = 1;
    to_weight.b = forth.c;
    to_weight.c = forth.b;
    to_means.n = a->dim;
    to_means.k = a->groups.groups;
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
    const mgk_groups *g = &a.groups;
    TRY(fill_groups(device, &a, view->lengths));
    TRY(mgk_groups_pack(device, g, false, a.dim, view->query, view->query_stride, a.query));
    TRY(mgk_groups_pack(device, g, true, a.dim, view->key, view->key_stride, a.pairs));
    TRY(fill_plan(device, layer, &a));
    return mix(device, g, a.dim, a.plan, a.pairs);
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_groups *g = &a.groups;
    const mgk_packed packed = packed_of(&a);
    const mgk_mixture mixture = mgk_dot_products(view);
    const size_t width = g->heads * a.dim;
    void *values = layer->scratch, *part = mgk_at(device, values, 2 * a.packed);
    const mgk_attention_view own = mgk_groups_view(g, &packed, values, a.dim);
    TRY(mgk_groups_pack(device, g, true, a.dim, view->value, view->value_stride, values));
    TRY(mix(device, g, a.dim, a.plan, values));
    TRY(device->op->mixture_attention(device, &own, &mixture, part, width, a.statistic));
    TRY(mgk_zero_rows(device, g->samples * g->tokens, width, output_stride, output));
    return mgk_groups_unpack(device, g, false, a.dim, part, output, output_stride);
}

/* x = what is packed, 0 for padding. */
static mgk_status unpack(mgk_device *device, const arrays *a, bool keys, const void *packed,
                         void *x, size_t x_stride)
{
    const mgk_groups *g = &a->groups;
    TRY(mgk_zero_rows(device, g->samples * g->tokens, g->heads * a->dim, x_stride, x));
    return mgk_groups_unpack(device, g, keys, a->dim, packed, x, x_stride);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_groups *g = &a.groups;
    const mgk_packed packed = packed_of(&a);
    const mgk_mixture mixture = mgk_dot_products(view);
    void *values = layer->scratch, *part = mgk_at(device, values, 2 * a.packed);
    void *dpart = mgk_at(device, part, a.packed), *dplan = mgk_at(device, dpart, 6 * a.packed);
    const mgk_attention_gradient inner = {.query = mgk_at(device, dpart, a.packed),
                                          .key = mgk_at(device, dpart, 2 * a.packed),
                                          .value = mgk_at(device, dpart, 4 * a.packed)};
    const mgk_attention_view own = mgk_groups_view(g, &packed, values, a.dim);
    TRY(mgk_groups_pack(device, g, true, a.dim, view->value, view->value_stride, values));
    TRY(mix(device, g, a.dim, a.plan, values));
    TRY(mgk_groups_pack(device, g, false, a.dim, output, output_stride, part));
    TRY(mgk_groups_pack(device, g, false, a.dim, doutput, output_stride, dpart));
    TRY(device->op->mixture_attention_backward(device, &own, &mixture, part, a.statistic, dpart,
                                               g->heads * a.dim, &inner));
    TRY(device->op->zero(device, dplan, a.maps * device->real_size));
    TRY(mix_backward(device, g, a.dim, a.plan, values, inner.value, dplan));
    TRY(mix_backward(device, g, a.dim, a.plan, a.pairs, inner.key, dplan));
    TRY(plan_backward(device, layer, &a, dplan, mgk_at(device, dplan, a.maps),
                      gradient->parameters[0], inner.key));
    TRY(unpack(device, &a, false, inner.query, gradient->view.query, view->query_stride));
    TRY(unpack(device, &a, true, inner.key, gradient->view.key, view->key_stride));
    return unpack(device, &a, true, inner.value, gradient->view.value, view->value_stride);
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
    const mgk_packed all = packed_of(&a);
    const mgk_groups g = mgk_groups_head(&a.groups, sample, head);
    const mgk_packed packed = mgk_packed_head(device, &a.groups, &all, sample, head);
    const mgk_mixture mixture = mgk_dot_products(view);
    const size_t map = (sample * a.groups.heads + head) * g.groups * g.groups;
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
    .methods = &methods,
    .parameters = parameters,
    .flops = flops,
};
