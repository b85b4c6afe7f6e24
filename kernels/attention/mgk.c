/*
 * Mixture of Gaussian keys with M key projections (paper, section 2.2):
 * a_ij = Σ_r π_jr exp(−‖q_i − k_jr‖² / 2σ_r²), or the largest term alone (hard-E).
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

mgk_status mgk_gaussian_forward(mgk_device *device, const mgk_attention_view *view,
                                const mgk_attention_layer *layer, void *output,
                                size_t output_stride, void *statistic)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_attention(device, view, &mixture, output, output_stride, statistic);
}

mgk_status mgk_gaussian_backward(mgk_device *device, const mgk_attention_view *view,
                                 const mgk_attention_layer *layer, const void *output,
                                 const void *doutput, size_t output_stride, const void *statistic,
                                 const mgk_attention_gradient *gradient)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_attention_backward(device, view, &mixture, output, statistic,
                                                  doutput, output_stride, gradient);
}

mgk_status mgk_gaussian_matrix(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, mgk_matrix_content content,
                               int sample, const int32_t *heads, int count, void *matrix)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_matrix(device, view, &mixture, content, sample, heads, count,
                                      matrix);
}

mgk_status mgk_gaussian_matrix_output(mgk_device *device, const mgk_attention_view *view,
                                      const mgk_attention_layer *layer, int sample,
                                      const int32_t *heads, int count, void *matrix, void *output,
                                      size_t output_stride)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_matrix_output(device, view, &mixture, sample, heads, count, matrix,
                                             output, output_stride);
}

mgk_status mgk_gaussian_update_prior(mgk_device *device, const mgk_attention_view *view,
                                     const mgk_attention_layer *layer, void *prior)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->responsibilities(device, view, &mixture, prior);
}

/*
 * As softmax, with M dot products a pair (each with its bias, maximum, difference, exponential and
 * sum), and the squared norm of each key; the value is weighted once.
 */
double mgk_gaussian_flops(const mgk_attention_size *size)
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
    .forward = mgk_gaussian_forward,
    .backward = mgk_gaussian_backward,
    .matrix = mgk_gaussian_matrix,
    .matrix_output = mgk_gaussian_matrix_output,
    .update_prior = mgk_gaussian_update_prior,
    .flops = mgk_gaussian_flops,
};
