/* SPDX-License-Identifier: MIT */
#include "model/core/model.h"

#include <math.h>

#include "base/memory.h"

mgk_status mgk_model_create_empty(const mgk_config *config, mgk_device *device, mgk_model **out)
{
    mgk_status status;
    mgk_model *model = NULL;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*model), &model));
    model->config = *config;
    model->device = device;
    model->step = -1;
    CHECK(mgk_parameters_build(config, &model->parameters));
    if (device)
        CHECK(device->op->allocate(device, model->parameters.total * device->real_size,
                                   &model->weights));
    *out = model;
    model = NULL;
out:
    mgk_model_free(model);
    return status;
}

mgk_status mgk_model_create(const mgk_config *config, uint64_t seed, mgk_device *device,
                            mgk_model **out)
{
    mgk_status status;
    mgk_model *model = NULL;
    double *host = NULL;
    *out = NULL;
    CHECK(mgk_model_create_empty(config, device, &model));
    CHECK(mgk_alloc(model->parameters.total, sizeof(*host), &host));
    mgk_parameters_initialize(&model->parameters, seed, host);
    CHECK(mgk_model_upload(model, host, model->weights));
    model->step = 0;
    *out = model;
    model = NULL;
out:
    mgk_free(host);
    mgk_model_free(model);
    return status;
}

void mgk_model_free(mgk_model *model)
{
    if (!model)
        return;
    if (model->weights)
        model->device->op->release(model->device, model->weights);
    mgk_parameters_free(&model->parameters);
    mgk_free(model->tokenizer);
    mgk_free(model->folder);
    mgk_free(model->remark);
    mgk_free(model);
}

mgk_status mgk_model_put(const mgk_model *model, size_t count, const double *host, void *array)
{
    mgk_device *device = model->device;
    if (device->precision == MGK_DOUBLE)
        return device->op->upload(device, array, host, count * sizeof(double));
    float *single;
    mgk_status status = STATUS_OK;
    TRY(mgk_alloc(count, sizeof(*single), &single));
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        single[i] = (float)host[i];
        if (!isfinite(single[i]))
            status = mgk_fail(STATUS_NUMERIC, "a number of %g is beyond single precision", host[i]);
    }
    if (status == STATUS_OK)
        status = device->op->upload(device, array, single, count * sizeof(*single));
    mgk_free(single);
    return status;
}

mgk_status mgk_model_redraw(const mgk_model *model, uint64_t seed, uint64_t draw)
{
    const mgk_parameters *parameters = &model->parameters;
    double *host;
    TRY(mgk_alloc(parameters->total, sizeof(*host), &host));
    mgk_parameters_draw(parameters, seed, draw, host);
    mgk_status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < parameters->count; i++) {
        const mgk_parameter *p = &parameters->list[i];
        if (p->drawn)
            status = mgk_model_put(model, p->count, host + p->offset,
                                   mgk_at(model->device, model->weights, p->offset));
    }
    mgk_free(host);
    return status;
}

mgk_status mgk_model_upload(const mgk_model *model, const double *host, void *array)
{
    return mgk_model_put(model, model->parameters.total, host, array);
}

mgk_status mgk_model_download(const mgk_model *model, const void *array, double *host)
{
    return mgk_device_download(model->device, array, model->parameters.total, host);
}

mgk_status mgk_model_read(const mgk_model *model, mgk_offset offset, size_t count, double *out)
{
    mgk_device *device = model->device;
    return mgk_device_download(device, mgk_at(device, model->weights, offset), count, out);
}

/* The layout of priors π_jr of head h in each shape: [M], [H, M], [H, M, N]. */
static mgk_prior_view prior_view(const mgk_model *model, const mgk_layer_offsets *layer)
{
    const mgk_config *config = &model->config;
    size_t heads = (size_t)config->heads, mixtures = layer->mixtures;
    size_t length = (size_t)config->length;
    mgk_prior_view view = {.values = mgk_at(model->device, model->weights, layer->prior)};
    switch (config->prior_shape) {
    case MGK_PRIOR_LAYER:
        view.component_stride = 1;
        view.count = mixtures;
        break;
    case MGK_PRIOR_HEAD:
        view.head_stride = mixtures;
        view.component_stride = 1;
        view.count = heads * mixtures;
        break;
    case MGK_PRIOR_POSITION:
        view.head_stride = mixtures * length;
        view.component_stride = length;
        view.key_stride = 1;
        view.count = heads * mixtures * length;
        break;
    }
    return view;
}

const mgk_attention_kind *mgk_model_kind(const mgk_model *model, int layer)
{
    return model->parameters.layers[layer].kind;
}

size_t mgk_model_row_width(const mgk_model *model)
{
    const mgk_config *config = &model->config;
    size_t most = (2 + (size_t)config->mixtures) * (size_t)config->heads * (size_t)config->head_dim;
    for (int l = 0; l < config->layers; l++)
        if (model->parameters.layers[l].rows > most)
            most = model->parameters.layers[l].rows;
    return most;
}

bool mgk_model_reads_below(const mgk_model *model)
{
    bool reads = false;
    for (int l = 0; l < model->config.layers; l++)
        reads |= mgk_model_kind(model, l)->reads_below;
    return reads;
}

