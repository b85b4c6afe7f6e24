/* SPDX-License-Identifier: MIT */
/*
 * Informer (Zhou et al. 2021): of each head the u queries whose scores are furthest from uniform,
 *     max_j q_i·k_j − mean_j q_i·k_j,
 * have the rows of softmax attention; the rows of all others are uniform, so that A has rank u + 1
 * at most. All keys are measured, not a sample of them. The choice of queries has no gradient.
 */
#include <math.h>

#include "base/memory.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

/* What a layer keeps. */
typedef struct arrays {
    mgk_head_tokens top;    /* [B, u, H, D] */
    size_t few;             /* numbers of it */
    void *queries, *output; /* of the chosen queries */
    void *statistic;        /* [B, H, u] */
    void *mean;             /* [B, 1, H, D] */
    int32_t *index;         /* [B, H, u] */
    int32_t *lengths, *one; /* u, and 1 where there are tokens, [B] */
} arrays;

/*
 * Scratch: the measures or statistics of all queries, rows of chosen ones, and gradients; or rows
 * of a matrix. Integers take the place of reals.
 */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t u = mgk_at_most_tokens(size, size->settings->landmarks),
                 heads = (size_t)size->heads;
    const size_t rows = (size_t)samples * heads, tokens = (size_t)size->tokens;
    const size_t dim = (size_t)size->dim, few = rows * u * dim;
    const size_t own = rows * tokens + 2 * few + (training ? rows * tokens * dim : 0);
    const size_t maps = (heads + 1) * u * tokens;
    return (mgk_kind_memory){.kept = 2 * few + rows * (2 * u + dim) + 2 * (size_t)samples,
                             .scratch = own > maps ? own : maps};
}

static arrays arrays_of(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    const size_t samples = (size_t)view->samples, heads = (size_t)view->heads,
                 dim = (size_t)view->dim,
                 u = mgk_at_most_tokens(&layer->size, layer->size.settings->landmarks);
    arrays out = {.top = {samples, u, heads, dim, heads * dim, NULL},
                  .few = samples * heads * u * dim};
    out.queries = layer->kept;
    out.output = mgk_at(device, out.queries, out.few);
    out.statistic = mgk_at(device, out.output, out.few);
    out.mean = mgk_at(device, out.statistic, samples * heads * u);
    out.index = mgk_at(device, out.mean, samples * heads * dim);
    out.lengths = mgk_at(device, out.index, samples * heads * u);
    out.one = mgk_at(device, out.lengths, samples);
    return out;
}

/* Chosen queries see keys. */
static mgk_attention_view top_view(const mgk_attention_view *view, const arrays *a)
{
    return mgk_other_queries(view, a->top.tokens, a->lengths, a->queries);
}

/* Attention without a dot product, of which all rows are uniform. */
static mgk_attention_view uniform_view(const mgk_attention_view *view)
{
    mgk_attention_view out = *view;
    out.value_dim = view->dim;
    out.dim = 0;
    out.query = out.key = NULL;
    return out;
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const mgk_dense_operations *dense = device->op->dense;
    const arrays a = arrays_of(device, view, layer);
    const mgk_head_tokens queries = mgk_view_tokens(view, view->query_stride);
    const mgk_head_tokens keys = mgk_view_tokens(view, view->key_stride);
    const size_t u = a.top.tokens;
    const int32_t length = (int32_t)u;
    TRY(dense->query_sparsity(device, &queries, &keys, view->query, view->key, layer->scratch));
    TRY(dense->top_rows(device, queries.samples, queries.heads, queries.tokens, view->lengths, u,
                        layer->scratch, a.index));
    for (int b = 0; b < view->samples; b++)
        TRY(device->op->upload(device, a.lengths + b, &length, sizeof(length)));
    return dense->gather_tokens(device, &queries, u, a.index, view->query, a.queries, a.top.stride);
}

/* Every valid token of y becomes the mean of x; statistics [B, H, N] are memory. */
static mgk_status spread_mean(mgk_device *device, const mgk_attention_view *view, const arrays *a,
                              const void *x, size_t x_stride, void *statistics, void *y,
                              size_t y_stride)
{
    const mgk_head_tokens tokens = mgk_view_tokens(view, x_stride);
    const mgk_mixture mixture = {.scale = {1}};
    mgk_attention_view one = uniform_view(view); /* all see the mean alone */
    TRY(device->op->dense->segment_means(device, &tokens, 1, x, a->mean, a->one));
    one.key_tokens = 1;
    one.key_lengths = a->one;
    one.value = a->mean;
    one.value_stride = a->top.stride;
    return device->op->mixture_attention(device, &one, &mixture, y, y_stride, statistics);
}

/* The tokens of x that `index` names become `rows`, without gaps; `room` is memory like them. They
 * become 0 first: a difference of rows would round small numbers to those of the tokens. */
