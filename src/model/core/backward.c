/* SPDX-License-Identifier: MIT */
/* The backward pass: the steps of forward.c in reverse. */
#include "model/core/pass_private.h"

/* Where gradients go. */
typedef struct backward {
    void *gradient;                        /* of the weights */
    const mgk_gradient_observer *observer; /* NULL: none */
} backward;

/*
 * Gradients of y = x Wᵀ + b: dW += dyᵀ x, db += Σ dy, dx = dy W + beta dx (dx NULL: not requested).
 */
static mgk_status linear_backward(const mgk_pass *pass, void *gradient, mgk_linear_map map,
                                  size_t rows, size_t in, size_t out, const void *x, const void *dy,
                                  double beta, void *dx)
{
    mgk_device *device = pass->model->device;
    TRY(device->op->multiply(device, true, false, out, in, rows, 1, dy, out, x, in, 1,
                             mgk_at(device, gradient, map.weight), in));
    if (map.bias != MGK_ABSENT)
        TRY(device->op->column_sums(device, rows, out, dy, mgk_at(device, gradient, map.bias)));
    if (!dx)
        return STATUS_OK;
    return device->op->multiply(device, false, false, rows, in, out, 1, dy, out,
                                mgk_pass_weight(pass, map.weight), in, beta, dx, in);
}

/* dx = residual + the gradient through the norm of x. */
static mgk_status norm_backward(const mgk_pass *pass, void *gradient, mgk_norm map, const void *x,
                                const void *mean, const void *deviation, const void *dy,
                                const void *residual, void *dx)
{
    mgk_device *device = pass->model->device;
    return device->op->layer_norm_backward(
        device, mgk_pass_stream_rows(pass), (size_t)pass->model->config.dim, x,
        mgk_pass_weight(pass, map.weight), mean, deviation, dy, residual, dx,
        mgk_at(device, gradient, map.weight), mgk_at(device, gradient, map.bias));
}

/*
 * Where the gradients of a kind's own parameters go, and those of what layers read of each other:
 * two layers at a time have one.
 */
static mgk_status find_gradients(const mgk_pass *pass, int index,
                                 const mgk_attention_layer *attention, void *gradient,
                                 mgk_layer_gradient *out)
{
    const mgk_model *model = pass->model;
    mgk_device *device = model->device;
    const mgk_layer_offsets *weights = &model->parameters.layers[index];
    const int above = index + 1;
    for (int i = 0; i < weights->own_count; i++)
        if (!weights->drawn[i])
            out->parameters[i] = mgk_at(device, gradient, weights->own[i]);
    if (weights->kind->reads_below && above < model->config.layers &&
        mgk_model_kind(model, above) == weights->kind)
        out->kept = pass->dkept[index % 2];
    if (!attention->below)
        return STATUS_OK;
    out->below = pass->dkept[above % 2];
    return device->op->zero(device, out->below, pass->kept_reals * device->real_size);
}

/*
 * The gradient through attention: dbranch [T, C] is the gradient of its output projection; the
 * gradient of `input` is written to (beta 0) or added to (beta 1) dinput.
 */
static mgk_status attention_backward(mgk_pass *pass, int index, const backward *to,
                                     const void *input, const void *dbranch, double beta,
                                     void *dinput)
{
    void *gradient = to->gradient;
    mgk_model *model = pass->model;
    mgk_device *device = model->device;
    mgk_layer_activations *layer = &pass->layers[index];
    const mgk_layer_offsets *weights = &model->parameters.layers[index];
    size_t rows = mgk_pass_stream_rows(pass), dim = (size_t)model->config.dim;
    const bool shifted = weights->kind->keys == MGK_KEYS_SHIFTED;
    const bool soft_e = model->config.prior == MGK_PRIOR_EM && weights->prior != MGK_ABSENT;
    const bool routed = model->config.aggregate == MGK_AGGREGATION_CAPSULES;
    TRY(linear_backward(pass, gradient, weights->output, rows, pass->width, dim,
                        routed ? layer->capsules : layer->attended, dbranch, 0, pass->dattended));
    if (routed)
        TRY(mgk_pass_aggregate_backward(pass, index, gradient));
    TRY(mgk_pass_unpack(pass, pass->width, layer->attended));
    TRY(mgk_pass_unpack(pass, pass->width, pass->dattended));
    TRY(mgk_regularise_outputs(pass, index));
    if (to->observer)
        TRY(to->observer->heads(to->observer->context, index, layer->attended, pass->dattended));
    const mgk_attention_view view = mgk_pass_view(pass, index);
    const mgk_attention_layer description = mgk_pass_attention(pass, index);
    const mgk_attention_methods *methods = description.kind->methods;
    void *base = mgk_at(device, pass->dqkv, pass->width);
    mgk_layer_gradient dattention = {
        .view = {.query = pass->dqkv,
                 .key = shifted ? pass->dkeys : base,
                 .value = mgk_at(device, pass->dqkv, pass->width + weights->keys),
                 .extra = mgk_at(device, pass->dqkv, weights->rows - weights->extra),
                 .prior = weights->prior == MGK_ABSENT || soft_e
                              ? NULL
                              : mgk_at(device, gradient, weights->prior)},
    };
    TRY(find_gradients(pass, index, &description, gradient, &dattention));
    TRY(methods->backward(device, &view, &description, layer->attended, pass->dattended,
                          pass->width, &dattention));
    TRY(mgk_regularise_layer(pass, index, &dattention));
    if (shifted)
        TRY(device->op->shift_keys_backward(device, mgk_pass_rows(pass), weights->mixtures,
                                            pass->width, pass->dkeys, base, weights->rows,
                                            mgk_at(device, gradient, weights->key_shift)));
    TRY(mgk_pass_add_responsibilities(pass, index));
    TRY(mgk_pass_pack(pass, weights->rows, pass->dqkv));
    return linear_backward(pass, gradient, weights->query, rows, dim, weights->rows, input,
                           pass->dqkv, beta, dinput);
}

