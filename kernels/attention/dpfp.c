/* SPDX-License-Identifier: MIT */
/*
 * Deterministic parameter-free projections (Schlag et al. 2021): with y = [relu(x), relu(−x)], the
 * products y_e y_(e − r) of y with itself rolled by r = 1 … ν are 2 D ν features. The row of a
 * query that has no feature in common with a key is 0, as in the authors' code.
 *
 * dpfp is linear attention with them. delta writes each value into a state S by the delta rule,
 *     S_t = S_{t−1} + β_t k_t (v_t − S_{t−1}ᵀ k_t)ᵀ,   o_t = S_tᵀ q_t,
 * where the features of queries and keys are divided by their sum, and β is the sigmoid of a
 * further number of each token and head. Layers keep φ(Q), φ(K) [B, N, H, R] and β [B, N, H].
 */
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

static size_t feature_count(const mgk_attention_size *size)
{
    return 2 * (size_t)size->dim * (size_t)size->settings->features;
}

static mgk_linear features(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    (void)view;
    return (mgk_linear){
        .normalizer_epsilon = layer->normalizer_epsilon,
        .features = {.map = MGK_FEATURES_DPFP, .rolls = layer->size.settings->features}};
}

/* Per vector: its two parts and a product for each feature. */
static double dpfp_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    const double count = (double)feature_count(size);
    return mgk_feature_flops(size, count, 2 * (2.0 * size->dim + count));
}

/* Features of queries and keys and the rate of every token and head, or their gradients. */
typedef struct delta_arrays {
    void *query, *key, *rate;
} delta_arrays;

static delta_arrays arrays_at(const mgk_device *device, const mgk_attention_view *view,
                              const mgk_attention_layer *layer, void *memory)
{
    const size_t rows = (size_t)view->samples * (size_t)view->tokens * (size_t)view->heads;
    const size_t count = rows * feature_count(&layer->size);
    return (delta_arrays){memory, mgk_at(device, memory, count), mgk_at(device, memory, 2 * count)};
}

static mgk_kind_memory delta_memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t rows = (size_t)samples * (size_t)size->tokens * (size_t)size->heads;
    const size_t count = rows * (2 * feature_count(size) + 1);
    return (mgk_kind_memory){.kept = count, .scratch = training ? count : 0};
}

static mgk_features delta_map(const mgk_attention_layer *layer)
{
    return (mgk_features){
        .map = MGK_FEATURES_DPFP, .rolls = layer->size.settings->features, .unit_sum = true};
}

/* β from the further numbers of a token, which are a vector of H. */
static const mgk_features sigmoid = {.map = MGK_FEATURES_KERNEL, .function = MGK_FEATURE_SIGMOID};

static mgk_status delta_prepare(mgk_device *device, const mgk_attention_view *view,
                                const mgk_attention_layer *layer)
{
    const size_t samples = (size_t)view->samples, tokens = (size_t)view->tokens;
    const size_t heads = (size_t)view->heads, dim = (size_t)view->dim;
    const size_t stride = heads * feature_count(&layer->size);
    const delta_arrays kept = arrays_at(device, view, layer, layer->kept);
    const mgk_features map = delta_map(layer);
    TRY(device->op->feature_map(device, &map, samples, tokens, heads, dim, view->query,
                                view->query_stride, kept.query, stride));
    TRY(device->op->feature_map(device, &map, samples, tokens, heads, dim, view->key,
                                view->key_stride, kept.key, stride));
    return device->op->feature_map(device, &sigmoid, samples, tokens, 1, heads, view->extra,
                                   view->extra_stride, kept.rate, heads);
}

/* The view of the features, and the rule. */
static mgk_delta delta_rule(const mgk_attention_view *view, const mgk_attention_layer *layer,
                            const delta_arrays *kept, mgk_attention_view *out)
{
    const size_t count = feature_count(&layer->size);
    *out = *view;
    out->query = kept->query;
    out->key = kept->key;
    out->query_stride = out->key_stride = (size_t)view->heads * count;
    return (mgk_delta){
        .scale = 1, .features = count, .rate = kept->rate, .rate_stride = (size_t)view->heads};
}

