/* SPDX-License-Identifier: MIT */
/*
 * Attention through m landmarks Q̃, K̃, the means of segments of queries and keys:
 *     A = softmax(Q K̃ᵀ / √D) Z softmax(Q̃ Kᵀ / √D),  M = softmax(Q̃ K̃ᵀ / √D).
 * Nyströmformer (Xiong et al. 2021): Z ≈ M⁺ by Newton's iteration, and each head adds a convolution
 * of its values over tokens, a band of A with the same weights in every row. CSALR: Z = (M + I)⁻¹.
 * The two outer softmaxes are tiles, so that time and memory are O(N m). Entries may be negative,
 * and rows have any sum.
 */
#include <math.h>

#include "base/memory.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

enum { STEPS = 6 }; /* of Newton's iteration, as in the paper's code */

/* What a layer keeps, and the shapes of it. */
typedef struct arrays {
    mgk_head_tokens landmarks; /* [B, m, H, D] */
    mgk_head_maps maps;        /* M and Z */
    size_t few, square;        /* numbers of each */
    void *queries, *keys;      /* Q̃, K̃ */
    void *weighed, *mixed;     /* softmax(Q̃ Kᵀ) V and Z times it */
    void *kernel, *inverse;    /* M, Z */
    void *landmark_statistic, *statistic;
    int32_t *counts; /* landmarks of each sample, fewer where it has fewer tokens */
} arrays;

static size_t few_of(const mgk_attention_size *size, int samples)
{
    return (size_t)samples * (size_t)(size->settings->landmarks * size->heads * size->dim);
}

static size_t square_of(const mgk_attention_size *size, int samples)
{
    const size_t m = (size_t)size->settings->landmarks;
    return (size_t)(samples * size->heads) * m * m;
}

/*
 * Scratch: the output without the convolution, its gradient without gaps, and gradients of
 * landmarks and of M and Z; or the factors of a matrix.
 */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t m = (size_t)size->settings->landmarks, rows = (size_t)(samples * size->heads);
    const size_t few = few_of(size, samples), square = square_of(size, samples);
    const size_t outputs = rows * (size_t)(size->tokens * size->dim);
    const size_t own = training ? 2 * outputs + 4 * few + 2 * square : 0;
    const size_t maps = 3 * (size_t)(size->heads * size->tokens) * m;
    return (mgk_kind_memory){.kept = 4 * few + 2 * square + rows * m +
                                     mgk_tile_statistics(size, samples) + (size_t)samples,
                             .scratch = own > maps ? own : maps};
}

static arrays arrays_of(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    const size_t samples = (size_t)view->samples, heads = (size_t)view->heads,
                 dim = (size_t)view->dim, m = (size_t)layer->size.settings->landmarks;
    arrays out = {.few = few_of(&layer->size, view->samples),
                  .square = square_of(&layer->size, view->samples)};
    out.queries = layer->kept;
    out.keys = mgk_at(device, out.queries, out.few);
    out.weighed = mgk_at(device, out.keys, out.few);
    out.mixed = mgk_at(device, out.weighed, out.few);
    out.kernel = mgk_at(device, out.mixed, out.few);
    out.inverse = mgk_at(device, out.kernel, out.square);
    out.landmark_statistic = mgk_at(device, out.inverse, out.square);
    out.statistic = mgk_at(device, out.landmark_statistic, samples * heads * m);
    out.counts = mgk_at(device, out.statistic, samples * heads * (size_t)view->tokens);
    out.landmarks = (mgk_head_tokens){samples, m, heads, dim, heads * dim, out.counts};
    out.maps = (mgk_head_maps){samples, heads, m, m, out.counts, out.counts, false};
    return out;
}

static mgk_head_tokens tokens_of(const mgk_attention_view *view, size_t stride)
{
    return (mgk_head_tokens){.samples = (size_t)view->samples,
                             .tokens = (size_t)view->tokens,
                             .heads = (size_t)view->heads,
                             .dim = (size_t)view->dim,
                             .stride = stride,
                             .lengths = view->lengths};
}

static mgk_mixture softmax(const mgk_attention_view *view)
{
    return (mgk_mixture){.scale = {1 / sqrt(view->dim)}};
}

/* Queries see landmarks: the left factor. */
static mgk_attention_view left_view(const mgk_attention_view *view, const arrays *a)
{
    mgk_attention_view out = *view;
    out.key_tokens = (int)a->landmarks.tokens;
    out.key_lengths = a->counts;
    out.key = a->keys;
    out.value = a->mixed;
    out.key_stride = out.value_stride = a->landmarks.stride;
    return out;
}

