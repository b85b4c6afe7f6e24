/* SPDX-License-Identifier: MIT */
/*
 * Two attentions with m learned queries I between them, in O(N m):
 *     P = softmax(I Kᵀ / √D) V of each head,
 *     output = softmax(Q (Y W_k)ᵀ / √D) (Y W_v), where W_k and W_v are maps over all heads.
 *
 * Luna (Ma et al. 2021): Y = P. So the output sums products A^h A_pack^h' of all pairs of heads.
 * Set Transformer, its induced block (Lee et al. 2019): Y = X + relu(X W), X = I + P.
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

enum {
    INDUCING,
    KEY_WEIGHT,
    VALUE_WEIGHT,
    LUNA_PARAMETERS,
    SET_WEIGHT = LUNA_PARAMETERS,
    SET_PARAMETERS
};

static bool is_set(const mgk_attention_layer *layer)
{
    return layer->kind == &mgk_attention_set;
}

static size_t width_of(const mgk_attention_size *size)
{
    return (size_t)(size->heads * size->dim);
}

/* Numbers of an array [B, m, H, D]. */
static size_t few(const mgk_attention_size *size, int samples)
{
    return (size_t)samples * (size_t)size->settings->landmarks * width_of(size);
}

/* What a layer keeps; all but the statistics and lengths [B] are [B, m, H, D]. */
typedef struct arrays {
    void *inducing, *packed, *key, *value;
    void *sum, *hidden, *mixed; /* X, X W and Y; luna: `mixed` is `packed` */
    void *pack_statistic, *statistic;
    int32_t *lengths; /* m */
} arrays;

enum { LUNA_ARRAYS = 4, SET_ARRAYS = 7 };

static mgk_kind_memory memory_of(const mgk_attention_size *size, int samples, bool training,
                                 size_t own)
{
    const size_t rows = (size_t)(samples * size->heads) * (size_t)size->settings->landmarks;
    return (mgk_kind_memory){.kept = own * few(size, samples) + rows +
                                     mgk_tile_statistics(size, samples) + (size_t)samples,
                             .scratch = training ? own * few(size, samples) : 0};
}

static mgk_kind_memory luna_memory(const mgk_attention_size *size, int samples, bool training)
{
    return memory_of(size, samples, training, LUNA_ARRAYS);
}

static mgk_kind_memory set_memory(const mgk_attention_size *size, int samples, bool training)
{
    return memory_of(size, samples, training, SET_ARRAYS);
}

/* The arrays of `kept`; or those of their gradients in scratch, which has no statistics. */
static arrays arrays_at(const mgk_device *device, const mgk_attention_layer *layer, int samples,
                        void *memory)
{
    const mgk_attention_size *size = &layer->size;
    const size_t count = few(size, samples);
    const size_t rows = (size_t)(samples * size->heads) * (size_t)size->settings->landmarks;
    arrays a = {.inducing = memory};
    a.packed = mgk_at(device, memory, count);
    a.key = mgk_at(device, memory, 2 * count);
    a.value = mgk_at(device, memory, 3 * count);
    a.sum = mgk_at(device, memory, 4 * count);
    a.hidden = mgk_at(device, memory, 5 * count);
    a.mixed = is_set(layer) ? mgk_at(device, memory, 6 * count) : a.packed;
    a.pack_statistic = mgk_at(device, memory, (is_set(layer) ? SET_ARRAYS : LUNA_ARRAYS) * count);
    a.statistic = mgk_at(device, a.pack_statistic, rows);
    a.lengths = mgk_at(device, a.statistic, mgk_tile_statistics(size, samples));
    return a;
}

/* The learned queries see the tokens. */
static mgk_attention_view pack_view(const mgk_attention_view *view,
                                    const mgk_attention_layer *layer, const arrays *a)
{
    return mgk_other_queries(view, (size_t)layer->size.settings->landmarks, a->lengths,
                             a->inducing);
}

/* The tokens see what they packed. */
static mgk_attention_view unpack_view(const mgk_attention_view *view,
                                      const mgk_attention_layer *layer, const arrays *a)
{
    mgk_attention_view out = *view;
    out.key_tokens = layer->size.settings->landmarks;
    out.key_lengths = a->lengths;
    out.key = a->key;
    out.value = a->value;
    out.key_stride = out.value_stride = width_of(&layer->size);
    return out;
}

