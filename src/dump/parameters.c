/* SPDX-License-Identifier: MIT */
/* The objects of a store that are written at once: the model's key weights and biases, priors and
 * variances, and the errors of one that runs as another kind. */
#include "base/memory.h"
#include "dump/dump.h"
#include "model/core/model.h"

/* Reads an object's part of one layer, head and component into out; `tokens`: N of the store. */
typedef mgk_status (*fill)(const mgk_model *model, int tokens, int layer, int head, int r,
                           double *out);

static mgk_status fill_key_weight(const mgk_model *model, int tokens, int layer, int head, int r,
                                  double *out)
{
    (void)tokens;
    return mgk_key_weight(model, layer, head, r, out);
}

static mgk_status fill_key_bias(const mgk_model *model, int tokens, int layer, int head, int r,
                                double *out)
{
    const mgk_config *config = &model->config;
    const mgk_layer_offsets *offsets = &model->parameters.layers[layer];
    const size_t head_dim = (size_t)config->head_dim, width = (size_t)config->heads * head_dim;
    const size_t row = width + mgk_key_row(model, layer, head, r);
    const size_t shift = (size_t)r * width + (size_t)head * head_dim;
    double *shifts;
    (void)tokens;
    if (offsets->query.bias != MGK_ABSENT)
        TRY(mgk_model_read(model, offsets->query.bias + row, head_dim, out));
    if (offsets->key_shift == MGK_ABSENT)
        return STATUS_OK;
    TRY(mgk_alloc(head_dim, sizeof(*shifts), &shifts));
    mgk_status status = mgk_model_read(model, offsets->key_shift + shift, head_dim, shifts);
    for (size_t d = 0; status == STATUS_OK && d < head_dim; d++)
        out[d] += shifts[d];
    mgk_free(shifts);
    return status;
}

/* Number of priors of a component: one, or one of each position. */
static size_t prior_count(const mgk_model *model, int tokens)
{
    return model->config.prior_shape == MGK_PRIOR_POSITION ? (size_t)tokens : 1;
}

/* As the forward pass uses them: clamped to [0, 1]. The priors of the positions of one head and
 * component are contiguous. */
static mgk_status fill_prior(const mgk_model *model, int tokens, int layer, int head, int r,
                             double *out)
{
    const mgk_prior_view view = mgk_model_attention(model, layer, tokens).prior;
    const size_t count = prior_count(model, tokens);
    for (size_t j = 0; j < count && !view.values; j++)
        out[j] = 1;
    if (!view.values)
        return STATUS_OK;
    TRY(mgk_model_read(model,
                       model->parameters.layers[layer].prior + (size_t)head * view.head_stride +
                           (size_t)r * view.component_stride,
                       count, out));
    for (size_t j = 0; j < count; j++)
        out[j] = out[j] < 0 ? 0 : out[j] > 1 ? 1 : out[j];
    return STATUS_OK;
}

static mgk_status fill_variance(const mgk_model *model, int tokens, int layer, int head, int r,
                                double *out)
{
    (void)tokens, (void)head;
    *out = mgk_model_kind(model, layer)->gaussian ? model->config.variance[r] : 0;
    return STATUS_OK;
}

/* Number of values that one fill of the object reads. */
static size_t fill_size(const mgk_model *model, int tokens, mgk_store_object object)
{
    const mgk_config *config = &model->config;
    size_t dim = (size_t)config->dim, head_dim = (size_t)config->head_dim;
    switch (object) {
    case STORE_KEY_WEIGHTS:
        return dim * head_dim;
    case STORE_KEY_BIAS:
        return head_dim;
    case STORE_PRIORS:
        return prior_count(model, tokens);
    default:
        return 1;
    }
}