/* Landmarks see keys: the right factor. */
static mgk_attention_view right_view(const mgk_attention_view *view, const arrays *a)
{
    mgk_attention_view out = *view;
    out.tokens = (int)a->landmarks.tokens;
    out.lengths = a->counts;
    out.key_tokens = view->tokens;
    out.key_lengths = view->lengths;
    out.query = a->queries;
    out.query_stride = a->landmarks.stride;
    return out;
}

/* What is a matrix of each head in a product. */
typedef struct operand {
    const void *data;
    mgk_head_strides strides;
    bool transpose;
} operand;

static operand of_landmarks(const arrays *a, const void *data, bool transpose)
{
    return (operand){data, mgk_token_strides(&a->landmarks), transpose};
}

static operand of_map(const arrays *a, const void *data, bool transpose)
{
    return (operand){data, mgk_map_strides(&a->maps), transpose};
}

/* c [m, n] = alpha x y + beta c in every head, inner dimension k. */
static mgk_status multiply(mgk_device *device, const arrays *a, size_t n, size_t k, double alpha,
                           operand x, operand y, double beta, mgk_head_strides strides, void *c)
{
    const mgk_batched_product product = {.samples = a->landmarks.samples,
                                         .heads = a->landmarks.heads,
                                         .m = a->landmarks.tokens,
                                         .n = n,
                                         .k = k,
                                         .transpose_a = x.transpose,
                                         .transpose_b = y.transpose,
                                         .alpha = alpha,
                                         .beta = beta,
                                         .a = x.strides,
                                         .b = y.strides,
                                         .c = strides};
    return device->op->dense->batched_multiply(device, &product, x.data, y.data, c);
}

static bool is_csalr(const mgk_attention_layer *layer)
{
    return layer->kind == &mgk_attention_csalr;
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const mgk_dense_operations *dense = device->op->dense;
    const arrays a = arrays_of(device, view, layer);
    const size_t m = a.maps.rows, count = a.maps.samples * a.maps.heads;
    const mgk_head_tokens queries = tokens_of(view, view->query_stride);
    const mgk_head_tokens keys = tokens_of(view, view->key_stride);
    TRY(dense->segment_means(device, &queries, m, view->query, a.queries, a.counts));
    TRY(dense->segment_means(device, &keys, m, view->key, a.keys, a.counts));
    TRY(multiply(device, &a, m, a.landmarks.dim, softmax(view).scale[0],
                 of_landmarks(&a, a.queries, false), of_landmarks(&a, a.keys, true), 0,
                 mgk_map_strides(&a.maps), a.kernel));
    TRY(dense->softmax_rows(device, &a.maps, a.kernel));
    if (is_csalr(layer))
        return dense->shifted_inverse(device, count, m, 1, a.kernel, a.inverse);
    return dense->newton_inverse(device, count, m, STEPS, a.kernel, a.inverse);
}

static mgk_token_kernel convolution(const mgk_attention_layer *layer)
{
    return (mgk_token_kernel){.taps = (size_t)layer->size.settings->kernel,
                              .weight = layer->parameters[0]};
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_attention_view left = left_view(view, &a), right = right_view(view, &a);
    const mgk_mixture mixture = softmax(view);
    const mgk_token_kernel kernel = convolution(layer);
    const mgk_head_tokens values = tokens_of(view, view->value_stride);
    TRY(device->op->mixture_attention(device, &right, &mixture, a.weighed, a.landmarks.stride,
                                      a.landmark_statistic));
    TRY(multiply(device, &a, a.landmarks.dim, a.maps.cols, 1, of_map(&a, a.inverse, false),
                 of_landmarks(&a, a.weighed, false), 0, mgk_token_strides(&a.landmarks), a.mixed));
    TRY(device->op->mixture_attention(device, &left, &mixture, output, output_stride, a.statistic));
    if (kernel.taps == 0)
        return STATUS_OK;
    return device->op->dense->convolve_tokens(device, &values, &kernel, view->value, output,
                                              output_stride);
}

/* Gradients of what lies between the two tiles, in scratch. */
typedef struct gradients {
    void *result, *output; /* the left tile, without the convolution, and its gradient */
    void *queries, *keys, *weighed, *mixed; /* d of those of `arrays` */
    void *kernel, *inverse;
} gradients;

static gradients gradients_of(const mgk_device *device, const mgk_attention_view *view,
                              const mgk_attention_layer *layer, const arrays *a)
{
    const size_t outputs = (size_t)(view->samples * view->tokens) * a->landmarks.stride;
    gradients out = {.result = layer->scratch};
    out.output = mgk_at(device, out.result, outputs);
    out.queries = mgk_at(device, out.output, outputs);
    out.keys = mgk_at(device, out.queries, a->few);
    out.weighed = mgk_at(device, out.keys, a->few);
    out.mixed = mgk_at(device, out.weighed, a->few);
    out.kernel = mgk_at(device, out.mixed, a->few);
    out.inverse = mgk_at(device, out.kernel, a->square);
    return out;
}

