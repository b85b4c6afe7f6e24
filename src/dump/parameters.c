/* The model's own objects of a store: key weights and biases, priors, variances. */
#include "base/memory.h"
#include "dump/dump.h"
#include "model/core/model.h"

/* The model's weights on the host. */
typedef struct host_model {
    const mgk_model *model;
    const double *weights;
    int tokens; /* N of the store */
} host_model;

/* Writes what one layer, head and component has of an object; returns the place after it. */
typedef double *(*fill)(const host_model *host, int layer, int head, int r, double *out);

static double *fill_key_weight(const host_model *host, int layer, int head, int r, double *out)
{
    return mgk_key_weight(host->model, host->weights, layer, head, r, out);
}

static double *fill_key_bias(const host_model *host, int layer, int head, int r, double *out)
{
    const mgk_config *config = &host->model->config;
    const mgk_layer_offsets *offsets = &host->model->parameters.layers[layer];
    size_t head_dim = (size_t)config->head_dim, width = (size_t)config->heads * head_dim;
    size_t row = mgk_key_row(host->model, head, r);
    size_t shift = (size_t)r * width + (size_t)head * head_dim;
    for (size_t d = 0; d < head_dim; d++) {
        *out = 0;
        if (offsets->query.bias != MGK_ABSENT)
            *out += host->weights[offsets->query.bias + width + row + d];
        if (offsets->key_shift != MGK_ABSENT)
            *out += host->weights[offsets->key_shift + shift + d];
        out++;
    }
    return out;
}

/* As used: clamped to [0, 1]. */
static double *fill_prior(const host_model *host, int layer, int head, int r, double *out)
{
    mgk_prior_view view = mgk_model_attention(host->model, layer).prior;
    const double *prior = host->weights + host->model->parameters.layers[layer].prior +
                          (size_t)head * view.head_stride + (size_t)r * view.component_stride;
    int count = view.key_stride ? host->tokens : 1;
    for (int j = 0; j < count; j++) {
        double value = prior[(size_t)j * view.key_stride];
        *out++ = value < 0 ? 0 : value > 1 ? 1 : value;
    }
    return out;
}

static double *fill_variance(const host_model *host, int layer, int head, int r, double *out)
{
    (void)layer, (void)head;
    *out = host->model->config.variance[r];
    return out + 1;
}

/* How many numbers a fill of the object writes. */
static size_t fill_size(const host_model *host, mgk_store_object object)
{
    const mgk_config *config = &host->model->config;
    size_t dim = (size_t)config->dim, head_dim = (size_t)config->head_dim;
    switch (object) {
    case STORE_KEY_WEIGHTS:
        return dim * head_dim;
    case STORE_KEY_BIAS:
        return head_dim;
    case STORE_PRIORS:
        return config->prior_shape == MGK_PRIOR_POSITION ? (size_t)host->tokens : 1;
    default:
        return 1;
    }
}

/* Hands float64 values to the store, which takes the run's precision. */
static mgk_status write_values(const mgk_dump *dump, mgk_store_object object, const double *values,
                               size_t count)
{
    if (dump->run->device->precision == MGK_DOUBLE)
        return mgk_store_write_parameter(dump->writer, object, values);
    float *single;
    TRY(mgk_alloc(count, sizeof(*single), &single));
    for (size_t i = 0; i < count; i++)
        single[i] = (float)values[i];
    mgk_status status = mgk_store_write_parameter(dump->writer, object, single);
    mgk_free(single);
    return status;
}

static mgk_status write_object(const mgk_dump *dump, const host_model *host,
                               mgk_store_object object, fill fill_one)
{
    int mixtures = host->model->config.mixtures;
    size_t count;
    double *values;
    if (!(dump->objects & MGK_STORE_BIT(object)))
        return STATUS_OK;
    TRY(mgk_multiply(dump->layer_count * dump->head_count * (size_t)mixtures,
                     fill_size(host, object), &count));
    TRY(mgk_alloc(count, sizeof(*values), &values));
    double *out = values;
    for (size_t l = 0; l < dump->layer_count; l++)
        for (size_t h = 0; h < dump->head_count; h++)
            for (int r = 0; r < mixtures; r++)
                out = fill_one(host, dump->layers[l], dump->heads[h], r, out);
    mgk_status status = write_values(dump, object, values, count);
    mgk_free(values);
    return status;
}

unsigned mgk_dump_parameter_objects(const mgk_model *model)
{
    const mgk_layer_offsets *layer = &model->parameters.layers[0];
    unsigned objects = MGK_STORE_BIT(STORE_KEY_WEIGHTS);
    if (layer->query.bias != MGK_ABSENT || layer->key_shift != MGK_ABSENT)
        objects |= MGK_STORE_BIT(STORE_KEY_BIAS);
    if (layer->prior != MGK_ABSENT)
        objects |= MGK_STORE_BIT(STORE_PRIORS);
    if (model->kind->gaussian)
        objects |= MGK_STORE_BIT(STORE_VARIANCES);
    return objects;
}

mgk_status mgk_dump_parameters(const mgk_dump *dump)
{
    mgk_status status;
    const mgk_model *model = dump->run->model;
    double *weights = NULL;
    if (!(dump->objects & mgk_dump_parameter_objects(model)))
        return STATUS_OK; /* large models are not copied for nothing */
    CHECK(mgk_alloc(model->parameters.total, sizeof(*weights), &weights));
    CHECK(mgk_model_download(model, model->weights, weights));
    host_model host = {model, weights, dump->run->tokens};
    CHECK(write_object(dump, &host, STORE_KEY_WEIGHTS, fill_key_weight));
    CHECK(write_object(dump, &host, STORE_KEY_BIAS, fill_key_bias));
    CHECK(write_object(dump, &host, STORE_PRIORS, fill_prior));
    CHECK(write_object(dump, &host, STORE_VARIANCES, fill_variance));
out:
    mgk_free(weights);
    return status;
}
