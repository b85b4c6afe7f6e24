/* SPDX-License-Identifier: MIT */
/*
 * Logits that pass from layer to layer. `kept` is S, and a statistic of each row.
 *   realformer  S_l = Q Kᵀ / √D + S_{l−1} (He et al. 2021, RealFormer)
 *   lazyformer  S_l = S_{l−1} in every second layer, else Q Kᵀ / √D (Ying et al. 2021, LazyFormer):
 *               the layer has the attention of the one below, and does not use its queries and
 *               keys
 */
#include "kernels/attention/kinds.h"
#include "kernels/attention/scores.h"

static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    return (mgk_kind_memory){.kept = mgk_scores_kept(size, samples),
                             .scratch = training ? mgk_scores_size(size, samples) : 0};
}

/* S = the logits of the layer below; where layers share their memory, they are there. */
static mgk_status copy_below(mgk_device *device, const mgk_attention_view *view,
                             const mgk_attention_layer *layer)
{
    if (layer->below == layer->kept)
        return STATUS_OK;
    return device->op->dense->add_scaled(device, mgk_scores_count(view), 1, layer->below, 0,
                                         layer->kept);
}

static mgk_status realformer_prepare(mgk_device *device, const mgk_attention_view *view,
                                     const mgk_attention_layer *layer)
{
    if (layer->below)
        TRY(copy_below(device, view, layer));
    return mgk_scores_multiply(device, view, layer->below ? 1 : 0, layer->kept);
}

/* gradient->below += dscores, if there is a layer below. */
static mgk_status add_below(mgk_device *device, const mgk_attention_view *view, const void *dscores,
                            const mgk_layer_gradient *gradient)
{
    if (!gradient->below)
        return STATUS_OK;
    return device->op->dense->add_scaled(device, mgk_scores_count(view), 1, dscores, 1,
                                         gradient->below);
}

static mgk_status realformer_backward(mgk_device *device, const mgk_attention_view *view,
                                      const mgk_attention_layer *layer, const void *output,
                                      const void *doutput, size_t output_stride,
                                      const mgk_layer_gradient *gradient)
{
    void *dscores = layer->scratch;
    TRY(mgk_scores_backward(device, view, layer, output, doutput, output_stride, gradient,
                            dscores));
    TRY(add_below(device, view, dscores, gradient));
    return mgk_scores_multiply_backward(device, view, dscores, &gradient->view);
}

static double realformer_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double sums = size->below ? (double)size->heads * size->tokens * size->tokens : 0;
    return mgk_scores_flops(kind, size) + sums;
}

static bool is_second(const mgk_attention_size *size)
{
    return size->layer % 2 == 1;
}

/* Whether a layer has the attention of the one below. */
static bool is_lazy(const mgk_attention_layer *layer)
{
    return is_second(&layer->size) && layer->below;
}

static mgk_status lazyformer_prepare(mgk_device *device, const mgk_attention_view *view,
                                     const mgk_attention_layer *layer)
{
    return is_lazy(layer) ? copy_below(device, view, layer)
                          : mgk_scores_multiply(device, view, 0, layer->kept);
}

static mgk_status lazyformer_backward(mgk_device *device, const mgk_attention_view *view,
                                      const mgk_attention_layer *layer, const void *output,
                                      const void *doutput, size_t output_stride,
                                      const mgk_layer_gradient *gradient)
{
    void *dscores = layer->scratch;
    const bool lazy = is_lazy(layer);
    TRY(mgk_scores_backward(device, view, layer, output, doutput, output_stride, gradient,
                            dscores));
    if (lazy)
        TRY(add_below(device, view, dscores, gradient));
    return mgk_scores_multiply_backward(device, view, lazy ? NULL : dscores, &gradient->view);
}

static double lazyformer_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double pairs = (double)size->tokens * size->tokens;
    const double products =
        is_second(size) && size->below ? size->heads * pairs * 2 * size->dim : 0;
    return mgk_scores_flops(kind, size) - products;
}

static const mgk_attention_methods realformer_methods = {MGK_SCORES_METHODS, .memory = memory,
                                                         .prepare = realformer_prepare,
                                                         .backward = realformer_backward};

const mgk_attention_kind mgk_attention_realformer = {
    .name = "realformer",
    .score = "exp(s_ij), s_ij = q_i.k_j / sqrt(D) + s_ij of the layer below",
    .rank_bound = "N",
    .keys = MGK_KEYS_PROJECTED,
    .reads_below = true,
    .methods = &realformer_methods,
    .flops = realformer_flops,
};

static const mgk_attention_methods lazyformer_methods = {MGK_SCORES_METHODS, .memory = memory,
                                                         .prepare = lazyformer_prepare,
                                                         .backward = lazyformer_backward};

const mgk_attention_kind mgk_attention_lazyformer = {
    .name = "lazyformer",
    .score = "exp(q_i.k_j / sqrt(D)), in every second layer that of the layer below",
    .rank_bound = "N",
    .keys = MGK_KEYS_PROJECTED,
    .reads_below = true,
    .methods = &lazyformer_methods,
    .flops = lazyformer_flops,
};
