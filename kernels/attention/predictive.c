/* SPDX-License-Identifier: MIT */
/*
 * Predictive attention (Wang et al. 2021, Evolving Attention): the logits of a layer are predicted
 * from those of the layer below, by a convolution of 3 x 3 whose channels are heads.
 *     T = (1 − β) Q Kᵀ / √D + β S_{l−1}
 *     S_l = (1 − α) T + α relu(conv T)
 * Without a layer below, S = Q Kᵀ / √D, and nobody reads the parameters. `kept` is S, a statistic
 * of each row, and T.
 */
#include <math.h>

#include "kernels/attention/kinds.h"
#include "kernels/attention/scores.h"

enum { ALPHA, BETA, CONVOLUTION, PARAMETERS };

/* Shares of the convolution and of the layer below in a new model. */
static const double initial_share = 0.1;

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const size_t heads = (size_t)size->heads;
    const mgk_kind_parameter share = {
        .axes = 1, .shape = {1}, .initial = MGK_INITIAL_CONSTANT, .value = initial_share};
    out[ALPHA] = out[BETA] = share;
    out[ALPHA].name = "alpha";
    out[BETA].name = "beta";
    out[CONVOLUTION] = (mgk_kind_parameter){.name = "convolution",
                                            .axes = 3,
                                            .shape = {heads, heads, 9},
                                            .initial = MGK_INITIAL_NORMAL,
                                            .value = sqrt(2 / (9.0 * size->heads))};
    return PARAMETERS;
}

static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t one = mgk_scores_size(size, samples);
    return (mgk_kind_memory){.kept = mgk_scores_kept(size, samples) + one,
                             .scratch = training ? 3 * one : one};
}

/* T, in `kept`. */
static void *blend(const mgk_device *device, const mgk_attention_layer *layer,
                   const mgk_attention_view *view)
{
    const size_t rows = (size_t)view->samples * (size_t)view->heads * (size_t)view->tokens;
    return mgk_at(device, layer->kept, mgk_scores_count(view) + rows);
}

/* y = sign share x + keep y, with the share on the device. */
static mgk_status add_share(mgk_device *device, const mgk_attention_view *view, double sign,
                            const void *share, const void *x, double keep, void *y)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    const mgk_head_strides sample = {mgk_map_strides(&maps).sample, 0,
                                     mgk_map_strides(&maps).sample};
    const mgk_batched_product product = {.samples = maps.samples,
                                         .heads = 1,
                                         .m = 1,
                                         .n = sample.row,
                                         .k = 1,
                                         .alpha = sign,
                                         .beta = keep,
                                         .a = {0, 0, 1},
                                         .b = sample,
                                         .c = sample};
    return device->op->dense->batched_multiply(device, &product, share, x, y);
}

/* dshare += sign Σ x y, one sample after the other. */
static mgk_status share_gradient(mgk_device *device, const mgk_attention_view *view, double sign,
                                 const void *x, const void *y, void *dshare)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    const size_t sample = mgk_map_strides(&maps).sample;
    const mgk_batched_product product = {.samples = 1,
                                         .heads = 1,
                                         .m = 1,
                                         .n = 1,
                                         .k = sample,
                                         .transpose_b = true,
                                         .alpha = sign,
                                         .beta = 1,
                                         .a = {0, 0, sample},
                                         .b = {0, 0, sample},
                                         .c = {0, 0, 1}};
    for (size_t b = 0; b < maps.samples; b++)
        TRY(device->op->dense->batched_multiply(device, &product, mgk_at(device, x, b * sample),
                                                mgk_at(device, y, b * sample), dshare));
    return STATUS_OK;
}

/* y = x − share x. */
static mgk_status rest(mgk_device *device, const mgk_attention_view *view, const void *share,
                       const void *x, void *y)
{
    TRY(device->op->dense->add_scaled(device, mgk_scores_count(view), 1, x, 0, y));
    return add_share(device, view, -1, share, x, 1, y);
}

