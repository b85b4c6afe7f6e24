/* SPDX-License-Identifier: MIT */
/*
 * Memory-compressed attention (Liu et al. 2018): a convolution whose stride is its width c makes
 * one key and value of c tokens, with maps that mix the numbers of a head,
 *     k'_s = Σ_t W_t k_(s c + t), v'_s = Σ_t W_t v_(s c + t),   A = softmax(Q K'ᵀ / √D).
 * Keys and values share W. Padding counts as zeros. In causal models a query sees the blocks that
 * end with its own token or before, and the first c − 1 queries see none.
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

/* Numbers of the arrays of one layer. */
typedef struct sizes {
    size_t samples, tokens, heads, dim; /* B, N, H, D */
    size_t stride;                      /* c */
    size_t blocks;                      /* S = ⌈N / c⌉ */
    size_t width;                       /* H D */
    size_t padded;                      /* of a sample, [S c, H, D] */
    size_t compressed;                  /* of a sample, [S, H, D] */
} sizes;

static sizes sizes_of(const mgk_attention_size *size, int samples)
{
    sizes s = {.samples = (size_t)samples,
               .tokens = (size_t)size->tokens,
               .heads = (size_t)size->heads,
               .dim = (size_t)size->dim,
               .stride = (size_t)size->settings->kernel};
    s.blocks = (s.tokens + s.stride - 1) / s.stride;
    s.width = s.heads * s.dim;
    s.compressed = s.blocks * s.width;
    s.padded = s.compressed * s.stride;
    return s;
}

/*
 * Kept: compressed keys and values, their lengths, and the statistics of the rows. Scratch: keys or
 * values without their padding, then their gradients and those of compressed ones.
 */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const sizes s = sizes_of(size, samples);
    return (mgk_kind_memory){
        .kept = s.samples * (2 * s.compressed + 1) + mgk_tile_statistics(size, samples),
        .scratch =
            s.samples * (s.padded + (training ? s.padded + 2 * s.compressed : 0)) + s.samples};
}

static int32_t *compressed_lengths(const mgk_device *device, const mgk_attention_layer *layer,
                                   const sizes *s)
{
    return mgk_at(device, layer->kept, 2 * s->samples * s->compressed);
}

static void *statistics(const mgk_device *device, const mgk_attention_layer *layer, const sizes *s)
{
    return mgk_at(device, compressed_lengths(device, layer, s), s->samples);
}

/* The tokens of one sample of an array with that stride. */
static mgk_head_tokens sample_tokens(const mgk_attention_view *view, const sizes *s, size_t b,
                                     size_t stride)
{
    return (mgk_head_tokens){1, s->tokens, s->heads, s->dim, stride, view->lengths + b};
}

/* to [B, S c, H, D] = the valid tokens, then zeros: each is the mean of itself. `counts` [B]. */
static mgk_status pad(mgk_device *device, const mgk_attention_view *view, const sizes *s,
                      const void *from, size_t stride, void *to, int32_t *counts)
{
    TRY(device->op->zero(device, to, s->samples * s->padded * device->real_size));
    for (size_t b = 0; b < s->samples; b++) {
        const mgk_head_tokens tokens = sample_tokens(view, s, b, stride);
        TRY(device->op->dense->segment_means(device, &tokens, s->tokens,
                                             mgk_at(device, from, b * s->tokens * stride),
                                             mgk_at(device, to, b * s->padded), counts));
    }
    return STATUS_OK;
}

/* Tap t of the convolution: [B, S c, H, D] from token t on, the weights, [B, S, H, D]. */
static mgk_batched_product tap_product(const sizes *s)
{
    return (mgk_batched_product){.samples = s->samples,
                                 .heads = s->heads,
                                 .m = s->blocks,
                                 .n = s->dim,
                                 .k = s->dim,
                                 .alpha = 1,
                                 .a = {s->padded, s->dim, s->stride * s->width},
                                 .b = {0, s->stride * s->dim * s->dim, s->dim},
                                 .c = {s->compressed, s->dim, s->width}};
}

static mgk_status convolve(mgk_device *device, const sizes *s, const void *weight, const void *x,
                           void *y)
{
    mgk_batched_product product = tap_product(s);
    for (size_t t = 0; t < s->stride; t++, product.beta = 1)
        TRY(device->op->dense->batched_multiply(device, &product, mgk_at(device, x, t * s->width),
                                                mgk_at(device, weight, t * s->dim * s->dim), y));
    return STATUS_OK;
}

/* dx [B, S c, H, D], and dweight += . */
static mgk_status convolve_backward(mgk_device *device, const sizes *s, const void *weight,
                                    const void *x, const void *dy, void *dx, void *dweight)
{
    const mgk_batched_product forward = tap_product(s);
    mgk_batched_product to_x = forward, to_weight = forward;
    to_x.transpose_b = true;
    to_x.a = forward.c;
    to_x.c = forward.a;
    to_weight.samples = 1;
    to_weight.transpose_a = true;
    to_weight.m = s->dim;
    to_weight.k = s->blocks;
    to_weight.beta = 1;
    to_weight.b = forward.c;
    to_weight.c = forward.b;
    for (size_t t = 0; t < s->stride; t++) {
        const size_t tap = t * s->dim * s->dim;
        TRY(device->op->dense->batched_multiply(device, &to_x, dy, mgk_at(device, weight, tap),
                                                mgk_at(device, dx, t * s->width)));
        for (size_t b = 0; b < s->samples; b++)
            TRY(device->op->dense->batched_multiply(
                device, &to_weight, mgk_at(device, x, b * s->padded + t * s->width),
                mgk_at(device, dy, b * s->compressed), mgk_at(device, dweight, tap)));
    }
    return STATUS_OK;
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    const void *weight = layer->parameters[0];
    int32_t *lengths = compressed_lengths(device, layer, &s);
    void *padded = layer->scratch, *counts = mgk_at(device, padded, s.samples * s.padded);
    TRY(pad(device, view, &s, view->key, view->key_stride, padded, counts));
    TRY(convolve(device, &s, weight, padded, layer->kept));
    TRY(pad(device, view, &s, view->value, view->value_stride, padded, counts));
    TRY(convolve(device, &s, weight, padded,
                 mgk_at(device, layer->kept, s.samples * s.compressed)));
    for (size_t b = 0; b < s.samples; b++) {
        int32_t n;
        TRY(device->op->download(device, &n, view->lengths + b, sizeof(n)));
        n = (n + (int32_t)s.stride - 1) / (int32_t)s.stride;
        TRY(device->op->upload(device, lengths + b, &n, sizeof(n)));
    }
    return STATUS_OK;
}

