/* SPDX-License-Identifier: MIT */
/*
 * Poolingformer (Zhang et al. 2021): attention within a window, then attention of its outputs Y to
 * means of c of them, within a window of as many means,
 *     Y = softmax(Q Kᵀ / √D) V where |i − j| <= w,
 *     Z = softmax(Y W_q (R W_k)ᵀ / √D) (R W_v) where |⌊i / c⌋ − s| <= w,
 * with the mean R_s of the rows of Y from s c on. The output is Y + Z, and W_q, W_k and W_v are
 * maps over all heads. In causal models a query sees the means that end with its own token or
 * before.
 */
#include <math.h>

#include "base/memory.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

enum { QUERY_WEIGHT, KEY_WEIGHT, VALUE_WEIGHT, PARAMETERS };

/* Numbers of the arrays of one layer. */
typedef struct sizes {
    size_t samples, heads, tokens;
    size_t width;  /* H D */
    size_t pool;   /* c */
    size_t means;  /* S = ⌈N / c⌉ */
    size_t all;    /* [B, N, H, D] */
    size_t pooled; /* [B, S, H, D] */
    size_t rows;   /* [B, H, N] */
} sizes;

static sizes sizes_of(const mgk_attention_size *size, int samples)
{
    sizes s = {.samples = (size_t)samples,
               .heads = (size_t)size->heads,
               .tokens = (size_t)size->tokens,
               .width = (size_t)(size->heads * size->dim),
               .pool = (size_t)size->settings->kernel};
    s.means = (s.tokens + s.pool - 1) / s.pool;
    s.all = s.samples * s.tokens * s.width;
    s.pooled = s.samples * s.means * s.width;
    s.rows = s.samples * s.heads * s.tokens;
    return s;
}

/* What a layer keeps, without gaps. Integers take the place of reals. */
typedef struct arrays {
    void *y, *z, *query;                /* [B, N, H, D] */
    void *mean, *key, *value;           /* [B, S, H, D] */
    void *statistic, *pooled_statistic; /* [B, H, N] */
    int32_t *group;                     /* [B, H, N]: ⌊i / c⌋ */
    int32_t *counts;                    /* [B, H, S]: tokens of a mean */
    int32_t *lengths;                   /* [B]: means of a sample */
} arrays;

static size_t vectors(const sizes *s)
{
    return 3 * s->all + 3 * s->pooled;
}

/* Scratch has the gradients of the vectors. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const sizes s = sizes_of(size, samples);
    const size_t counts = s.samples * s.heads * s.means;
    return (mgk_kind_memory){.kept = vectors(&s) + 3 * s.rows + counts + s.samples,
                             .scratch = training ? vectors(&s) : 0};
}

static arrays arrays_at(const mgk_device *device, const sizes *s, void *memory)
{
    arrays a = {.y = memory};
    a.z = mgk_at(device, a.y, s->all);
    a.query = mgk_at(device, a.z, s->all);
    a.mean = mgk_at(device, a.query, s->all);
    a.key = mgk_at(device, a.mean, s->pooled);
    a.value = mgk_at(device, a.key, s->pooled);
    a.statistic = mgk_at(device, a.value, s->pooled);
    a.pooled_statistic = mgk_at(device, a.statistic, s->rows);
    a.group = mgk_at(device, a.pooled_statistic, s->rows);
    a.counts = mgk_at(device, a.group, s->rows);
    a.lengths = mgk_at(device, a.counts, s->samples * s->heads * s->means);
    return a;
}

/* Means, as keys. */
static void pattern(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int pool = size->settings->kernel, window = size->settings->window, own = query / pool;
    const int end = own + window + 1, whole = (query + 1) / pool;
    (void)head;
    mgk_pattern_add(row, own - window, size->causal && whole < end ? whole : end);
}

static mgk_mixture window_scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_mixture mixture = mgk_dot_products(view);
    mixture.terms.window = layer->size.settings->window + 1;
    return mixture;
}