/* y = x W for x [B m, H D], with a parameter W. */
static mgk_status map(mgk_device *device, const mgk_attention_layer *layer, int samples,
                      int parameter, const void *x, void *y)
{
    const size_t width = width_of(&layer->size);
    return mgk_map_vectors(device, few(&layer->size, samples) / width, width,
                           layer->parameters[parameter], x, y);
}

/* From dy: dx = dy Wᵀ + beta dx, and the gradient of W. */
static mgk_status map_backward(mgk_device *device, const mgk_attention_layer *layer, int samples,
                               int parameter, const void *x, const void *dy, double beta, void *dx,
                               const mgk_layer_gradient *gradient)
{
    const size_t width = width_of(&layer->size);
    return mgk_map_vectors_backward(device, few(&layer->size, samples) / width, width,
                                    layer->parameters[parameter], x, dy, beta, dx,
                                    gradient->parameters[parameter]);
}

/* Y of a set from P. */
static mgk_status mix(mgk_device *device, const mgk_attention_layer *layer, int samples,
                      const arrays *a)
{
    const size_t count = few(&layer->size, samples), width = width_of(&layer->size);
    const mgk_dense_operations *dense = device->op->dense;
    TRY(dense->add_scaled(device, count, 1, a->inducing, 0, a->sum));
    TRY(dense->add_scaled(device, count, 1, a->packed, 1, a->sum));
    TRY(map(device, layer, samples, SET_WEIGHT, a->sum, a->hidden));
    TRY(device->op->bias_activation(device, MGK_ACTIVATION_RELU, count / width, width, NULL,
                                    a->hidden, a->mixed));
    return dense->add_scaled(device, count, 1, a->sum, 1, a->mixed);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const arrays a = arrays_at(device, layer, view->samples, layer->kept);
    const mgk_attention_view pack = pack_view(view, layer, &a);
    const mgk_mixture mixture = mgk_dot_products(view);
    const size_t one = few(&layer->size, 1), width = width_of(&layer->size);
    const int32_t rows = layer->size.settings->landmarks;
    for (size_t b = 0; b < (size_t)view->samples; b++) {
        TRY(device->op->copy(device, mgk_at(device, a.inducing, b * one),
                             layer->parameters[INDUCING], one * device->real_size));
        TRY(device->op->upload(device, a.lengths + b, &rows, sizeof(rows)));
    }
    TRY(device->op->mixture_attention(device, &pack, &mixture, a.packed, width, a.pack_statistic));
    if (is_set(layer))
        TRY(mix(device, layer, view->samples, &a));
    TRY(map(device, layer, view->samples, KEY_WEIGHT, a.mixed, a.key));
    return map(device, layer, view->samples, VALUE_WEIGHT, a.mixed, a.value);
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const arrays a = arrays_at(device, layer, view->samples, layer->kept);
    const mgk_attention_view unpack = unpack_view(view, layer, &a);
    const mgk_mixture mixture = mgk_dot_products(view);
    return device->op->mixture_attention(device, &unpack, &mixture, output, output_stride,
                                         a.statistic);
}

/* dX, which is dP, from dY; and the gradient of W. */
static mgk_status mix_backward(mgk_device *device, const mgk_attention_layer *layer, int samples,
                               const arrays *a, const arrays *d, const mgk_layer_gradient *gradient)
{
    const size_t count = few(&layer->size, samples);
    TRY(device->op->activation_backward(device, MGK_ACTIVATION_RELU, count, a->hidden, d->mixed,
                                        d->hidden));
    TRY(device->op->dense->add_scaled(device, count, 1, d->mixed, 0, d->packed));
    return map_backward(device, layer, samples, SET_WEIGHT, a->sum, d->hidden, 1, d->packed,
                        gradient);
}