static mgk_status replace_rows(mgk_device *device, const mgk_head_tokens *tokens, size_t count,
                               const int32_t *index, const void *rows, void *room, void *x)
{
    const mgk_dense_operations *dense = device->op->dense;
    const size_t width = tokens->heads * tokens->dim;
    TRY(dense->gather_tokens(device, tokens, count, index, x, room, width));
    TRY(dense->add_scaled(device, tokens->samples * count * width, 0, room, -1, room));
    TRY(dense->scatter_add_tokens(device, tokens, count, index, room, width, x));
    return dense->scatter_add_tokens(device, tokens, count, index, rows, width, x);
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_attention_view top = top_view(view, &a);
    const mgk_mixture mixture = mgk_dot_products(view);
    const mgk_head_tokens outputs = mgk_view_tokens(view, output_stride);
    void *room = mgk_at(device, layer->scratch, outputs.samples * outputs.heads * outputs.tokens);
    TRY(spread_mean(device, view, &a, view->value, view->value_stride, layer->scratch, output,
                    output_stride));
    TRY(device->op->mixture_attention(device, &top, &mixture, a.output, a.top.stride, a.statistic));
    return replace_rows(device, &outputs, a.top.tokens, a.index, a.output, room, output);
}

/*
 * Of values through uniform rows: dv_j += the mean over i of dy_i, which counts as 0 for chosen
 * queries. dtop are their dy, and are overwritten; `room` [B, N, H, D] and statistics [B, H, N] are
 * memory.
 */
static mgk_status uniform_backward(mgk_device *device, const mgk_attention_view *view,
                                   const arrays *a, const void *doutput, size_t output_stride,
                                   void *dtop, void *room, void *statistics, void *dvalue)
{
    const mgk_dense_operations *dense = device->op->dense;
    const mgk_head_tokens outputs = mgk_view_tokens(view, output_stride);
    const mgk_head_tokens values = mgk_view_tokens(view, view->value_stride);
    const mgk_head_tokens packed = mgk_view_tokens(view, a->top.stride);
    /* Each token is copied as the mean of itself. */
    TRY(dense->segment_means(device, &outputs, outputs.tokens, doutput, room, a->one));
    TRY(dense->add_scaled(device, a->few, 0, dtop, -1, dtop));
    TRY(dense->scatter_add_tokens(device, &packed, a->top.tokens, a->index, dtop, packed.stride,
                                  room));
    TRY(spread_mean(device, view, a, room, packed.stride, statistics, room, packed.stride));
    return dense->segment_means_backward(device, &values, values.tokens, room, dvalue);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const mgk_dense_operations *dense = device->op->dense;
    const arrays a = arrays_of(device, view, layer);
    const mgk_attention_view top = top_view(view, &a);
    const mgk_mixture mixture = mgk_dot_products(view);
    const mgk_head_tokens queries = mgk_view_tokens(view, view->query_stride);
    const mgk_head_tokens outputs = mgk_view_tokens(view, output_stride);
    const size_t u = a.top.tokens, rows = queries.samples * queries.tokens;
    void *dtop = mgk_at(device, layer->scratch, rows * queries.heads);
    void *dqueries = mgk_at(device, dtop, a.few), *room = mgk_at(device, dqueries, a.few);
    const mgk_attention_gradient inner = {
        .query = dqueries, .key = gradient->view.key, .value = gradient->view.value};
    (void)output;
    TRY(dense->gather_tokens(device, &outputs, u, a.index, doutput, dtop, a.top.stride));
    TRY(device->op->mixture_attention_backward(device, &top, &mixture, a.output, a.statistic, dtop,
                                               a.top.stride, &inner));
    TRY(mgk_zero_rows(device, rows, a.top.stride, queries.stride, gradient->view.query));
    TRY(dense->scatter_add_tokens(device, &queries, u, a.index, dqueries, a.top.stride,
                                  gradient->view.query));
    return uniform_backward(device, view, &a, doutput, output_stride, dtop, room, layer->scratch,
                            gradient->view.value);
}

static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_attention_view top = top_view(view, &a), uniform = uniform_view(view);
    const mgk_mixture mixture = mgk_dot_products(view);
    const size_t n = (size_t)view->tokens, u = a.top.tokens;
    const mgk_head_tokens tokens = {1, n, 1, n, n, NULL};
    void *rows = layer->scratch, *room = mgk_at(device, rows, (size_t)count * u * n);
    int32_t *chosen;
    TRY(device->op->mixture_matrix(device, &uniform, &mixture, content, sample, 1, heads, count,
                                   out));
    TRY(device->op->mixture_matrix(device, &top, &mixture, content, sample, 1, heads, count, rows));
    TRY(mgk_device_indices(device, heads, (size_t)count, &chosen));
    mgk_status status = STATUS_OK;
    for (size_t c = 0; status == STATUS_OK && c < (size_t)count; c++)
        status = replace_rows(
            device, &tokens, u, a.index + ((size_t)sample * a.top.heads + (size_t)chosen[c]) * u,
            mgk_at(device, rows, c * u * n), room, mgk_at(device, out, c * n * n));
    mgk_free(chosen);
    return status;
}

/* The measure of all queries, attention of u, and means. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double u = (double)mgk_at_most_tokens(size, size->settings->landmarks),
                 tokens = size->tokens, dim = size->dim;
    (void)kind;
    return size->heads * tokens * (tokens * (2 * dim + 2) + u * (4 * dim + 5) + 2 * dim);
}

static const mgk_attention_methods methods = {.primitives = "assignment, tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_informer = {
    .name = "informer",
    .score = "exp(q_i.k_j / sqrt(D)) for landmarks queries, 1 for others",
    .rank_bound = "landmarks + 1",
    .defaults = {.landmarks = 64},
    .not_causal = true,
    .plain_sums = true,
    .methods = &methods,
    .flops = flops,
};