/* The gradient through the feed-forward block, with the same arguments. */
static mgk_status feed_forward_backward(mgk_pass *pass, int index, void *gradient,
                                        const void *input, const void *dbranch, double beta,
                                        void *dinput)
{
    mgk_device *device = pass->model->device;
    mgk_layer_activations *layer = &pass->layers[index];
    const mgk_layer_offsets *weights = &pass->model->parameters.layers[index];
    size_t rows = mgk_pass_stream_rows(pass), dim = (size_t)pass->model->config.dim;
    size_t hidden = (size_t)pass->model->config.hidden;
    TRY(linear_backward(pass, gradient, weights->out, rows, hidden, dim, layer->activated, dbranch,
                        0, pass->dhidden));
    TRY(mgk_pass_drop_hidden(pass, index, pass->dhidden));
    TRY(device->op->activation_backward(device, pass->model->config.activation, rows * hidden,
                                        layer->hidden, pass->dhidden, pass->dhidden));
    return linear_backward(pass, gradient, weights->in, rows, dim, hidden, input, pass->dhidden,
                           beta, dinput);
}

/* *dbranch: the gradient before dropout, in pass->dbranch; without dropout it is dsum itself. */
static mgk_status branch_gradient(const mgk_pass *pass, uint64_t site, const void *dsum,
                                  const void **dbranch)
{
    *dbranch = pass->frozen || pass->model->config.dropout == 0 ? dsum : pass->dbranch;
    return *dbranch == dsum ? STATUS_OK
                            : mgk_pass_dropout_add(pass, site, dsum, NULL, pass->dbranch);
}

/* Replaces dstream, the gradient of the layer's output, by that of its input. */
static mgk_status pre_norm_backward(mgk_pass *pass, int index, const backward *to)
{
    void *gradient = to->gradient;
    mgk_layer_activations *layer = &pass->layers[index];
    const mgk_layer_offsets *weights = &pass->model->parameters.layers[index];
    uint64_t site = 2 * (uint64_t)index + 1;
    const void *dbranch;
    TRY(branch_gradient(pass, site + 1, pass->dstream, &dbranch));
    TRY(feed_forward_backward(pass, index, gradient, layer->norm2, dbranch, 0, pass->dother));
    TRY(norm_backward(pass, gradient, weights->norm2, layer->sum1, layer->mean2, layer->deviation2,
                      pass->dother, pass->dstream, pass->dstream));
    TRY(branch_gradient(pass, site, pass->dstream, &dbranch));
    TRY(attention_backward(pass, index, to, layer->norm1, dbranch, 0, pass->dother));
    return norm_backward(pass, gradient, weights->norm1, layer->input, layer->mean1,
                         layer->deviation1, pass->dother, pass->dstream, pass->dstream);
}