/* y = relu(conv x). */
static mgk_status predict(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, const void *x, void *y)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    TRY(device->op->dense->convolve_maps(device, &maps, layer->parameters[CONVOLUTION], NULL, x,
                                         y));
    return device->op->bias_activation(
        device, MGK_ACTIVATION_RELU, maps.samples * maps.heads * maps.rows, maps.cols, NULL, y, y);
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const void *alpha = layer->parameters[ALPHA], *beta = layer->parameters[BETA];
    void *scores = layer->kept, *mixed = blend(device, layer, view), *scratch = layer->scratch;
    if (!layer->below)
        return mgk_scores_multiply(device, view, 0, scores);
    TRY(mgk_scores_multiply(device, view, 0, scratch));
    TRY(rest(device, view, beta, scratch, mixed));
    TRY(add_share(device, view, 1, beta, layer->below, 1, mixed));
    /* From here on nobody reads the layer below, whose memory `scores` may be. */
    TRY(predict(device, view, layer, mixed, scratch));
    TRY(rest(device, view, alpha, mixed, scores));
    return add_share(device, view, 1, alpha, scratch, 1, scores);
}

/*
 * dmixed, of T, from dscores, of S; and the gradients of α and the convolution. `room` is as large
 * as S.
 */
static mgk_status predict_backward(mgk_device *device, const mgk_attention_view *view,
                                   const mgk_attention_layer *layer, const void *dscores,
                                   const mgk_layer_gradient *gradient, void *room, void *dmixed)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    const size_t count = mgk_scores_count(view);
    const void *alpha = layer->parameters[ALPHA], *mixed = blend(device, layer, view);
    void *dalpha = gradient->parameters[ALPHA], *predicted = dmixed;
    TRY(predict(device, view, layer, mixed, predicted));
    TRY(share_gradient(device, view, 1, dscores, predicted, dalpha));
    TRY(share_gradient(device, view, -1, dscores, mixed, dalpha));
    TRY(add_share(device, view, 1, alpha, dscores, 0, room));
    TRY(device->op->activation_backward(device, MGK_ACTIVATION_RELU, count, predicted, room, room));
    TRY(device->op->dense->convolve_maps_backward(device, &maps, layer->parameters[CONVOLUTION],
                                                  mixed, room, dmixed,
                                                  gradient->parameters[CONVOLUTION], NULL));
    TRY(device->op->dense->add_scaled(device, count, 1, dscores, 1, dmixed));
    return add_share(device, view, -1, alpha, dscores, 1, dmixed);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    const size_t count = mgk_scores_count(view);
    const void *beta = layer->parameters[BETA];
    void *first = layer->scratch, *dmixed = mgk_at(device, first, count);
    void *dproduct = mgk_at(device, first, 2 * count), *dbeta = gradient->parameters[BETA];
    TRY(mgk_scores_backward(device, view, layer, output, doutput, output_stride, gradient, first));
    if (!layer->below)
        return mgk_scores_multiply_backward(device, view, first, &gradient->view);
    TRY(predict_backward(device, view, layer, first, gradient, dproduct, dmixed));
    TRY(mgk_scores_multiply(device, view, 0, first));
    TRY(share_gradient(device, view, -1, dmixed, first, dbeta));
    TRY(share_gradient(device, view, 1, dmixed, layer->below, dbeta));
    TRY(add_share(device, view, 1, beta, dmixed, 1, gradient->below));
    TRY(rest(device, view, beta, dmixed, dproduct));
    return mgk_scores_multiply_backward(device, view, dproduct, &gradient->view);
}

/* Per pair besides softmax: 9 H products, a maximum, and the two sums. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double maps = (double)size->heads * size->tokens * size->tokens;
    const double own = size->below ? maps * (18.0 * size->heads + 1 + 4 + 4) : 0;
    return mgk_scores_flops(kind, size) + own;
}

static const mgk_attention_methods methods = {MGK_SCORES_METHODS, .memory = memory,
                                              .prepare = prepare, .backward = backward};

const mgk_attention_kind mgk_attention_predictive = {
    .name = "predictive",
    .score = "exp((1 - alpha) t + alpha relu(conv3x3 t)), "
             "t = (1 - beta) q_i.k_j / sqrt(D) + beta times that of the layer below",
    .rank_bound = "N",
    .keys = MGK_KEYS_PROJECTED,
    .reads_below = true,
    .methods = &methods,
    .parameters = parameters,
    .flops = flops,
};