/* Queries of Y and means. */
static mgk_attention_view pooled_view(const mgk_attention_view *view, const sizes *s,
                                      const arrays *a)
{
    mgk_attention_view out = *view;
    out.causal = false; /* the pattern is */
    out.key_tokens = (int)s->means;
    out.key_lengths = a->lengths;
    out.query = a->query;
    out.key = a->key;
    out.value = a->value;
    out.query_stride = out.key_stride = out.value_stride = s->width;
    return out;
}

/* Writes which mean a token belongs to, and how many a mean has, of sample b. */
static mgk_status group_sample(mgk_device *device, const mgk_attention_view *view, const sizes *s,
                               const arrays *a, size_t b, int32_t *room)
{
    int32_t n, *group = room, *counts = room + s->tokens;
    TRY(device->op->download(device, &n, view->lengths + b, sizeof(n)));
    for (size_t m = 0; m < s->means; m++)
        counts[m] = 0;
    for (size_t t = 0; t < s->tokens; t++) {
        group[t] = (int32_t)(t / s->pool);
        counts[t / s->pool] += (int32_t)t < n;
    }
    for (size_t row = b * s->heads; row < (b + 1) * s->heads; row++) {
        TRY(device->op->upload(device, a->group + row * s->tokens, group,
                               s->tokens * sizeof(*group)));
        TRY(device->op->upload(device, a->counts + row * s->means, counts,
                               s->means * sizeof(*counts)));
    }
    n = (n + (int32_t)s->pool - 1) / (int32_t)s->pool;
    return device->op->upload(device, a->lengths + b, &n, sizeof(n));
}

static mgk_status group_tokens(mgk_device *device, const mgk_attention_view *view, const sizes *s,
                               const arrays *a)
{
    int32_t *room;
    mgk_status status = mgk_alloc(s->tokens + s->means, sizeof(*room), &room);
    for (size_t b = 0; status == STATUS_OK && b < s->samples; b++)
        status = group_sample(device, view, s, a, b, room);
    mgk_free(room);
    return status;
}

/* y = x W for `count` numbers of vectors [H D], with a parameter W. */
static mgk_status map(mgk_device *device, const mgk_attention_layer *layer, int parameter,
                      size_t count, const void *x, void *y)
{
    const size_t width = sizes_of(&layer->size, 1).width;
    return mgk_map_vectors(device, count / width, width, layer->parameters[parameter], x, y);
}

/* From dy: dx = dy Wᵀ + beta dx, and the gradient of W. */
static mgk_status map_backward(mgk_device *device, const mgk_attention_layer *layer, int parameter,
                               size_t count, const void *x, const void *dy, double beta, void *dx,
                               const mgk_layer_gradient *gradient)
{
    const size_t width = sizes_of(&layer->size, 1).width;
    return mgk_map_vectors_backward(device, count / width, width, layer->parameters[parameter], x,
                                    dy, beta, dx, gradient->parameters[parameter]);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    const arrays a = arrays_at(device, &s, layer->kept);
    const mgk_head_tokens tokens = mgk_view_tokens(view, s.width);
    const mgk_mixture window = window_scores(view, layer), pooled = mgk_tile_scores(view, layer);
    const mgk_attention_view second = pooled_view(view, &s, &a);
    TRY(group_tokens(device, view, &s, &a));
    TRY(device->op->mixture_attention(device, view, &window, a.y, s.width, a.statistic));
    TRY(device->op->dense->group_means(device, &tokens, s.means, a.group, a.counts, a.y, a.mean));
    TRY(map(device, layer, QUERY_WEIGHT, s.all, a.y, a.query));
    TRY(map(device, layer, KEY_WEIGHT, s.pooled, a.mean, a.key));
    TRY(map(device, layer, VALUE_WEIGHT, s.pooled, a.mean, a.value));
    return device->op->mixture_attention(device, &second, &pooled, a.z, s.width,
                                         a.pooled_statistic);
}

/* Y + Z: each token is a segment of its own. */
static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    const arrays a = arrays_at(device, &s, layer->kept);
    const mgk_head_tokens tokens = mgk_view_tokens(view, output_stride);
    const mgk_dense_operations *dense = device->op->dense;
    TRY(mgk_zero_rows(device, s.samples * s.tokens, s.width, output_stride, output));
    TRY(dense->segment_means_backward(device, &tokens, s.tokens, a.y, output));
    return dense->segment_means_backward(device, &tokens, s.tokens, a.z, output);
}