/* Blocks, as keys: those that a causal query has seen to their ends. */
static void pattern(const mgk_attention_size *size, int head, int query, mgk_pattern_row *row)
{
    const int stride = size->settings->kernel;
    (void)head;
    mgk_pattern_add(row, 0, (size->causal ? query + 1 : size->tokens + stride - 1) / stride);
}

/* The view of queries and compressed keys and values. */
static mgk_attention_view compressed(const mgk_device *device, const mgk_attention_view *view,
                                     const mgk_attention_layer *layer, const sizes *s)
{
    mgk_attention_view out = *view;
    out.causal = false; /* the pattern is */
    out.key_tokens = (int)s->blocks;
    out.key_lengths = compressed_lengths(device, layer, s);
    out.key = layer->kept;
    out.value = mgk_at(device, layer->kept, s->samples * s->compressed);
    out.key_stride = out.value_stride = s->width;
    return out;
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    const mgk_attention_view own = compressed(device, view, layer, &s);
    const mgk_mixture mixture = mgk_tile_scores(view, layer);
    return device->op->mixture_attention(device, &own, &mixture, output, output_stride,
                                         statistics(device, layer, &s));
}

/* From the gradient of compressed keys or values to that of tokens x, and of the weights. */
static mgk_status tokens_backward(mgk_device *device, const mgk_attention_view *view,
                                  const mgk_attention_layer *layer, const void *x, size_t stride,
                                  const void *dcompressed, void *room, void *dweight, void *dx)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    void *padded = room, *dpadded = mgk_at(device, padded, s.samples * s.padded);
    /* The gradient's place takes the counts of the copy, which nobody needs. */
    TRY(pad(device, view, &s, x, stride, padded, dpadded));
    TRY(convolve_backward(device, &s, layer->parameters[0], padded, dcompressed, dpadded, dweight));
    TRY(mgk_zero_rows(device, s.samples * s.tokens, s.width, stride, dx));
    for (size_t b = 0; b < s.samples; b++) {
        const mgk_head_tokens tokens = sample_tokens(view, &s, b, stride);
        TRY(device->op->dense->segment_means_backward(device, &tokens, s.tokens,
                                                      mgk_at(device, dpadded, b * s.padded),
                                                      mgk_at(device, dx, b * s.tokens * stride)));
    }
    return STATUS_OK;
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    const mgk_attention_view own = compressed(device, view, layer, &s);
    const mgk_mixture mixture = mgk_tile_scores(view, layer);
    void *dkey = layer->scratch, *dvalue = mgk_at(device, dkey, s.samples * s.compressed);
    void *room = mgk_at(device, dvalue, s.samples * s.compressed);
    const mgk_attention_gradient inner = {
        .query = gradient->view.query, .key = dkey, .value = dvalue};
    TRY(device->op->mixture_attention_backward(device, &own, &mixture, output,
                                               statistics(device, layer, &s), doutput,
                                               output_stride, &inner));
    TRY(tokens_backward(device, view, layer, view->key, view->key_stride, dkey, room,
                        gradient->parameters[0], gradient->view.key));
    return tokens_backward(device, view, layer, view->value, view->value_stride, dvalue, room,
                           gradient->parameters[0], gradient->view.value);
}

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const sizes s = sizes_of(size, 1);
    out[0] = (mgk_kind_parameter){.name = "convolution",
                                  .axes = 3,
                                  .shape = {s.heads, s.stride * s.dim, s.dim},
                                  .initial = MGK_INITIAL_NORMAL,
                                  .value = 1 / sqrt((double)(s.stride * s.dim))};
    return 1;
}

/* Both convolutions, and attention to the blocks, of which causal queries see half. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const sizes s = sizes_of(size, 1);
    const double tokens = size->tokens, dim = size->dim;
    const double pairs = tokens * (double)s.blocks / (size->causal ? 2 : 1);
    (void)kind;
    return size->heads * (4 * tokens * dim * dim + pairs * (4 * dim + 5) + tokens * dim);
}

static const mgk_attention_methods methods = {.primitives = "factors, tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward};

const mgk_attention_kind mgk_attention_memory_compressed = {
    .name = "memory-compressed",
    .score = "exp(q_i.k'_s / sqrt(D)), k'_s a convolution of `kernel` keys",
    .rank_bound = "N / kernel",
    .no_matrix = "a convolution makes one value of several tokens and mixes its numbers, so that a "
                 "token has no weight of its own",
    .defaults = {.kernel = 3},
    .may_be_blank = true,
    .plain_sums = true,
    .methods = &methods,
    .pattern = pattern,
    .parameters = parameters,
    .flops = flops,
};
