/* SPDX-License-Identifier: MIT */
/*
 * Adaptive inputs and outputs of a language model. With a divisor d part k of the vocabulary, the
 * frequent words or cluster k, has a table T_k [n_k, C / d^k] and a map P_k [C, C / d^k] (Baevski
 * and Auli 2019). Embeddings are the rows of T_k P_kᵀ. Outputs are the same rows, but those of the
 * frequent words and of the clusters in the head, which are the rows of T_0 Oᵀ and G Oᵀ with a map
 * O [C, C] of their own, as in Transformer-XL (Dai et al. 2019). A pass multiplies these products
 * once, so that all else is as with one table of words.
 */
#include "model/core/adaptive.h"
#include "model/core/pass_private.h"

/* A product of the pass, y [rows, C] = table [rows, width] map [C, width]ᵀ. */
typedef struct product {
    size_t rows, width;
    mgk_offset table, map;
    void *y, *dy;
} product;

enum { PRODUCTS = MGK_MAX_CUTOFFS + 3 };

static size_t begin_of(const mgk_config *config, int part)
{
    return part == 0 ? 0 : (size_t)config->cutoffs[part - 1];
}

/* Lists the products, of which each product of words has its rows in pass->words. */
static size_t list_products(const mgk_pass *pass, product out[PRODUCTS])
{
    const mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const mgk_parameters *parameters = &pass->model->parameters;
    const size_t dim = (size_t)config->dim, clusters = (size_t)config->cutoff_count;
    for (int part = 0; part <= config->cutoff_count; part++) {
        const size_t first = begin_of(config, part) * dim;
        out[part] = (product){mgk_config_part_words(config, part),
                              mgk_config_part_width(config, part),
                              parameters->parts[part],
                              parameters->part_maps[part],
                              mgk_at(device, pass->words, first),
                              mgk_at(device, pass->dwords, first)};
    }
    out[clusters + 1] = (product){out[0].rows,          dim,
                                  out[0].table,         parameters->back.weight,
                                  pass->frequent_words, pass->dfrequent_words};
    out[clusters + 2] = (product){clusters,
                                  dim,
                                  parameters->clusters.weight,
                                  parameters->back.weight,
                                  pass->cluster_words,
                                  pass->dcluster_words};
    return clusters + 3;
}

mgk_status mgk_pass_multiply_tables(const mgk_pass *pass)
{
    mgk_device *device = pass->model->device;
    const size_t dim = (size_t)pass->model->config.dim;
    product list[PRODUCTS];
    if (!pass->words)
        return STATUS_OK;
    const size_t count = list_products(pass, list);
    for (size_t i = 0; i < count; i++)
        TRY(device->op->multiply(device, false, true, list[i].rows, dim, list[i].width, 1,
                                 mgk_pass_weight(pass, list[i].table), list[i].width,
                                 mgk_pass_weight(pass, list[i].map), list[i].width, 0, list[i].y,
                                 dim));
    return STATUS_OK;
}

/* dtable += dy map, dmap += dyᵀ table. */
mgk_status mgk_pass_tables_backward(const mgk_pass *pass, void *gradient)
{
    mgk_device *device = pass->model->device;
    const size_t dim = (size_t)pass->model->config.dim;
    product list[PRODUCTS];
    if (!pass->words)
        return STATUS_OK;
    const size_t count = list_products(pass, list);
    for (size_t i = 0; i < count; i++) {
        const product *p = &list[i];
        TRY(device->op->multiply(device, false, false, p->rows, p->width, dim, 1, p->dy, dim,
                                 mgk_pass_weight(pass, p->map), p->width, 1,
                                 mgk_at(device, gradient, p->table), p->width));
        TRY(device->op->multiply(device, true, false, dim, p->width, p->rows, 1, p->dy, dim,
                                 mgk_pass_weight(pass, p->table), p->width, 1,
                                 mgk_at(device, gradient, p->map), p->width));
    }
    return STATUS_OK;
}

static mgk_adaptive output_of(const mgk_pass *pass)
{
    const mgk_config *config = &pass->model->config;
    const mgk_parameters *parameters = &pass->model->parameters;
    return (mgk_adaptive){
        .dim = (size_t)config->dim,
        .vocabulary = (size_t)config->vocabulary,
        .clusters = (size_t)config->cutoff_count,
        .cutoffs = config->cutoffs,
        .words = pass->words ? pass->words : mgk_pass_weight(pass, parameters->head.weight),
        .frequent = pass->frequent_words,
        .bias = mgk_pass_weight(pass, parameters->head.bias),
        .cluster_weight =
            pass->words ? pass->cluster_words : mgk_pass_weight(pass, parameters->clusters.weight),
        .cluster_bias = mgk_pass_weight(pass, parameters->clusters.bias)};
}

mgk_status mgk_pass_clustered_loss(const mgk_pass *pass, size_t first, size_t end, mgk_loss *loss)
{
    mgk_device *device = pass->model->device;
    const mgk_adaptive output = output_of(pass);
    return mgk_adaptive_loss(device, &output, end - first,
                             mgk_at(device, pass->output, first * output.dim),
                             pass->targets + first, loss);
}

static mgk_status clear_products(const mgk_pass *pass)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const size_t row = (size_t)config->dim * device->real_size;
    if (!pass->words)
        return STATUS_OK;
    TRY(device->op->zero(device, pass->dwords, (size_t)config->vocabulary * row));
    TRY(device->op->zero(device, pass->dfrequent_words, (size_t)config->cutoffs[0] * row));
    return device->op->zero(device, pass->dcluster_words, (size_t)config->cutoff_count * row);
}

mgk_status mgk_pass_clustered_backward(const mgk_pass *pass, void *gradient, void *dhidden_states)
{
    mgk_device *device = pass->model->device;
    const mgk_parameters *parameters = &pass->model->parameters;
    const mgk_adaptive output = output_of(pass);
    const mgk_adaptive_gradient to = {
        .scale = pass->loss_scale,
        .words = pass->words ? pass->dwords : mgk_at(device, gradient, parameters->head.weight),
        .frequent = pass->dfrequent_words,
        .bias = mgk_at(device, gradient, parameters->head.bias),
        .cluster_weight = pass->words ? pass->dcluster_words
                                      : mgk_at(device, gradient, parameters->clusters.weight),
        .cluster_bias = mgk_at(device, gradient, parameters->clusters.bias),
        .hidden = dhidden_states};
    TRY(clear_products(pass));
    return mgk_adaptive_backward(device, &output, mgk_pass_rows(pass), pass->output, pass->targets,
                                 &to);
}
