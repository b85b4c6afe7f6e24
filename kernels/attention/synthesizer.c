/* SPDX-License-Identifier: MIT */
/*
 * Synthesizers (Tay et al. 2021): softmax of scores that no query and key meet for. Random ones are
 * a parameter, R or R_1 R_2ᵀ, and the same for all samples; dense ones are a perceptron of the
 * token, W_2 relu(q_i), whose first map is the layer's projection of queries.
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"
#include "kernels/dense.h"

/* R [H, length, length]. */
static int random_parameters(const mgk_attention_size *size,
                             mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const size_t length = (size_t)size->length;
    out[0] = (mgk_kind_parameter){.name = "score",
                                  .axes = 3,
                                  .shape = {(size_t)size->heads, length, length},
                                  .initial = MGK_INITIAL_NORMAL,
                                  .value = 1};
    return 1;
}

static mgk_mixture random_scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    const size_t length = (size_t)layer->size.length;
    (void)view;
    return (mgk_mixture){.scale = {1},
                         .terms = {.full = layer->parameters[0],
                                   .full_head_stride = length * length,
                                   .full_row_stride = length}};
}

/*
 * Dense and factored ones are tiles of vectors that this file makes: relu(q_i) and rows of W_2, or
 * rows of R_1 and R_2. Those of parameters are repeated for each sample.
 */
static size_t inner_dim(const mgk_attention_size *size)
{
    return size->settings->projection > 0 ? (size_t)size->settings->projection : (size_t)size->dim;
}

static size_t vectors(const mgk_attention_size *size, int samples)
{
    return (size_t)samples * (size_t)size->tokens * (size_t)size->heads * inner_dim(size);
}

/* Kept: queries, keys, what the queries were before relu, and the statistics. Scratch: a token of
 * zeros, and the gradients of queries and keys. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t count = vectors(size, samples);
    return (mgk_kind_memory){.kept = 3 * count + mgk_tile_statistics(size, samples),
                             .scratch =
                                 (size_t)(size->heads * size->dim) + (training ? 2 * count : 0)};
}

static mgk_attention_view replaced(const mgk_device *device, const mgk_attention_view *view,
                                   const mgk_attention_layer *layer)
{
    mgk_attention_view out = *view;
    out.dim = (int)inner_dim(&layer->size);
    out.value_dim = mgk_view_value_dim(view);
    out.query = layer->kept;
    out.key = mgk_at(device, layer->kept, vectors(&layer->size, view->samples));
    out.query_stride = out.key_stride = (size_t)view->heads * inner_dim(&layer->size);
    return out;
}

/* Copies the first tokens of a parameter [length, H, …] to each sample of an array. */
static mgk_status repeat(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, const void *parameter, void *array)
{
    const size_t sample = vectors(&layer->size, 1);
    for (int b = 0; b < view->samples; b++)
        TRY(device->op->copy(device, mgk_at(device, array, (size_t)b * sample), parameter,
                             sample * device->real_size));
    return STATUS_OK;
}

/* The reverse: += the gradients of all samples. */
static mgk_status add_samples(mgk_device *device, const mgk_attention_view *view,
                              const mgk_attention_layer *layer, const void *array, void *parameter)
{
    const size_t sample = vectors(&layer->size, 1);
    for (int b = 0; b < view->samples; b++)
        TRY(device->op->dense->add_scaled(device, sample, 1,
                                          mgk_at(device, array, (size_t)b * sample), 1, parameter));
    return STATUS_OK;
}

static size_t tokens_of(const mgk_attention_view *view)
{
    return (size_t)view->samples * (size_t)view->tokens;
}

static size_t width_of(const mgk_attention_view *view)
{
    return (size_t)view->heads * (size_t)view->dim;
}

/* relu of the queries, and W_2 as keys. */
static mgk_status prepare_dense(mgk_device *device, const mgk_attention_view *view,
                                const mgk_attention_layer *layer)
{
    const size_t count = vectors(&layer->size, view->samples), width = width_of(view);
    void *raw = mgk_at(device, layer->kept, 2 * count);
    TRY(device->op->zero(device, layer->scratch, width * device->real_size));
    TRY(device->op->shift_keys(device, tokens_of(view), 1, width, view->query, view->query_stride,
                               layer->scratch, raw));
    TRY(device->op->bias_activation(device, MGK_ACTIVATION_RELU, tokens_of(view), width, NULL, raw,
                                    layer->kept));
    return repeat(device, view, layer, layer->parameters[0], mgk_at(device, layer->kept, count));
}

static mgk_status prepare_factored(mgk_device *device, const mgk_attention_view *view,
                                   const mgk_attention_layer *layer)
{
    const size_t count = vectors(&layer->size, view->samples);
    TRY(repeat(device, view, layer, layer->parameters[0], layer->kept));
    return repeat(device, view, layer, layer->parameters[1], mgk_at(device, layer->kept, count));
}