static mgk_status post_norm_backward(mgk_pass *pass, int index, const backward *to)
{
    void *gradient = to->gradient;
    mgk_layer_activations *layer = &pass->layers[index];
    const mgk_layer_offsets *weights = &pass->model->parameters.layers[index];
    uint64_t site = 2 * (uint64_t)index + 1;
    const void *dbranch;
    TRY(norm_backward(pass, gradient, weights->norm2, layer->sum2, layer->mean2, layer->deviation2,
                      pass->dstream, NULL, pass->dother));
    TRY(branch_gradient(pass, site + 1, pass->dother, &dbranch));
    TRY(feed_forward_backward(pass, index, gradient, layer->norm1, dbranch, 1, pass->dother));
    TRY(norm_backward(pass, gradient, weights->norm1, layer->sum1, layer->mean1, layer->deviation1,
                      pass->dother, NULL, pass->dstream));
    TRY(branch_gradient(pass, site, pass->dstream, &dbranch));
    return attention_backward(pass, index, to, layer->input, dbranch, 1, pass->dstream);
}

/* `dhidden_states` [T, C] = gradient of the final hidden states, from dlogits. */
static mgk_status classifier_backward(mgk_pass *pass, void *gradient, void *dhidden_states)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const mgk_parameters *parameters = &pass->model->parameters;
    size_t rows = mgk_pass_logit_rows(pass), dim = (size_t)config->dim;
    size_t features = config->dual ? 4 * dim : dim, hidden = (size_t)config->classifier;
    /* Inputs are not needed after their step is reversed: their arrays receive the gradients. */
    TRY(linear_backward(pass, gradient, parameters->head, rows, hidden, mgk_pass_classes(pass),
                        pass->rectified, pass->logits, 0, pass->rectified));
    TRY(device->op->activation_backward(device, MGK_ACTIVATION_RELU, rows * hidden,
                                        pass->classified, pass->rectified, pass->rectified));
    TRY(linear_backward(pass, gradient, parameters->classifier, rows, features, hidden,
                        config->dual ? pass->features : pass->pooled, pass->rectified, 0,
                        pass->dpooled));
    const void *dpooled = pass->dpooled;
    if (config->dual) {
        TRY(device->op->pair_features_backward(device, rows, dim, pass->pooled, pass->dpooled,
                                               pass->rectified));
        dpooled = pass->rectified;
    }
    return device->op->pool_backward(device, (size_t)pass->sequences, (size_t)pass->tokens, dim,
                                     pass->pooled_tokens, mgk_pass_pooled_divisor(pass), dpooled,
                                     dhidden_states);
}

static mgk_status tied_backward(mgk_pass *pass, void *gradient, void *dhidden_states)
{
    const mgk_parameters *parameters = &pass->model->parameters;
    if (mgk_pass_has_clusters(pass))
        return mgk_pass_clustered_backward(pass, gradient, dhidden_states);
    mgk_linear_map tied = {parameters->token, parameters->head.bias};
    return linear_backward(pass, gradient, tied, mgk_pass_rows(pass),
                           (size_t)pass->model->config.dim, mgk_pass_classes(pass), pass->output,
                           pass->logits, 0, dhidden_states);
}

mgk_status mgk_pass_backward(mgk_pass *pass, void *gradient, const mgk_gradient_observer *observer)
{
    const backward to = {gradient, observer};
    mgk_model *model = pass->model;
    mgk_device *device = model->device;
    const mgk_config *config = &model->config;
    const mgk_parameters *parameters = &model->parameters;
    if (!pass->training)
        return mgk_fail(STATUS_USAGE, "a pass that does not train has no backward direction");
    void *dhidden_states = config->pre_norm ? pass->dother : pass->dstream;
    TRY(config->family == MGK_FAMILY_LM ? tied_backward(pass, gradient, dhidden_states)
                                        : classifier_backward(pass, gradient, dhidden_states));
    TRY(mgk_pass_pack(pass, (size_t)config->dim, dhidden_states));
    TRY(mgk_pass_drop_output(pass, dhidden_states));
    if (config->pre_norm)
        TRY(norm_backward(pass, gradient, parameters->norm, pass->layers[config->layers - 1].sum2,
                          pass->mean, pass->deviation, dhidden_states, NULL, pass->dstream));
    for (int l = config->layers - 1; l >= 0; l--)
        TRY(config->pre_norm ? pre_norm_backward(pass, l, &to) : post_norm_backward(pass, l, &to));
    TRY(mgk_pass_dropout_add(pass, 0, pass->dstream, NULL, pass->dstream));
    TRY(mgk_pass_unpack(pass, (size_t)config->dim, pass->dstream));
    void *dposition =
        parameters->position == MGK_ABSENT ? NULL : mgk_at(device, gradient, parameters->position);
    TRY(device->op->embed_backward(
        device, (size_t)pass->sequences, (size_t)pass->tokens, (size_t)config->dim, pass->ids,
        pass->model->config.embedding_scale, pass->dstream,
        pass->words ? pass->dwords : mgk_at(device, gradient, parameters->token), dposition));
    return mgk_pass_tables_backward(pass, gradient);
}