static mgk_status delta_forward(mgk_device *device, const mgk_attention_view *view,
                                const mgk_attention_layer *layer, void *output,
                                size_t output_stride)
{
    const delta_arrays kept = arrays_at(device, view, layer, layer->kept);
    mgk_attention_view mapped;
    const mgk_delta rule = delta_rule(view, layer, &kept, &mapped);
    return device->op->delta_attention(device, &mapped, &rule, output, output_stride);
}

static mgk_status delta_backward(mgk_device *device, const mgk_attention_view *view,
                                 const mgk_attention_layer *layer, const void *output,
                                 const void *doutput, size_t output_stride,
                                 const mgk_layer_gradient *gradient)
{
    (void)output;
    const size_t samples = (size_t)view->samples, tokens = (size_t)view->tokens;
    const size_t heads = (size_t)view->heads, dim = (size_t)view->dim;
    const delta_arrays kept = arrays_at(device, view, layer, layer->kept);
    const delta_arrays into = arrays_at(device, view, layer, layer->scratch);
    const mgk_attention_gradient mapped_gradient = {
        .query = into.query, .key = into.key, .value = gradient->view.value, .gate = into.rate};
    const mgk_features map = delta_map(layer);
    mgk_attention_view mapped;
    const mgk_delta rule = delta_rule(view, layer, &kept, &mapped);
    TRY(device->op->delta_attention_backward(device, &mapped, &rule, doutput, output_stride,
                                             &mapped_gradient));
    TRY(device->op->feature_map_backward(device, &map, samples, tokens, heads, dim, view->query,
                                         view->query_stride, into.query, mapped.query_stride,
                                         gradient->view.query));
    TRY(device->op->feature_map_backward(device, &map, samples, tokens, heads, dim, view->key,
                                         view->key_stride, into.key, mapped.key_stride,
                                         gradient->view.key));
    return device->op->feature_map_backward(device, &sigmoid, samples, tokens, 1, heads,
                                            view->extra, view->extra_stride, into.rate, heads,
                                            gradient->view.extra);
}

/* Scores are not normalised: both contents are the same. */
static mgk_status delta_matrix(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, mgk_matrix_content content,
                               int sample, const int32_t *heads, int count, void *matrix)
{
    (void)content;
    const delta_arrays kept = arrays_at(device, view, layer, layer->kept);
    mgk_attention_view mapped;
    const mgk_delta rule = delta_rule(view, layer, &kept, &mapped);
    return device->op->delta_matrix(device, &mapped, &rule, sample, heads, count, matrix);
}

static const mgk_attention_methods delta_methods = {
    .primitives = "features",
    .memory = delta_memory,
    .prepare = delta_prepare,
    .forward = delta_forward,
    .backward = delta_backward,
    .matrix = delta_matrix,
};

static int delta_extra(const mgk_attention_size *size)
{
    return size->heads;
}

/*
 * Per token: the features of a query and a key, with their sums, the sigmoid, the error, the new
 * state and the query's product with it.
 */
static double delta_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    (void)kind;
    const double count = (double)feature_count(size), dim = size->dim;
    return (double)size->heads * size->tokens *
           (2 * (2 * dim + 3 * count) + 4 + 6 * count * dim + count);
}

const mgk_attention_kind mgk_attention_dpfp = {
    .name = "dpfp",
    .score =
        "phi(q_i).phi(k_j), phi = y_e y_(e - r), y = positive and negative parts, r <= features",
    .rank_bound = "2 D features",
    .defaults = {.features = 3},
    .may_be_blank = true,
    .methods = &mgk_feature_methods,
    .features = features,
    .flops = dpfp_flops,
};

const mgk_attention_kind mgk_attention_delta = {
    .name = "delta",
    .score = "tril(Q K') (I + tril(diag(b) K K', -1))^-1 diag(b), phi of dpfp, sums 1",
    .rank_bound = "N",
    .defaults = {.features = 3},
    .causal_only = true,
    .unnormalized = true,
    .may_be_blank = true,
    .signed_entries = true,
    .plain_sums = true,
    .methods = &delta_methods,
    .extra = delta_extra,
    .flops = delta_flops,
};
