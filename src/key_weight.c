#include "key_weight.h"

size_t mgk_key_row(const mgk_model *model, int head, int r)
{
    const mgk_config *config = &model->config;
    size_t component = model->kind->keys == MGK_KEYS_PROJECTED ? (size_t)r : 0;
    size_t key_head = (size_t)(head / (config->heads / config->key_heads));
    return (component * (size_t)config->key_heads + key_head) * (size_t)config->head_dim;
}

/* The rows of the key projection follow those of the queries'. */
double *mgk_key_weight(const mgk_model *model, const double *weights, int layer, int head, int r,
                       double *out)
{
    const mgk_config *config = &model->config;
    size_t dim = (size_t)config->dim, head_dim = (size_t)config->head_dim;
    size_t first = (size_t)config->heads * head_dim + mgk_key_row(model, head, r);
    const double *key = weights + model->parameters.layers[layer].query.weight + first * dim;
    for (size_t c = 0; c < dim; c++)
        for (size_t d = 0; d < head_dim; d++)
            *out++ = key[d * dim + c];
    return out;
}