/* dY from dZ, which it is besides. */
static mgk_status pooled_backward(mgk_device *device, const mgk_attention_view *view,
                                  const mgk_attention_layer *layer, const sizes *s, const arrays *a,
                                  const arrays *d, const mgk_layer_gradient *gradient)
{
    const mgk_head_tokens tokens = mgk_view_tokens(view, s->width);
    const mgk_mixture pooled = mgk_tile_scores(view, layer);
    const mgk_attention_view second = pooled_view(view, s, a);
    const mgk_attention_gradient inner = {.query = d->query, .key = d->key, .value = d->value};
    TRY(device->op->mixture_attention_backward(device, &second, &pooled, a->z, a->pooled_statistic,
                                               d->z, s->width, &inner));
    TRY(device->op->dense->add_scaled(device, s->all, 1, d->z, 0, d->y));
    TRY(map_backward(device, layer, QUERY_WEIGHT, s->all, a->y, d->query, 1, d->y, gradient));
    TRY(map_backward(device, layer, KEY_WEIGHT, s->pooled, a->mean, d->key, 0, d->mean, gradient));
    TRY(map_backward(device, layer, VALUE_WEIGHT, s->pooled, a->mean, d->value, 1, d->mean,
                     gradient));
    return device->op->dense->group_means_backward(device, &tokens, s->means, a->group, a->counts,
                                                   d->mean, d->y);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    const arrays a = arrays_at(device, &s, layer->kept), d = arrays_at(device, &s, layer->scratch);
    const mgk_head_tokens outputs = mgk_view_tokens(view, output_stride);
    const mgk_mixture window = window_scores(view, layer);
    (void)output;
    /* dY takes the counts of the copy, which nobody needs. */
    TRY(device->op->dense->segment_means(device, &outputs, s.tokens, doutput, d.z, d.y));
    TRY(pooled_backward(device, view, layer, &s, &a, &d, gradient));
    return device->op->mixture_attention_backward(device, view, &window, a.y, a.statistic, d.y,
                                                  s.width, &gradient->view);
}

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    static const char *const names[] = {"pooled.query", "pooled.key", "pooled.value"};
    const size_t width = sizes_of(size, 1).width;
    for (int p = 0; p < PARAMETERS; p++)
        out[p] = (mgk_kind_parameter){.name = names[p],
                                      .axes = 2,
                                      .shape = {width, width},
                                      .initial = MGK_INITIAL_NORMAL,
                                      .value = 1 / sqrt((double)width)};
    return PARAMETERS;
}

/* Both attentions, the maps of tokens and means, and means. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const sizes s = sizes_of(size, 1);
    const double tokens = size->tokens, dim = size->dim, width = (double)s.width;
    const double reach = fmin(2.0 * size->settings->window + 1, (double)s.means);
    mgk_attention_size within = *size;
    within.terms.window = size->settings->window + 1;
    (void)kind;
    return size->heads * ((mgk_attention_pairs(&within) + tokens * reach / (size->causal ? 2 : 1)) *
                              (4 * dim + 5) +
                          3 * tokens * dim) +
           2 * width * width * (tokens + 2 * (double)s.means);
}

static const mgk_attention_methods methods = {.primitives = "tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward};

const mgk_attention_kind mgk_attention_poolingformer = {
    .name = "poolingformer",
    .score = "exp(q_i.k_j / sqrt(D)) in a window, then exp((W y_i).(W' r_s) / sqrt(D)), "
             "r_s the mean of `kernel` outputs y",
    .rank_bound = "N",
    .no_matrix = "its second attention weighs outputs of the first through maps over all heads, so "
                 "that a token has no weight of its own",
    .defaults = {.window = 128, .kernel = 4},
    .plain_sums = true,
    .methods = &methods,
    .pattern = pattern,
    .parameters = parameters,
    .flops = flops,
};
