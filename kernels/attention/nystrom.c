/* SPDX-License-Identifier: MIT */
/*
 * Nyström attention (Xiong et al. 2021, Nyströmformer): with landmarks Q̃, K̃, the means of segments
 * of queries and keys,
 *     A = F Z B + T,  F = sm(Q K̃ᵀ/√D),  M = sm(Q̃ K̃ᵀ/√D),  B = sm(Q̃ Kᵀ/√D),
 * where Z is the iterated pseudo-inverse of M, and T the band of a convolution of the values over
 * tokens, with weights of each head. CSALR (Chen et al. 2020) has Z = (M + I)⁻¹ and no T. Entries
 * may be negative, and rows have any sum. F and B are tiles, so that all costs O(N).
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

enum { NEWTON_STEPS = 6 };

/* The arrays of a layer that all calls share, and their shapes. */
typedef struct factors {
    mgk_device *device;
    const mgk_attention_view *view;
    size_t width;                   /* H D */
    mgk_head_tokens landmarks;      /* [B, m, H, D] */
    mgk_head_maps middle;           /* [B, H, m, m] */
    void *q_mean, *k_mean;          /* [B, m, H, D] */
    void *kernel, *inverse;         /* M, Z [B, H, m, m] */
    void *b_v, *z_b_v;              /* B V, Z B V [B, m, H, D] */
    void *left_rows, *right_rows;   /* statistics of F [B, H, N] and of B [B, H, m] */
    mgk_attention_view left, right; /* F and its values Z B V; B and V */
    mgk_mixture scores;
    mgk_token_kernel convolution; /* weight NULL: none */
    bool newton;
} factors;

static size_t few(const mgk_attention_size *size, int samples)
{
    return (size_t)samples * mgk_at_most_tokens(size, size->settings->landmarks) *
           (size_t)(size->heads * size->dim);
}

static size_t maps(const mgk_attention_size *size, int samples)
{
    const size_t landmarks = mgk_at_most_tokens(size, size->settings->landmarks);
    return (size_t)(samples * size->heads) * landmarks * landmarks;
}

/* Scratch: the output of the tiles and gradients of all; or F, B, F Z of all heads, and ones. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t landmarks = mgk_at_most_tokens(size, size->settings->landmarks),
                 tokens = (size_t)size->tokens;
    const size_t heads = (size_t)size->heads, rows = mgk_tile_statistics(size, samples);
    const size_t gradients =
        training ? rows * (size_t)size->dim + 4 * few(size, samples) + 2 * maps(size, samples) : 0;
    const size_t matrix = (2 * heads + 1) * tokens * landmarks + tokens;
    return (mgk_kind_memory){.kept = 4 * few(size, samples) + 2 * maps(size, samples) + rows +
                                     (size_t)samples * (heads * landmarks + 1),
                             .scratch = gradients > matrix ? gradients : matrix};
}

static void *take(const mgk_device *device, void **memory, size_t count)
{
    void *out = *memory;
    *memory = mgk_at(device, out, count);
    return out;
}

static factors factors_of(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const mgk_attention_size *size = &layer->size;
    const size_t samples = (size_t)view->samples, heads = (size_t)view->heads;
    const size_t m = mgk_at_most_tokens(size, size->settings->landmarks), dim = (size_t)view->dim;
    const size_t width = heads * dim, means = few(size, view->samples);
    void *kept = layer->kept;
    factors f = {.device = device,
                 .view = view,
                 .width = width,
                 .newton = layer->kind->defaults.kernel > 0,
                 .scores = mgk_dot_products(view)};
    f.q_mean = take(device, &kept, means);
    f.k_mean = take(device, &kept, means);
    f.b_v = take(device, &kept, means);
    f.z_b_v = take(device, &kept, means);
    f.kernel = take(device, &kept, maps(size, view->samples));
    f.inverse = take(device, &kept, maps(size, view->samples));
    f.left_rows = take(device, &kept, samples * heads * (size_t)view->tokens);
    f.right_rows = take(device, &kept, samples * heads * m);
    const int32_t *counts = kept;
    f.landmarks = (mgk_head_tokens){samples, m, heads, dim, width, counts};
    f.middle = (mgk_head_maps){samples, heads, m, m, counts, counts, false};
    f.right = mgk_other_queries(view, m, counts, f.q_mean);
    f.left = *view;
    f.left.key_tokens = (int)m;
    f.left.key_lengths = counts;
    f.left.key = f.k_mean;
    f.left.value = f.z_b_v;
    f.left.key_stride = f.left.value_stride = width;
    if (f.newton)
        f.convolution = (mgk_token_kernel){.taps = (size_t)size->settings->kernel,
                                           .weight = layer->parameters[0]};
    return f;
}

/* y [B, m, H, D] = op(Z) x of every head, or alpha op(Z) x + y. */
static mgk_status mix_landmarks(const factors *f, bool transpose, double alpha, const void *map,
                                const void *x, double beta, void *y)
{
    const size_t m = f->middle.rows;
    const mgk_batched_product product = {
        .samples = f->middle.samples,
        .heads = f->middle.heads,
        .m = m,
        .n = f->landmarks.dim,
        .k = m,
        .transpose_a = transpose,
        .alpha = alpha,
        .beta = beta,
        .a = mgk_map_strides(&f->middle),
        .b = mgk_token_strides(&f->landmarks),
        .c = mgk_token_strides(&f->landmarks),
    };
    return f->device->op->dense->batched_multiply(f->device, &product, map, x, y);
}