/* dinducing += of all samples. */
static mgk_status add_samples(mgk_device *device, const mgk_attention_layer *layer, int samples,
                              const void *dqueries, void *dinducing)
{
    const size_t one = few(&layer->size, 1);
    for (size_t b = 0; b < (size_t)samples; b++)
        TRY(device->op->dense->add_scaled(device, one, 1, mgk_at(device, dqueries, b * one), 1,
                                          dinducing));
    return STATUS_OK;
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const int samples = view->samples;
    const arrays a = arrays_at(device, layer, samples, layer->kept);
    const arrays d = arrays_at(device, layer, samples, layer->scratch);
    const mgk_attention_view pack = pack_view(view, layer, &a);
    const mgk_attention_view unpack = unpack_view(view, layer, &a);
    const mgk_mixture mixture = mgk_dot_products(view);
    const mgk_attention_gradient to_unpack = {
        .query = gradient->view.query, .key = d.key, .value = d.value};
    const mgk_attention_gradient to_pack = {
        .query = d.inducing, .key = gradient->view.key, .value = gradient->view.value};
    void *dinducing = gradient->parameters[INDUCING];
    TRY(device->op->mixture_attention_backward(device, &unpack, &mixture, output, a.statistic,
                                               doutput, output_stride, &to_unpack));
    TRY(map_backward(device, layer, samples, KEY_WEIGHT, a.mixed, d.key, 0, d.mixed, gradient));
    TRY(map_backward(device, layer, samples, VALUE_WEIGHT, a.mixed, d.value, 1, d.mixed, gradient));
    if (is_set(layer)) {
        TRY(mix_backward(device, layer, samples, &a, &d, gradient));
        TRY(add_samples(device, layer, samples, d.packed, dinducing));
    }
    TRY(device->op->mixture_attention_backward(device, &pack, &mixture, a.packed, a.pack_statistic,
                                               d.packed, width_of(&layer->size), &to_pack));
    return add_samples(device, layer, samples, d.inducing, dinducing);
}

static int luna_parameters(const mgk_attention_size *size,
                           mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const size_t width = width_of(size);
    const mgk_kind_parameter weight = {.axes = 2,
                                       .shape = {width, width},
                                       .initial = MGK_INITIAL_NORMAL,
                                       .value = 1 / sqrt((double)width)};
    out[INDUCING] = (mgk_kind_parameter){
        .name = "inducing",
        .axes = 3,
        .shape = {(size_t)size->settings->landmarks, (size_t)size->heads, (size_t)size->dim},
        .initial = MGK_INITIAL_NORMAL,
        .value = 1};
    out[KEY_WEIGHT] = out[VALUE_WEIGHT] = weight;
    out[KEY_WEIGHT].name = "induced.key";
    out[VALUE_WEIGHT].name = "induced.value";
    return LUNA_PARAMETERS;
}

static int set_parameters(const mgk_attention_size *size,
                          mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    luna_parameters(size, out);
    out[SET_WEIGHT] = out[KEY_WEIGHT];
    out[SET_WEIGHT].name = "induced.hidden";
    return SET_PARAMETERS;
}

/* Two attentions of m and N, and maps of m tokens. */
static double flops_of(const mgk_attention_size *size, double maps)
{
    const double m = size->settings->landmarks, tokens = size->tokens, dim = size->dim;
    const double width = size->heads * dim;
    return 2 * size->heads * tokens * m * (4 * dim + 5) + width * (tokens + m) +
           maps * 2 * m * width * width;
}

static double luna_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    return flops_of(size, 2);
}

static double set_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    return flops_of(size, 3);
}

#define INDUCED \
    .primitives = "factors, tile", .prepare = prepare, .forward = forward, .backward = backward

static const mgk_attention_methods luna_methods = {INDUCED, .memory = luna_memory};
static const mgk_attention_methods set_methods = {INDUCED, .memory = set_memory};

const mgk_attention_kind mgk_attention_set = {
    .name = "set",
    .score = "exp(q_i.(Y W_k)_s / sqrt(D)), Y = X + relu(X W), X = I + softmax(I K' / sqrt(D)) V",
    .rank_bound = "landmarks",
    .no_matrix = "a nonlinear map lies between its two attentions, so that a token has no weight "
                 "of its own",
    .defaults = {.landmarks = 32},
    .not_causal = true,
    .plain_sums = true,
    .methods = &set_methods,
    .parameters = set_parameters,
    .flops = set_flops,
};

const mgk_attention_kind mgk_attention_luna = {
    .name = "luna",
    .score = "exp(q_i.(P W_k)_s / sqrt(D)), P = softmax(I K' / sqrt(D)) V",
    .rank_bound = "landmarks",
    .no_matrix = "maps over all heads lie between its two attentions, so that there are products "
                 "of every head with every other, and no matrix of a head alone",
    .defaults = {.landmarks = 16},
    .not_causal = true,
    .plain_sums = true,
    .methods = &luna_methods,
    .parameters = luna_parameters,
    .flops = luna_flops,
};
