#include "key_weight.h"

/* Column d of W is row (r H + h) D + d of the projection. */
double *mgk_key_weight(const mgk_model *model, const double *weights, int layer, int head, int r,
                       double *out)
{
    const mgk_config *config = &model->config;
    size_t dim = (size_t)config->dim, head_dim = (size_t)config->head_dim;
    size_t width = (size_t)config->heads * head_dim;
    size_t component = model->kind->keys == MGK_KEYS_PROJECTED ? (size_t)r : 0;
    const double *key = weights + model->parameters.layers[layer].query.weight + width * dim +
                        (component * width + (size_t)head * head_dim) * dim;
    for (size_t c = 0; c < dim; c++)
        for (size_t d = 0; d < head_dim; d++)
            *out++ = key[d * dim + c];
    return out;
}