/* map [B, H, m, m] = alpha x yᵀ of every head. */
static mgk_status pair_landmarks(const factors *f, double alpha, const void *x, const void *y,
                                 void *map)
{
    const size_t m = f->middle.rows;
    const mgk_batched_product product = {
        .samples = f->middle.samples,
        .heads = f->middle.heads,
        .m = m,
        .n = m,
        .k = f->landmarks.dim,
        .transpose_b = true,
        .alpha = alpha,
        .a = mgk_token_strides(&f->landmarks),
        .b = mgk_token_strides(&f->landmarks),
        .c = mgk_map_strides(&f->middle),
    };
    return f->device->op->dense->batched_multiply(f->device, &product, x, y, map);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const factors f = factors_of(device, view, layer);
    const mgk_dense_operations *dense = device->op->dense;
    const mgk_head_tokens query = mgk_view_tokens(view, view->query_stride);
    const mgk_head_tokens key = mgk_view_tokens(view, view->key_stride);
    const size_t m = f.middle.rows, count = f.middle.samples * f.middle.heads;
    int32_t *counts = (int32_t *)(uintptr_t)f.landmarks.lengths;
    TRY(dense->segment_means(device, &query, m, view->query, f.q_mean, counts));
    TRY(dense->segment_means(device, &key, m, view->key, f.k_mean, counts));
    TRY(pair_landmarks(&f, f.scores.scale[0], f.q_mean, f.k_mean, f.kernel));
    TRY(dense->softmax_rows(device, &f.middle, f.kernel));
    if (f.newton)
        TRY(dense->newton_inverse(device, count, m, NEWTON_STEPS, f.kernel, f.inverse));
    else
        TRY(dense->shifted_inverse(device, count, m, 1, f.kernel, f.inverse));
    TRY(device->op->mixture_attention(device, &f.right, &f.scores, f.b_v, f.width, f.right_rows));
    return mix_landmarks(&f, false, 1, f.inverse, f.b_v, 0, f.z_b_v);
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const factors f = factors_of(device, view, layer);
    const mgk_head_tokens value = mgk_view_tokens(view, view->value_stride);
    TRY(device->op->mixture_attention(device, &f.left, &f.scores, output, output_stride,
                                      f.left_rows));
    if (!f.convolution.weight)
        return STATUS_OK;
    return device->op->dense->convolve_tokens(device, &value, &f.convolution, view->value, output,
                                              output_stride);
}

/* The product F Z B of one head: left [N, m], right [m, N], room [N, m]. */
static mgk_status multiply_factors(const factors *f, int sample, int head, const void *left,
                                   const void *right, void *room, void *out)
{
    mgk_device *device = f->device;
    const size_t m = f->middle.rows, tokens = (size_t)f->view->tokens;
    const void *inverse =
        mgk_at(device, f->inverse, (size_t)(sample * f->view->heads + head) * m * m);
    TRY(device->op->multiply(device, false, false, tokens, m, m, 1, left, m, inverse, m, 0, room,
                             m));
    return device->op->multiply(device, false, false, tokens, tokens, m, 1, room, m, right, tokens,
                                0, out, tokens);
}

static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    const factors f = factors_of(device, view, layer);
    const size_t m = f.middle.rows, tokens = (size_t)view->tokens;
    void *scratch = layer->scratch;
    void *left = take(device, &scratch, (size_t)count * tokens * m);
    void *right = take(device, &scratch, (size_t)count * tokens * m);
    void *room = take(device, &scratch, tokens * m);
    (void)content; /* rows are not normalised: scores are the matrix */
    TRY(device->op->mixture_matrix(device, &f.left, &f.scores, MGK_MATRIX_ATTENTION, sample, 1,
                                   heads, count, left));
    TRY(device->op->mixture_matrix(device, &f.right, &f.scores, MGK_MATRIX_ATTENTION, sample, 1,
                                   heads, count, right));
    for (size_t which = 0; which < (size_t)count; which++) {
        void *own = mgk_at(device, out, which * tokens * tokens);
        int32_t head;
        TRY(device->op->download(device, &head, heads + which, sizeof(head)));
        TRY(multiply_factors(&f, sample, head, mgk_at(device, left, which * tokens * m),
                             mgk_at(device, right, which * tokens * m), room, own));
    }
    return f.convolution.weight
               ? mgk_add_bands(device, view, &f.convolution, sample, heads, count, scratch, out)
               : STATUS_OK;
}

