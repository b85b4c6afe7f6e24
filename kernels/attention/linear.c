/* SPDX-License-Identifier: MIT */
/*
 * Linear attention (Katharopoulos et al. 2020), a_ij = φ(q_i)·φ(k_j) with φ = elu + 1, and its
 * mixtures (paper, Eqn. 14), a_ij = φ(q_i)·Σ_r π_jr φ(k_jr), with M projections (mlk) or M shifts
 * (smlk).
 */
#include "kernels/attention/kinds.h"

static mgk_linear scores(const mgk_attention_layer *layer)
{
    return (mgk_linear){.normalizer_epsilon = layer->normalizer_epsilon,
                        .fixed_normalizer = layer->fixed_normalizer,
                        .mix_keys = layer->mix_keys,
                        .prior = layer->prior};
}

/* The two variants of mgk_linear exist to read trained models. */
static mgk_status check_trainable(const mgk_attention_layer *layer)
{
    if (layer->fixed_normalizer > 0 || layer->mix_keys)
        return mgk_fail(STATUS_UNSUPPORTED, "linear attention that does not normalise its rows or "
                                            "mixes its keys cannot be trained");
    return STATUS_OK;
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride,
                          void *statistic)
{
    (void)statistic;
    mgk_linear linear = scores(layer);
    return device->op->linear_attention(device, view, &linear, output, output_stride);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride, const void *statistic,
                           const mgk_attention_gradient *gradient)
{
    (void)statistic;
    mgk_linear linear = scores(layer);
    TRY(check_trainable(layer));
    return device->op->linear_attention_backward(device, view, &linear, output, doutput,
                                                 output_stride, gradient);
}

static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *matrix)
{
    mgk_linear linear = scores(layer);
    return device->op->linear_matrix(device, view, &linear, content, sample, heads, count, matrix);
}

static mgk_status factors(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, int sample, const int32_t *heads,
                          int count, void *left, void *right)
{
    mgk_linear linear = scores(layer);
    return device->op->linear_factors(device, view, &linear, sample, heads, count, left, right);
}

static mgk_status update_prior(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, void *prior)
{
    mgk_linear linear = scores(layer);
    TRY(check_trainable(layer));
    return device->op->linear_responsibilities(device, view, &linear, prior);
}

/*
 * Per token: the features of the query and of M keys (two operations per element) and their
 * weighted sum, the update of Σ f vᵀ and Σ f, and the query's product with both.
 */
static double flops(const mgk_attention_size *size)
{
    double dim = size->dim, mixtures = size->mixtures;
    double features = 2 * dim * (1 + mixtures) + (mixtures > 1 ? 2 * dim * mixtures : 0);
    return (double)size->heads * size->tokens * (features + 4 * dim * dim + 4 * dim);
}

const mgk_attention_kind mgk_attention_linear = {
    .name = "linear",
    .score = "phi(q_i).phi(k_j), phi = elu + 1",
    .keys = MGK_KEYS_PROJECTED,
    .forward = forward,
    .backward = backward,
    .matrix = matrix,
    .factors = factors,
    .flops = flops,
};

const mgk_attention_kind mgk_attention_mlk = {
    .name = "mlk",
    .score = "phi(q_i).sum_r pi_jr phi(k_jr), k_jr = W_Kr x_j",
    .keys = MGK_KEYS_PROJECTED,
    .mixture = true,
    .forward = forward,
    .backward = backward,
    .matrix = matrix,
    .factors = factors,
    .update_prior = update_prior,
    .flops = flops,
};

const mgk_attention_kind mgk_attention_smlk = {
    .name = "smlk",
    .score = "phi(q_i).sum_r pi_jr phi(k_jr), k_jr = W_K x_j + b_r",
    .keys = MGK_KEYS_SHIFTED,
    .mixture = true,
    .forward = forward,
    .backward = backward,
    .matrix = matrix,
    .factors = factors,
    .update_prior = update_prior,
    .flops = flops,
};
