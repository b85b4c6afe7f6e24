/* SPDX-License-Identifier: MIT */
/*
 * Scaled dot-product attention (Vaswani et al. 2017): a_ij = exp(q_i·k_j / √D). Models of other
 * software may have another scale, and further terms (mgk_score_terms).
 */
#include <math.h>

#include "kernels/attention/kinds.h"

static mgk_mixture scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    return (mgk_mixture){.scale = {layer->scale > 0 ? layer->scale : 1 / sqrt(view->dim)},
                         .normalizer_epsilon = layer->normalizer_epsilon,
                         .terms = layer->terms};
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
                         const int32_t *heads, int count, void *out)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_matrix(device, view, &mixture, content, sample, heads, count, out);
}

static mgk_status matrix_output(mgk_device *device, const mgk_attention_view *view,
                                const mgk_attention_layer *layer, int sample, const int32_t *heads,
                                int count, void *out, void *output, size_t output_stride)
{
    mgk_mixture mixture = scores(view, layer);
    return device->op->mixture_matrix_output(device, view, &mixture, sample, heads, count, out,
                                             output, output_stride);
}

/*
 * Per pair: a dot product, its scale, maximum, difference, exponential and sum, and a weighted
 * value. A bias is one more sum; a cap is two scales and a tanh, of an exponential, two sums and a
 * division.
 */
static double flops(const mgk_attention_size *size)
{
    double terms = (size->terms.bias ? 1 : 0) + (size->terms.cap > 0 ? 6 : 0);
    return size->heads * (mgk_attention_pairs(size) * (4.0 * size->dim + 5 + terms) +
                          (double)size->tokens * size->dim);
}

const mgk_attention_kind mgk_attention_softmax = {
    .name = "softmax",
    .score = "exp(q_i.k_j / sqrt(D))",
    .keys = MGK_KEYS_PROJECTED,
    .terms = true,
    .forward = forward,
    .backward = backward,
    .matrix = matrix,
    .matrix_output = matrix_output,
    .flops = flops,
};
