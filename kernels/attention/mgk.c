/* SPDX-License-Identifier: MIT */
/*
 * Mixtures of Gaussian keys (paper, section 2.2):
 *     a_ij = Σ_r π_jr exp(−‖q_i − k_jr‖² / 2σ_r²), or only the largest term (hard-E).
 * mgk has M projections, k_jr = W_Kr x_j (design A); smgk has one projection and M learned shifts,
 * k_jr = W_K x_j + b_r (design B).
 */
#include "kernels/attention/kinds.h"

static mgk_mixture scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_mixture mixture = {.gaussian = true,
                           .hard = layer->prior_mode == MGK_PRIOR_HARD,
                           .normalizer_epsilon = layer->normalizer_epsilon,
                           .prior = layer->prior};
    for (int r = 0; r < view->mixtures; r++)
        mixture.scale[r] = 1 / layer->variance[r];
    return mixture;
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride,
                          void *statistic)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_attention(device, view, &mixture, output, output_stride, statistic);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride, const void *statistic,
                           const mgk_attention_gradient *gradient)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_attention_backward(device, view, &mixture, output, statistic,
                                                  doutput, output_stride, gradient);
}

static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *matrix)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_matrix(device, view, &mixture, content, sample, heads, count,
                                      matrix);
}

static mgk_status matrix_output(mgk_device *device, const mgk_attention_view *view,
                                const mgk_attention_layer *layer, int sample, const int32_t *heads,
                                int count, void *matrix, void *output, size_t output_stride)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_matrix_output(device, view, &mixture, sample, heads, count, matrix,
                                             output, output_stride);
}

static mgk_status update_prior(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, void *prior)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->responsibilities(device, view, &mixture, prior);
}

/*
 * Softmax with M dot products per pair (each with its bias, maximum, difference, exponential and
 * sum) and the squared norm of each key; the value is weighted once.
 */
static double flops(const mgk_attention_size *size)
{
    double mixtures = size->mixtures, dim = size->dim;
    return size->heads * (mgk_attention_pairs(size) * (mixtures * (2 * dim + 6) + 2 * dim) +
                          size->tokens * (mixtures * (2 * dim + 2) + dim));
}

const mgk_attention_kind mgk_attention_mgk = {
    .name = "mgk",
    .score = "sum_r pi_jr exp(-|q_i - k_jr|^2 / (2 sigma_r^2)), k_jr = W_Kr x_j",
    .keys = MGK_KEYS_PROJECTED,
    .mixture = true,
    .gaussian = true,
    .forward = forward,
    .backward = backward,
    .matrix = matrix,
    .matrix_output = matrix_output,
    .update_prior = update_prior,
    .flops = flops,
};

const mgk_attention_kind mgk_attention_smgk = {
    .name = "smgk",
    .score = "sum_r pi_jr exp(-|q_i - k_jr|^2 / (2 sigma_r^2)), k_jr = W_K x_j + b_r",
    .keys = MGK_KEYS_SHIFTED,
    .mixture = true,
    .gaussian = true,
    .forward = forward,
    .backward = backward,
    .matrix = matrix,
    .matrix_output = matrix_output,
    .update_prior = update_prior,
    .flops = flops,
};