/* Gradients of the tile's queries and keys to scratch memory. The layer's own keys are not read. */
static mgk_status tile_backward(mgk_device *device, const mgk_attention_view *view,
                                const mgk_attention_layer *layer, const void *output,
                                const void *doutput, size_t output_stride,
                                const mgk_layer_gradient *gradient, void **dquery, void **dkey)
{
    mgk_layer_gradient inner = *gradient;
    *dquery = mgk_at(device, layer->scratch, width_of(view));
    *dkey = mgk_at(device, *dquery, vectors(&layer->size, view->samples));
    inner.view.query = *dquery;
    inner.view.key = *dkey;
    TRY(mgk_zero_rows(device, tokens_of(view), width_of(view), view->key_stride,
                      gradient->view.key));
    return mgk_tile_backward(device, view, layer, output, doutput, output_stride, &inner);
}

static mgk_status backward_dense(mgk_device *device, const mgk_attention_view *view,
                                 const mgk_attention_layer *layer, const void *output,
                                 const void *doutput, size_t output_stride,
                                 const mgk_layer_gradient *gradient)
{
    const size_t count = vectors(&layer->size, view->samples), width = width_of(view);
    void *dquery, *dkey;
    TRY(tile_backward(device, view, layer, output, doutput, output_stride, gradient, &dquery,
                      &dkey));
    TRY(device->op->activation_backward(device, MGK_ACTIVATION_RELU, count,
                                        mgk_at(device, layer->kept, 2 * count), dquery, dquery));
    TRY(device->op->zero(device, layer->scratch, width * device->real_size));
    TRY(device->op->shift_keys_backward(device, tokens_of(view), 1, width, dquery,
                                        gradient->view.query, view->query_stride, layer->scratch));
    return add_samples(device, view, layer, dkey, gradient->parameters[0]);
}

static mgk_status backward_factored(mgk_device *device, const mgk_attention_view *view,
                                    const mgk_attention_layer *layer, const void *output,
                                    const void *doutput, size_t output_stride,
                                    const mgk_layer_gradient *gradient)
{
    void *dquery, *dkey;
    TRY(tile_backward(device, view, layer, output, doutput, output_stride, gradient, &dquery,
                      &dkey));
    TRY(mgk_zero_rows(device, tokens_of(view), width_of(view), view->query_stride,
                      gradient->view.query));
    TRY(add_samples(device, view, layer, dquery, gradient->parameters[0]));
    return add_samples(device, view, layer, dkey, gradient->parameters[1]);
}

static mgk_kind_parameter vectors_of(const char *name, const mgk_attention_size *size,
                                     double deviation)
{
    return (mgk_kind_parameter){
        .name = name,
        .axes = 3,
        .shape = {(size_t)size->length, (size_t)size->heads, inner_dim(size)},
        .initial = MGK_INITIAL_NORMAL,
        .value = deviation};
}

static int dense_parameters(const mgk_attention_size *size,
                            mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    out[0] = vectors_of("score.weight", size, 1 / sqrt(size->dim));
    return 1;
}

/* Scores begin with variance 1, as those of R do. */
static int factored_parameters(const mgk_attention_size *size,
                               mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const double deviation = pow((double)inner_dim(size), -0.25);
    out[0] = vectors_of("score.left", size, deviation);
    out[1] = vectors_of("score.right", size, deviation);
    return 2;
}

static mgk_mixture product_scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    (void)view, (void)layer;
    return (mgk_mixture){.scale = {1}};
}

/* A softmax and a weighted value per pair; with vectors a dot product, too. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double product = kind->positional ? 0 : 2.0 * (double)inner_dim(size);
    return size->heads * (mgk_attention_pairs(size) * (product + 2.0 * size->dim + 5) +
                          (double)size->tokens * size->dim);
}

#define VECTORS MGK_TILE, .memory = memory

static const mgk_attention_methods dense_methods = {VECTORS, .prepare = prepare_dense,
                                                    .backward = backward_dense};
static const mgk_attention_methods factored_methods = {VECTORS, .prepare = prepare_factored,
                                                       .backward = backward_factored};

const mgk_attention_kind mgk_attention_synthesizer_random = {
    .name = "synthesizer-random",
    .score = "exp(R_ij)",
    .rank_bound = "N",
    .positional = true,
    .methods = &mgk_tile_methods,
    .tile = random_scores,
    .parameters = random_parameters,
    .flops = flops,
};

const mgk_attention_kind mgk_attention_synthesizer_factored = {
    .name = "synthesizer-factored",
    .score = "exp(R1_i.R2_j)",
    .rank_bound = "N",
    .defaults = {.projection = 8},
    .methods = &factored_methods,
    .tile = product_scores,
    .replaced = replaced,
    .parameters = factored_parameters,
    .flops = flops,
};

const mgk_attention_kind mgk_attention_synthesizer_dense = {
    .name = "synthesizer-dense",
    .score = "exp(w_j.relu(q_i))",
    .rank_bound = "N",
    .methods = &dense_methods,
    .tile = product_scores,
    .replaced = replaced,
    .parameters = dense_parameters,
    .flops = flops,
};
