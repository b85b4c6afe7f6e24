/* SPDX-License-Identifier: MIT */
/*
 * Linformer (Wang et al. 2020): a learned map E [K, N] of positions makes K keys and values of N,
 *     A = softmax(Q (E K)ᵀ / √D) E,
 * so that output and gradients cost O(N K). Heads, keys and values share E, or each head has its
 * own, or values have a map F of their own, A = softmax(Q (E K)ᵀ / √D) F. Padding counts as zeros.
 * Entries may be negative, and rows have any sum.
 */
#include <math.h>

#include "base/memory.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

/* Reals of the arrays of one layer. */
typedef struct sizes {
    size_t width;   /* H D */
    size_t rows;    /* K */
    size_t mapped;  /* [B, K, H, D] */
    size_t lengths; /* room for int32 [B] */
} sizes;

static sizes sizes_of(const mgk_attention_size *size, int samples)
{
    const size_t width = (size_t)(size->heads * size->dim),
                 rows = (size_t)size->settings->projection;
    return (sizes){.width = width,
                   .rows = rows,
                   .mapped = (size_t)samples * rows * width,
                   .lengths = (size_t)samples};
}

/*
 * Kept: mapped keys and values, their lengths, and the statistics of the rows. Scratch: their
 * gradients; or softmaxes [H, N, K].
 */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const sizes s = sizes_of(size, samples);
    const size_t maps = (size_t)size->heads * (size_t)size->tokens * s.rows;
    const size_t own = training ? 2 * s.mapped : 0;
    return (mgk_kind_memory){.kept = 2 * s.mapped + s.lengths + mgk_tile_statistics(size, samples),
                             .scratch = own > maps ? own : maps};
}

/* Which parameter maps values. */
static int value_map(const mgk_attention_layer *layer)
{
    return layer->kind == &mgk_attention_linformer_separate ? 1 : 0;
}

/* Numbers from one head's map to the next; 0: all heads share one. */
static size_t head_stride(const mgk_attention_layer *layer)
{
    const mgk_attention_size *size = &layer->size;
    return layer->kind == &mgk_attention_linformer_heads
               ? (size_t)size->settings->projection * (size_t)size->length
               : 0;
}

/* E x of one sample with n valid tokens, x [N, H, D] with rows `stride` apart, in [K, H, D]. */
static mgk_batched_product map_product(const mgk_attention_view *view,
                                       const mgk_attention_layer *layer, size_t n, size_t stride)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    const size_t own = head_stride(layer), dim = own > 0 ? (size_t)view->dim : s.width;
    return (mgk_batched_product){.samples = 1,
                                 .heads = s.width / dim,
                                 .m = s.rows,
                                 .n = dim,
                                 .k = n,
                                 .alpha = 1,
                                 .a = {.head = own, .row = (size_t)layer->size.length},
                                 .b = {.head = dim, .row = stride},
                                 .c = {.head = dim, .row = s.width}};
}

/* out [B, K, H, D] = E x for each sample's x [N, H, D]; lengths [B] are on the host. */
static mgk_status map(mgk_device *device, const mgk_attention_view *view,
                      const mgk_attention_layer *layer, int which, const int32_t *lengths,
                      const void *x, size_t stride, void *out)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    for (size_t b = 0; b < (size_t)view->samples; b++) {
        const mgk_batched_product product = map_product(view, layer, (size_t)lengths[b], stride);
        TRY(device->op->dense->batched_multiply(
            device, &product, layer->parameters[which],
            mgk_at(device, x, b * (size_t)view->tokens * stride),
            mgk_at(device, out, b * s.rows * s.width)));
    }
    return STATUS_OK;
}

static int32_t *mapped_lengths(const mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer)
{
    return mgk_at(device, layer->kept, 2 * sizes_of(&layer->size, view->samples).mapped);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    int32_t *lengths, *mapped = mapped_lengths(device, view, layer);
    TRY(mgk_device_indices(device, view->lengths, (size_t)view->samples, &lengths));
    mgk_status status = STATUS_OK;
    CHECK(map(device, view, layer, 0, lengths, view->key, view->key_stride, layer->kept));
    CHECK(map(device, view, layer, value_map(layer), lengths, view->value, view->value_stride,
              mgk_at(device, layer->kept, s.mapped)));
    for (int b = 0; b < view->samples; b++)
        lengths[b] = (int32_t)s.rows;
    CHECK(device->op->upload(device, mapped, lengths, s.lengths * sizeof *lengths));
out:
    mgk_free(lengths);
    return status;
}

/* The view of queries and mapped keys and values. */
static mgk_attention_view mapped(const mgk_device *device, const mgk_attention_view *view,
                                 const mgk_attention_layer *layer)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    mgk_attention_view out = *view;
    out.key_tokens = (int)s.rows;
    out.key_lengths = mapped_lengths(device, view, layer);
    out.key = layer->kept;
    out.value = mgk_at(device, layer->kept, s.mapped);
    out.key_stride = out.value_stride = s.width;
    return out;
}

static void *statistics(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    return mgk_at(device, layer->kept, 2 * s.mapped + s.lengths);
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const mgk_attention_view own = mapped(device, view, layer);
    const mgk_mixture mixture = mgk_dot_products(view);
    return device->op->mixture_attention(device, &own, &mixture, output, output_stride,
                                         statistics(device, view, layer));
}