/* The gradients of landmarks by Z, with those of Z B V and B V: += dq_mean, dk_mean. */
static mgk_status inverse_backward(const factors *f, const void *dz_b_v, void *dinverse,
                                   void *dkernel, void *dq_mean, void *dk_mean)
{
    mgk_device *device = f->device;
    const mgk_dense_operations *dense = device->op->dense;
    const size_t m = f->middle.rows, count = f->middle.samples * f->middle.heads;
    const double scale = f->scores.scale[0];
    TRY(pair_landmarks(f, 1, dz_b_v, f->b_v, dinverse));
    TRY(device->op->zero(device, dkernel, count * m * m * device->real_size));
    if (f->newton)
        TRY(dense->newton_inverse_backward(device, count, m, NEWTON_STEPS, f->kernel, dinverse,
                                           dkernel));
    else
        TRY(dense->shifted_inverse_backward(device, count, m, f->inverse, dinverse, dkernel));
    TRY(dense->softmax_rows_backward(device, &f->middle, f->kernel, dkernel, dkernel));
    TRY(mix_landmarks(f, false, scale, dkernel, f->k_mean, 1, dq_mean));
    return mix_landmarks(f, true, scale, dkernel, f->q_mean, 1, dk_mean);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const factors f = factors_of(device, view, layer);
    const mgk_dense_operations *dense = device->op->dense;
    const mgk_head_tokens query = mgk_view_tokens(view, view->query_stride);
    const mgk_head_tokens key = mgk_view_tokens(view, view->key_stride);
    const mgk_head_tokens value = mgk_view_tokens(view, view->value_stride);
    const size_t means = few(&layer->size, view->samples), m = f.middle.rows;
    void *scratch = layer->scratch;
    /* The output without the convolution. */
    void *attended = take(device, &scratch, (size_t)(view->samples * view->tokens) * f.width);
    void *dq_mean = take(device, &scratch, means), *dk_mean = take(device, &scratch, means);
    void *dz_b_v = take(device, &scratch, means), *db_v = take(device, &scratch, means);
    void *dinverse = take(device, &scratch, maps(&layer->size, view->samples));
    const mgk_attention_gradient left = {
        .query = gradient->view.query, .key = dk_mean, .value = dz_b_v};
    const mgk_attention_gradient right = {
        .query = dq_mean, .key = gradient->view.key, .value = gradient->view.value};
    (void)output;
    if (output_stride != f.width)
        return mgk_fail(STATUS_UNSUPPORTED, "an output with gaps between its tokens");
    TRY(device->op->mixture_attention(device, &f.left, &f.scores, attended, f.width, f.left_rows));
    TRY(device->op->mixture_attention_backward(device, &f.left, &f.scores, attended, f.left_rows,
                                               doutput, output_stride, &left));
    TRY(mix_landmarks(&f, true, 1, f.inverse, dz_b_v, 0, db_v));
    TRY(device->op->mixture_attention_backward(device, &f.right, &f.scores, f.b_v, f.right_rows,
                                               db_v, f.width, &right));
    TRY(inverse_backward(&f, dz_b_v, dinverse, scratch, dq_mean, dk_mean));
    TRY(dense->segment_means_backward(device, &query, m, dq_mean, gradient->view.query));
    TRY(dense->segment_means_backward(device, &key, m, dk_mean, gradient->view.key));
    if (!f.convolution.weight)
        return STATUS_OK;
    return dense->convolve_tokens_backward(device, &value, &f.convolution, view->value, doutput,
                                           output_stride, gradient->view.value,
                                           gradient->parameters[0]);
}

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    out[0] = mgk_convolution_parameter(size);
    return 1;
}

/* Both tiles, the inverse with four products a step, or with one elimination, and the band. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double m = (double)mgk_at_most_tokens(size, size->settings->landmarks),
                 tokens = size->tokens, dim = size->dim;
    const double taps = kind->defaults.kernel > 0 ? size->settings->kernel : 0;
    const double inverse = (taps > 0 ? 4 * NEWTON_STEPS : 1) * 2 * m * m * m;
    return size->heads * (2 * tokens * m * (4 * dim + 5) + 2 * tokens * dim + inverse +
                          4 * m * m * dim + 2 * taps * tokens * dim);
}

static const mgk_attention_methods methods = {.primitives = "factors, tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_nystrom = {
    .name = "nystrom",
    .score = "softmax(Q K~') pinv(softmax(Q~ K~')) softmax(Q~ K') + a band, each / sqrt(D)",
    .rank_bound = "landmarks, and the band's",
    .defaults = {.landmarks = 64, .kernel = 33},
    .not_causal = true,
    .unnormalized = true,
    .signed_entries = true,
    .plain_sums = true,
    .methods = &methods,
    .parameters = parameters,
    .flops = flops,
};

const mgk_attention_kind mgk_attention_csalr = {
    .name = "csalr",
    .score = "softmax(Q K~') (softmax(Q~ K~') + I)^-1 softmax(Q~ K'), each / sqrt(D)",
    .rank_bound = "landmarks",
    .defaults = {.landmarks = 64},
    .not_causal = true,
    .unnormalized = true,
    .signed_entries = true,
    .plain_sums = true,
    .methods = &methods,
    .flops = flops,
};
