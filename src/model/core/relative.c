/* SPDX-License-Identifier: MIT */
/*
 * Relative positions that scores depend on together with the content (DeBERTa, He et al. 2021): the
 * score of query i and key j is
 *     scale (q_i·k_j + q_i·W_K r + k_j·W_Q r + biases),   r the row of the distance i − j,
 * with rows r [2 S, C] shared by all layers, and the maps W_Q and W_K of the layer's own queries
 * and keys.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/core/pass_private.h"

/*
 * The row of a distance i − j, before S is added: up to S / 2 each distance has its own, larger
 * ones share rows in ranges that grow up to `relative_far`.
 */
static long row_of(const mgk_config *config, long distance)
{
    const long middle = config->relative / 2, size = labs(distance);
    if (config->relative_far == 0 || size <= middle)
        return distance;
    const double ratio = log((double)size / (double)middle) /
                         log(((double)config->relative_far - 1) / (double)middle);
    const long row = middle + (long)ceil(ratio * (double)(middle - 1));
    return distance > 0 ? row : -row;
}

mgk_status mgk_pass_upload_places(const mgk_pass *pass)
{
    const mgk_config *config = &pass->model->config;
    mgk_device *device = pass->model->device;
    const size_t tokens = pass->capacity_tokens, count = 2 * tokens - 1;
    const long span = config->relative;
    int32_t *places;
    TRY(mgk_alloc(count, sizeof(*places), &places));
    for (size_t i = 0; i < count; i++) {
        const long row = row_of(config, (long)(tokens - 1) - (long)i) + span;
        places[i] = (int32_t)(row < 0 ? 0 : row < 2 * span ? row : 2 * span - 1);
    }
    mgk_status status =
        device->op->upload(device, pass->relative_places, places, count * sizeof(*places));
    mgk_free(places);
    return status;
}

/* Both sides of a layer, from its queries and keys: scale q_i·W_K r and scale k_j·W_Q r of all
 * rows. */
mgk_status mgk_pass_relative(const mgk_pass *pass, int index)
{
    const mgk_model *model = pass->model;
    mgk_device *device = model->device;
    const mgk_config *config = &model->config;
    const mgk_linear_map map = model->parameters.layers[index].query; /* W_Q, then W_K */
    const size_t rows = 2 * (size_t)config->relative, heads = (size_t)config->heads;
    const size_t dim = (size_t)config->head_dim, width = pass->width;
    const double scale =
        config->attention_scale > 0 ? config->attention_scale : 1 / sqrt((double)dim);
    const void *qkv = pass->layers[index].qkv;
    TRY(mgk_pass_linear(pass, map, rows, (size_t)config->dim, 2 * width,
                        mgk_pass_weight(pass, model->parameters.relative), pass->relative));
    for (size_t head = 0; head < heads; head++)
        for (size_t side = 0; side < 2; side++) {
            const size_t own = side * width + head * dim, other = (1 - side) * width + head * dim;
            TRY(device->op->multiply(device, false, true, mgk_pass_rows(pass), rows, dim, scale,
                                     mgk_at(device, qkv, own), model->parameters.layers[index].rows,
                                     mgk_at(device, pass->relative, other), 2 * width, 0,
                                     mgk_at(device, pass->relative_sides[side], head * rows),
                                     heads * rows));
        }
    return STATUS_OK;
}