/* Converts float64 values to the run's precision and passes them to the store. */
static mgk_status write_values(const mgk_dump *dump, mgk_store_object object, const double *values,
                               size_t count)
{
    if (dump->run->device->precision == MGK_DOUBLE)
        return mgk_store_write_whole(dump->writer, object, values);
    float *single;
    TRY(mgk_alloc(count, sizeof(*single), &single));
    for (size_t i = 0; i < count; i++)
        single[i] = (float)values[i];
    mgk_status status = mgk_store_write_whole(dump->writer, object, single);
    mgk_free(single);
    return status;
}

static mgk_status write_object(const mgk_dump *dump, mgk_store_object object, fill fill_one)
{
    const mgk_model *model = dump->run->model;
    const int tokens = dump->run->tokens;
    const size_t size = fill_size(model, tokens, object);
    mgk_status status;
    size_t count;
    double *values = NULL;
    if (!(dump->objects & MGK_STORE_BIT(object)))
        return STATUS_OK;
    TRY(mgk_multiply(dump->layer_count * dump->head_count * dump->mixtures, size, &count));
    CHECK(mgk_alloc(count, sizeof(*values), &values));
    double *out = values;
    for (size_t l = 0; l < dump->layer_count; l++)
        for (size_t h = 0; h < dump->head_count; h++, out += dump->mixtures * size)
            for (size_t r = 0; r < model->parameters.layers[dump->layers[l]].mixtures; r++)
                CHECK(fill_one(model, tokens, dump->layers[l], dump->heads[h], (int)r,
                               out + r * size));
    CHECK(write_values(dump, object, values, count));
out:
    mgk_free(values);
    return status;
}

unsigned mgk_dump_parameter_objects(const mgk_dump *dump)
{
    unsigned objects = MGK_STORE_BIT(STORE_KEY_WEIGHTS);
    for (size_t l = 0; l < dump->layer_count; l++) {
        const mgk_layer_offsets *layer = &dump->run->model->parameters.layers[dump->layers[l]];
        if (layer->query.bias != MGK_ABSENT || layer->key_shift != MGK_ABSENT)
            objects |= MGK_STORE_BIT(STORE_KEY_BIAS);
        if (layer->prior != MGK_ABSENT)
            objects |= MGK_STORE_BIT(STORE_PRIORS);
        if (layer->kind->gaussian)
            objects |= MGK_STORE_BIT(STORE_VARIANCES);
    }
    return objects;
}

mgk_status mgk_dump_parameters(const mgk_dump *dump)
{
    if (!mgk_cluster_leads(dump->cluster))
        return STATUS_OK;
    TRY(write_object(dump, STORE_KEY_WEIGHTS, fill_key_weight));
    TRY(write_object(dump, STORE_KEY_BIAS, fill_key_bias));
    TRY(write_object(dump, STORE_PRIORS, fill_prior));
    return write_object(dump, STORE_VARIANCES, fill_variance);
}

/* Of [S, L, H] numbers of the model, those of the chosen layers and heads. */
static mgk_status write_errors(const mgk_dump *dump, mgk_store_object object, const double *all)
{
    const mgk_approximation *errors = dump->run->approximation;
    const size_t count = errors->samples * dump->layer_count * dump->head_count;
    double *values, *out;
    TRY(mgk_alloc(count, sizeof(*values), &values));
    out = values;
    for (size_t s = 0; s < errors->samples; s++)
        for (size_t l = 0; l < dump->layer_count; l++)
            for (size_t h = 0; h < dump->head_count; h++)
                *out++ = all[(s * errors->layers + (size_t)dump->layers[l]) * errors->heads +
                             (size_t)dump->heads[h]];
    mgk_status status = write_values(dump, object, values, count);
    mgk_free(values);
    return status;
}

mgk_status mgk_dump_errors(const mgk_dump *dump)
{
    mgk_approximation *errors = dump->run->approximation;
    if (!errors)
        return STATUS_OK;
    TRY(mgk_approximation_merge(errors, dump->cluster));
    if (!mgk_cluster_leads(dump->cluster))
        return STATUS_OK;
    TRY(write_errors(dump, STORE_APPROXIMATION_ERROR, errors->matrix));
    return write_errors(dump, STORE_OUTPUT_ERROR, errors->output);
}