/* P E, or P F, without the columns of padding. */
static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    const mgk_attention_view own = mapped(device, view, layer);
    const mgk_mixture mixture = mgk_dot_products(view);
    const size_t rows = (size_t)own.key_tokens, tokens = (size_t)view->tokens;
    const void *weights = layer->parameters[value_map(layer)];
    int32_t n, head;
    TRY(device->op->mixture_matrix(device, &own, &mixture, content, sample, 1, heads, count,
                                   layer->scratch));
    for (size_t which = 0; which < (size_t)count; which++) {
        TRY(device->op->download(device, &head, heads + which, sizeof(head)));
        TRY(device->op->multiply(device, false, false, tokens, tokens, rows, 1,
                                 mgk_at(device, layer->scratch, which * tokens * rows), rows,
                                 mgk_at(device, weights, (size_t)head * head_stride(layer)),
                                 (size_t)layer->size.length, 0,
                                 mgk_at(device, out, which * tokens * tokens), tokens));
    }
    TRY(device->op->download(device, &n, view->lengths + sample, sizeof(n)));
    return mgk_zero_rows(device, (size_t)count * tokens, tokens - (size_t)n, tokens,
                         mgk_at(device, out, (size_t)n));
}

/* From the gradient dy [B, K, H, D] of y = E x: dE += Σ_b dy xᵀ, dx = Eᵀ dy, 0 for padding. */
static mgk_status map_backward(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, int which, const int32_t *lengths,
                               const void *x, size_t stride, const void *dy, void *de, void *dx)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    const size_t tokens = (size_t)view->tokens;
    for (size_t b = 0; b < (size_t)view->samples; b++) {
        const size_t n = (size_t)lengths[b], first = b * tokens * stride;
        const mgk_batched_product forth = map_product(view, layer, n, stride);
        const void *own = mgk_at(device, dy, b * s.rows * s.width);
        mgk_batched_product to_tokens = forth;
        to_tokens.transpose_a = true;
        to_tokens.m = n;
        to_tokens.k = s.rows;
        to_tokens.b = forth.c;
        to_tokens.c = forth.b;
        for (size_t h = 0; h < forth.heads; h++)
            TRY(device->op->multiply(device, false, true, s.rows, n, forth.n, 1,
                                     mgk_at(device, own, h * forth.c.head), s.width,
                                     mgk_at(device, x, first + h * forth.b.head), stride, 1,
                                     mgk_at(device, de, h * forth.a.head), forth.a.row));
        TRY(device->op->dense->batched_multiply(device, &to_tokens, layer->parameters[which], own,
                                                mgk_at(device, dx, first)));
        TRY(mgk_zero_rows(device, tokens - n, s.width, stride,
                          mgk_at(device, dx, first + n * stride)));
    }
    return STATUS_OK;
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const sizes s = sizes_of(&layer->size, view->samples);
    const mgk_attention_view own = mapped(device, view, layer);
    const mgk_mixture mixture = mgk_dot_products(view);
    void *dkey = layer->scratch, *dvalue = mgk_at(device, dkey, s.mapped);
    const int values = value_map(layer);
    const mgk_attention_gradient inner = {
        .query = gradient->view.query, .key = dkey, .value = dvalue};
    int32_t *lengths;
    TRY(mgk_device_indices(device, view->lengths, (size_t)view->samples, &lengths));
    mgk_status status;
    CHECK(device->op->mixture_attention_backward(device, &own, &mixture, output,
                                                 statistics(device, view, layer), doutput,
                                                 output_stride, &inner));
    CHECK(map_backward(device, view, layer, 0, lengths, view->key, view->key_stride, dkey,
                       gradient->parameters[0], gradient->view.key));
    CHECK(map_backward(device, view, layer, values, lengths, view->value, view->value_stride,
                       dvalue, gradient->parameters[values], gradient->view.value));
out:
    mgk_free(lengths);
    return status;
}

/* E begins with the variance 1 / N, so that its products are about as long as keys and values. */
static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const size_t rows = (size_t)size->settings->projection, length = (size_t)size->length;
    out[0] = (mgk_kind_parameter){.name = "projection",
                                  .axes = 2,
                                  .shape = {rows, length},
                                  .initial = MGK_INITIAL_NORMAL,
                                  .value = 1 / sqrt((double)length)};
    return 1;
}

static int two_parameters(const mgk_attention_size *size,
                          mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    parameters(size, out);
    out[1] = out[0];
    out[1].name = "value_projection";
    return 2;
}

static int parameters_of_heads(const mgk_attention_size *size,
                               mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const int count = parameters(size, out);
    out[0].axes = 3;
    out[0].shape[2] = out[0].shape[1];
    out[0].shape[1] = out[0].shape[0];
    out[0].shape[0] = (size_t)size->heads;
    return count;
}

/* Both maps, and attention to K keys. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double rows = size->settings->projection, tokens = size->tokens, dim = size->dim;
    (void)kind;
    return size->heads * tokens * (2 * 2 * rows * dim + rows * (4 * dim + 5) + dim);
}

static const mgk_attention_methods methods = {.primitives = "factors, tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

#define LINFORMER(of_name, of_score, of_parameters)                                                \
    .name = of_name, .score = "softmax(Q (E K)' / sqrt(D)) " of_score, .rank_bound = "projection", \
    .defaults = {.projection = 64}, .not_causal = true, .unnormalized = true,                      \
    .signed_entries = true, .plain_sums = true, .methods = &methods, .parameters = of_parameters,  \
    .flops = flops

const mgk_attention_kind mgk_attention_linformer = {
    LINFORMER("linformer", "E, E of projection rows", parameters),
};

const mgk_attention_kind mgk_attention_linformer_separate = {
    LINFORMER("linformer-separate", "F, E and F of projection rows", two_parameters),
};

const mgk_attention_kind mgk_attention_linformer_heads = {
    LINFORMER("linformer-heads", "E, E of projection rows in each head", parameters_of_heads),
};