bool mgk_model_shifts_keys(const mgk_model *model)
{
    bool shifts = false;
    for (int l = 0; l < model->config.layers; l++)
        shifts |= mgk_model_kind(model, l)->keys == MGK_KEYS_SHIFTED;
    return shifts;
}

int mgk_model_key_weights(const mgk_model *model, int layer)
{
    const mgk_layer_offsets *offsets = &model->parameters.layers[layer];
    return offsets->kind->keys == MGK_KEYS_PROJECTED ? (int)offsets->mixtures : 1;
}

mgk_attention_layer mgk_model_attention(const mgk_model *model, int layer, int tokens)
{
    const mgk_config *config = &model->config;
    const mgk_layer_offsets *offsets = &model->parameters.layers[layer];
    mgk_attention_layer attention = {.kind = offsets->kind,
                                     .size = mgk_attention_size_of(config, layer, tokens),
                                     .normalizer_epsilon = config->normalizer_epsilon,
                                     .fixed_normalizer =
                                         config->row_normalized ? 0 : sqrt(config->length),
                                     .mix_keys = config->mix_keys,
                                     .unit_features = config->unit_features,
                                     .scale = config->attention_scale,
                                     .terms = {.cap = config->attention_cap},
                                     .prior_mode = config->prior,
                                     .prior_of_all = config->prior_queries == MGK_QUERIES_ALL};
    if (mgk_config_is_local(config, layer))
        attention.terms.window = config->window;
    for (int r = 0; r < attention.size.mixtures; r++)
        attention.variance[r] = config->variance[r];
    for (int i = 0; i < offsets->own_count; i++)
        attention.parameters[i] = mgk_at(model->device, model->weights, offsets->own[i]);
    if (offsets->prior != MGK_ABSENT)
        attention.prior = prior_view(model, offsets);
    return attention;
}

size_t mgk_key_row(const mgk_model *model, int layer, int head, int r)
{
    const mgk_config *config = &model->config;
    size_t component = mgk_model_kind(model, layer)->keys == MGK_KEYS_PROJECTED ? (size_t)r : 0;
    size_t key_head = (size_t)(head / (config->heads / config->key_heads));
    return (component * (size_t)config->key_heads + key_head) * (size_t)config->head_dim;
}

/* The rows of the key projection follow those of the queries; W is their transpose. */
mgk_status mgk_key_weight(const mgk_model *model, int layer, int head, int r, double *out)
{
    const mgk_config *config = &model->config;
    const size_t dim = (size_t)config->dim, head_dim = (size_t)config->head_dim;
    const size_t row = (size_t)config->heads * head_dim + mgk_key_row(model, layer, head, r);
    double *rows;
    TRY(mgk_alloc(head_dim * dim, sizeof(*rows), &rows));
    mgk_status status = mgk_model_read(
        model, model->parameters.layers[layer].query.weight + row * dim, head_dim * dim, rows);
    for (size_t c = 0; status == STATUS_OK && c < dim; c++)
        for (size_t d = 0; d < head_dim; d++)
            out[c * head_dim + d] = rows[d * dim + c];
    mgk_free(rows);
    return status;
}

/* The columns of W_O [C, H D] of some heads as rows [count D, C]. */
static mgk_status read_output(const mgk_model *model, int layer, const int32_t *heads, size_t count,
                              double *out)
{
    const mgk_config *config = &model->config;
    const size_t dim = (size_t)config->dim, head_dim = (size_t)config->head_dim,
                 width = (size_t)config->heads * head_dim;
    double *weights;
    TRY(mgk_alloc(width * dim, sizeof(*weights), &weights));
    mgk_status status =
        mgk_model_read(model, model->parameters.layers[layer].output.weight, width * dim, weights);
    for (size_t i = 0; status == STATUS_OK && i < count * head_dim; i++)
        for (size_t c = 0; c < dim; c++)
            out[i * dim + c] =
                weights[c * width + (size_t)heads[i / head_dim] * head_dim + i % head_dim];
    mgk_free(weights);
    return status;
}

/* The first row of component r of a head's projection, but for W_O, in the rows of W_Q, W_K and
 * W_V.
 */
static size_t projection_row(const mgk_model *model, mgk_projection which, int layer, int head,
                             int r)
{
    const mgk_config *config = &model->config;
    const size_t dim = (size_t)config->head_dim, queries = (size_t)config->heads * dim;
    const size_t keys = model->parameters.layers[layer].keys;
    return which == MGK_PROJECTION_QUERY ? (size_t)head * dim
           : which == MGK_PROJECTION_KEY ? queries + mgk_key_row(model, layer, head, r)
                                         : queries + keys + mgk_key_row(model, layer, head, 0);
}

mgk_status mgk_model_projections(const mgk_model *model, mgk_projection which, int layer,
                                 const int32_t *heads, size_t count, double *out)
{
    const mgk_config *config = &model->config;
    const size_t dim = (size_t)config->dim, size = (size_t)config->head_dim * dim;
    const int components = which == MGK_PROJECTION_KEY ? mgk_model_key_weights(model, layer) : 1;
    if (which == MGK_PROJECTION_OUTPUT)
        return read_output(model, layer, heads, count, out);
    for (size_t h = 0; h < count; h++)
        for (int r = 0; r < components; r++, out += size)
            TRY(mgk_model_read(model,
                               model->parameters.layers[layer].query.weight +
                                   projection_row(model, which, layer, heads[h], r) * dim,
                               size, out));
    return STATUS_OK;
}