/* From dZ to the landmarks: += . */
static mgk_status kernel_backward(mgk_device *device, const mgk_attention_view *view,
                                  const mgk_attention_layer *layer, const arrays *a,
                                  const gradients *d)
{
    const mgk_dense_operations *dense = device->op->dense;
    const size_t m = a->maps.rows, count = a->maps.samples * a->maps.heads;
    const size_t dim = a->landmarks.dim;
    const double scale = softmax(view).scale[0];
    const mgk_head_strides strides = mgk_token_strides(&a->landmarks);
    TRY(device->op->zero(device, d->kernel, a->square * device->real_size));
    if (is_csalr(layer))
        TRY(dense->shifted_inverse_backward(device, count, m, a->inverse, d->inverse, d->kernel));
    else
        TRY(dense->newton_inverse_backward(device, count, m, STEPS, a->kernel, d->inverse,
                                           d->kernel));
    TRY(dense->softmax_rows_backward(device, &a->maps, a->kernel, d->kernel, d->kernel));
    TRY(multiply(device, a, dim, m, scale, of_map(a, d->kernel, false),
                 of_landmarks(a, a->keys, false), 1, strides, d->queries));
    return multiply(device, a, dim, m, scale, of_map(a, d->kernel, true),
                    of_landmarks(a, a->queries, false), 1, strides, d->keys);
}

static mgk_status convolution_backward(mgk_device *device, const mgk_attention_view *view,
                                       const mgk_attention_layer *layer, const void *doutput,
                                       size_t output_stride, const mgk_layer_gradient *gradient)
{
    const mgk_head_tokens values = tokens_of(view, view->value_stride);
    const mgk_token_kernel kernel = convolution(layer);
    if (kernel.taps == 0)
        return STATUS_OK;
    return device->op->dense->convolve_tokens_backward(device, &values, &kernel, view->value,
                                                       doutput, output_stride, gradient->view.value,
                                                       gradient->parameters[0]);
}

/* The left tile is computed anew: its gradient wants its output without the convolution. Each token
 * of the gradient is copied as the mean of itself. */
static mgk_status left_backward(mgk_device *device, const mgk_attention_view *view, const arrays *a,
                                const gradients *d, const void *doutput, size_t output_stride,
                                void *dquery)
{
    const mgk_attention_view left = left_view(view, a);
    const mgk_mixture mixture = softmax(view);
    const size_t stride = a->landmarks.stride;
    const mgk_head_tokens outputs = tokens_of(view, output_stride);
    const mgk_attention_gradient into = {.query = dquery, .key = d->keys, .value = d->mixed};
    /* d->queries takes the counts, which nobody needs. */
    TRY(device->op->dense->segment_means(device, &outputs, outputs.tokens, doutput, d->output,
                                         d->queries));
    TRY(device->op->mixture_attention(device, &left, &mixture, d->result, stride, a->statistic));
    return device->op->mixture_attention_backward(device, &left, &mixture, d->result, a->statistic,
                                                  d->output, stride, &into);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const mgk_dense_operations *dense = device->op->dense;
    const arrays a = arrays_of(device, view, layer);
    const gradients d = gradients_of(device, view, layer, &a);
    const mgk_attention_view right = right_view(view, &a);
    const mgk_mixture mixture = softmax(view);
    const size_t m = a.maps.rows, dim = a.landmarks.dim, few = a.landmarks.stride;
    const mgk_head_tokens queries = tokens_of(view, view->query_stride);
    const mgk_head_tokens keys = tokens_of(view, view->key_stride);
    const mgk_attention_gradient dright = {
        .query = d.queries, .key = gradient->view.key, .value = gradient->view.value};
    (void)output;
    TRY(left_backward(device, view, &a, &d, doutput, output_stride, gradient->view.query));
    TRY(multiply(device, &a, m, dim, 1, of_landmarks(&a, d.mixed, false),
                 of_landmarks(&a, a.weighed, true), 0, mgk_map_strides(&a.maps), d.inverse));
    TRY(multiply(device, &a, dim, m, 1, of_map(&a, a.inverse, true),
                 of_landmarks(&a, d.mixed, false), 0, mgk_token_strides(&a.landmarks), d.weighed));
    TRY(device->op->mixture_attention_backward(device, &right, &mixture, a.weighed,
                                               a.landmark_statistic, d.weighed, few, &dright));
    TRY(kernel_backward(device, view, layer, &a, &d));
    TRY(dense->segment_means_backward(device, &queries, m, d.queries, gradient->view.query));
    TRY(dense->segment_means_backward(device, &keys, m, d.keys, gradient->view.key));
    return convolution_backward(device, view, layer, doutput, output_stride, gradient);
}

