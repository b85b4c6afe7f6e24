/* SPDX-License-Identifier: MIT */
/*
 * Talking-heads attention (Shazeer et al. 2020): maps over heads before and after the softmax,
 *     A = P_w softmax(P_l S),   S_h = Q_h K_hᵀ / √D.
 * The parameters are what P_l and P_w have beyond the identity, so that a new model is softmax
 * attention. `kept` is softmax(P_l S), then A.
 */
#include "kernels/attention/kinds.h"
#include "kernels/attention/scores.h"

enum { LOGITS_MIX, WEIGHTS_MIX };

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const size_t heads = (size_t)size->heads;
    static const char *const names[] = {"logits.mix", "weights.mix"};
    for (int i = 0; i < 2; i++)
        out[i] = (mgk_kind_parameter){
            .name = names[i], .axes = 2, .shape = {heads, heads}, .initial = MGK_INITIAL_CONSTANT};
    return 2;
}

static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t one = mgk_scores_size(size, samples);
    return (mgk_kind_memory){.kept = 2 * one, .scratch = training ? 2 * one : 0};
}

/* dmix += Σ dy xᵀ over samples, one after the other. */
static mgk_status mix_gradient(mgk_device *device, const mgk_head_maps *maps, const void *x,
                               const void *dy, void *dmix)
{
    const mgk_head_strides map = mgk_map_strides(maps);
    const mgk_batched_product product = {.samples = 1,
                                         .heads = 1,
                                         .m = maps->heads,
                                         .n = maps->heads,
                                         .k = map.head,
                                         .transpose_b = true,
                                         .alpha = 1,
                                         .beta = 1,
                                         .a = {0, 0, map.head},
                                         .b = {0, 0, map.head},
                                         .c = {0, 0, maps->heads}};
    for (size_t b = 0; b < maps->samples; b++)
        TRY(device->op->dense->batched_multiply(device, &product,
                                                mgk_at(device, dy, b * map.sample),
                                                mgk_at(device, x, b * map.sample), dmix));
    return STATUS_OK;
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    const mgk_dense_operations *dense = device->op->dense;
    const mgk_head_maps maps = mgk_scores_maps(view);
    const void *const *mix = layer->parameters;
    void *weights = layer->kept, *mixed = mgk_at(device, weights, mgk_scores_count(view));
    TRY(mgk_scores_multiply(device, view, 0, weights));
    TRY(dense->mix_heads(device, &maps, mix[LOGITS_MIX], false, weights, weights));
    TRY(dense->softmax_rows(device, &maps, weights));
    return dense->mix_heads(device, &maps, mix[WEIGHTS_MIX], false, weights, mixed);
}

/* The product of maps, or their transposes, with tokens [B, N, H, D]; both strides as given. */
static mgk_batched_product weigh(const mgk_attention_view *view, bool transpose, size_t from,
                                 size_t to)
{
    const mgk_head_maps maps = mgk_scores_maps(view);
    const size_t dim = (size_t)view->dim;
    return (mgk_batched_product){.samples = maps.samples,
                                 .heads = maps.heads,
                                 .m = maps.rows,
                                 .n = dim,
                                 .k = maps.cols,
                                 .transpose_a = transpose,
                                 .alpha = 1,
                                 .a = mgk_map_strides(&maps),
                                 .b = {maps.rows * from, dim, from},
                                 .c = {maps.rows * to, dim, to}};
}

static mgk_status forward(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const void *mixed = mgk_at(device, layer->kept, mgk_scores_count(view));
    const mgk_batched_product product = weigh(view, false, view->value_stride, output_stride);
    return device->op->dense->batched_multiply(device, &product, mixed, view->value, output);
}

/* dV = Aᵀ dY; dA = dY Vᵀ. */
static mgk_status output_backward(mgk_device *device, const mgk_attention_view *view,
                                  const void *mixed, const void *doutput, size_t output_stride,
                                  void *dvalue, void *dmixed)
{
    const mgk_batched_product to_values = weigh(view, true, output_stride, view->value_stride);
    mgk_batched_product to_maps = to_values;
    to_maps.n = to_values.k;
    to_maps.k = to_values.n;
    to_maps.transpose_a = false;
    to_maps.transpose_b = true;
    to_maps.a = to_values.b;
    to_maps.b = to_values.c;
    to_maps.c = to_values.a;
    TRY(device->op->dense->batched_multiply(device, &to_values, mixed, doutput, dvalue));
    return device->op->dense->batched_multiply(device, &to_maps, doutput, view->value, dmixed);
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    (void)output;
    const mgk_dense_operations *dense = device->op->dense;
    const mgk_head_maps maps = mgk_scores_maps(view);
    const size_t count = mgk_scores_count(view);
    const void *weights = layer->kept, *mixed = mgk_at(device, weights, count);
    const void *const *mix = layer->parameters;
    void *dmaps = layer->scratch, *logits = mgk_at(device, dmaps, count);
    TRY(output_backward(device, view, mixed, doutput, output_stride, gradient->view.value, dmaps));
    TRY(mix_gradient(device, &maps, weights, dmaps, gradient->parameters[WEIGHTS_MIX]));
    TRY(dense->mix_heads(device, &maps, mix[WEIGHTS_MIX], true, dmaps, dmaps));
    TRY(dense->softmax_rows_backward(device, &maps, weights, dmaps, dmaps));
    TRY(mgk_scores_multiply(device, view, 0, logits));
    TRY(mix_gradient(device, &maps, logits, dmaps, gradient->parameters[LOGITS_MIX]));
    TRY(dense->mix_heads(device, &maps, mix[LOGITS_MIX], true, dmaps, dmaps));
    return mgk_scores_multiply_backward(device, view, dmaps, &gradient->view);
}

/* Rows are not normalised after P_w: their scores are A as it is. */
static mgk_status matrix(mgk_device *device, const mgk_attention_view *view,
                         const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                         const int32_t *heads, int count, void *out)
{
    (void)content;
    const mgk_head_maps maps = mgk_scores_maps(view);
    const mgk_head_strides map = mgk_map_strides(&maps);
    const size_t first = mgk_scores_count(view) + (size_t)sample * map.sample;
    const mgk_head_tokens rows = {
        .samples = 1, .tokens = maps.heads, .heads = 1, .dim = map.head, .stride = map.head};
    return device->op->dense->gather_tokens(device, &rows, (size_t)count, heads,
                                            mgk_at(device, layer->kept, first), out, map.head);
}

/* Softmax, and two products over heads of every pair. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double maps = (double)size->heads * size->tokens * size->tokens;
    return mgk_scores_flops(kind, size) + maps * 4 * size->heads;
}

static const mgk_attention_methods methods = {.primitives = "mixing",
                                              .memory = memory,
                                              .prepare = prepare,
                                              .forward = forward,
                                              .backward = backward,
                                              .matrix = matrix};

const mgk_attention_kind mgk_attention_talking_heads = {
    .name = "talking-heads",
    .score = "P_w softmax(P_l q_i.k_j / sqrt(D)), P_l and P_w over heads",
    .rank_bound = "N",
    .keys = MGK_KEYS_PROJECTED,
    .unnormalized = true,
    .signed_entries = true,
    .plain_sums = true,
    .methods = &methods,
    .parameters = parameters,
    .flops = flops,
};