/* The convolution of the identity matrix, whose columns are the numbers of a token: += . */
static mgk_status add_bands(mgk_device *device, const mgk_attention_view *view,
                            const mgk_attention_layer *layer, int sample, const int32_t *heads,
                            int count, void *out)
{
    const size_t n = (size_t)view->tokens;
    const mgk_head_tokens shape = {1, n, 1, n, n, view->lengths + sample};
    mgk_token_kernel kernel = convolution(layer);
    void *identity;
    TRY(device->op->allocate(device, n * n * device->real_size, &identity));
    mgk_status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < n; i++)
        status = mgk_device_upload(device, &(double){1}, 1, mgk_at(device, identity, i * n + i));
    for (int c = 0; status == STATUS_OK && c < count; c++) {
        kernel.weight = mgk_at(device, layer->parameters[0], (size_t)heads[c] * kernel.taps);
        status = device->op->dense->convolve_tokens(device, &shape, &kernel, identity,
                                                    mgk_at(device, out, (size_t)c * n * n), n);
    }
    device->op->release(device, identity);
    return status;
}

/* `heads` are on the host. */
static mgk_status multiply_factors(mgk_device *device, const mgk_attention_view *view,
                                   const mgk_attention_layer *layer, int sample,
                                   const int32_t *heads, int count, void *out)
{
    const arrays a = arrays_of(device, view, layer);
    const size_t n = (size_t)view->tokens, m = a.maps.rows, map = n * m;
    const void *left = layer->scratch, *right = mgk_at(device, left, (size_t)count * map);
    void *product = mgk_at(device, right, (size_t)count * map);
    for (size_t c = 0; c < (size_t)count; c++) {
        const size_t head = (size_t)sample * a.maps.heads + (size_t)heads[c];
        TRY(device->op->multiply(device, false, false, n, m, m, 1, mgk_at(device, left, c * map), m,
                                 mgk_at(device, a.inverse, head * m * m), m, 0, product, m));
        TRY(device->op->multiply(device, false, false, n, n, m, 1, product, m,
                                 mgk_at(device, right, c * map), n, 0,
                                 mgk_at(device, out, c * n * n), n));
    }
    return convolution(layer).taps > 0 ? add_bands(device, view, layer, sample, heads, count, out)
                                       : STATUS_OK;
}

static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    const arrays a = arrays_of(device, view, layer);
    const mgk_attention_view left = left_view(view, &a), right = right_view(view, &a);
    const mgk_mixture mixture = softmax(view);
    const size_t map = (size_t)view->tokens * a.maps.rows;
    int32_t *chosen;
    (void)content; /* rows are not normalised */
    TRY(device->op->mixture_matrix(device, &left, &mixture, MGK_MATRIX_ATTENTION, sample, heads,
                                   count, layer->scratch));
    TRY(device->op->mixture_matrix(device, &right, &mixture, MGK_MATRIX_ATTENTION, sample, heads,
                                   count, mgk_at(device, layer->scratch, (size_t)count * map)));
    TRY(mgk_device_indices(device, heads, (size_t)count, &chosen));
    mgk_status status = multiply_factors(device, view, layer, sample, chosen, count, out);
    mgk_free(chosen);
    return status;
}

/* PyTorch's initial scale of a convolution. */
static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const size_t taps = (size_t)size->settings->kernel;
    out[0] = (mgk_kind_parameter){.name = "convolution",
                                  .axes = 2,
                                  .shape = {(size_t)size->heads, taps},
                                  .initial = MGK_INITIAL_NORMAL,
                                  .value = 1 / sqrt(3 * (double)taps)};
    return 1;
}

/* Two softmaxes of N by m, M, its inverse and product, the means, the convolution. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double m = size->settings->landmarks, tokens = size->tokens, dim = size->dim;
    const double inverse = kind == &mgk_attention_csalr ? 2 * m * m * m : 8.0 * STEPS * m * m * m;
    return size->heads * (2 * tokens * m * (4 * dim + 5) + m * m * (4 * dim + 5) + inverse +
                          2 * tokens * dim * (1 + size->settings->kernel));
}

static const mgk_attention_methods methods = {.primitives = "factors, tile",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

#define LANDMARKS                                                                          \
    .not_causal = true, .unnormalized = true, .signed_entries = true, .methods = &methods, \
    .flops = flops

const mgk_attention_kind mgk_attention_nystrom = {
    .name = "nystrom",
    .score = "softmax(Q L_K') M^+ softmax(L_Q K') + a band of kernel keys",
    .rank_bound = "N",
    .defaults = {.landmarks = 64, .kernel = 33},
    .parameters = parameters,
    LANDMARKS,
};

const mgk_attention_kind mgk_attention_csalr = {
    .name = "csalr",
    .score = "softmax(Q L_K') (M + I)^-1 softmax(L_Q K')",
    .rank_bound = "landmarks",
    .defaults = {.landmarks = 64},
    LANDMARKS,
};
