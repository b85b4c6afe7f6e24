/* SPDX-License-Identifier: MIT */
/* What the first layer reads: tokens, patches or sounds, and their positions. */
#include "model/core/pass_private.h"

/* Tokens and their positions, to y [T, E]. */
static mgk_status embed_tokens(const mgk_pass *pass, void *y)
{
    mgk_device *device = pass->model->device;
    const mgk_parameters *parameters = &pass->model->parameters;
    const mgk_config *config = &pass->model->config;
    const size_t width = (size_t)config->embedding;
    const void *positions = config->embedding_outer ? NULL
                            : pass->positions       ? pass->positions
                                                    : mgk_pass_weight(pass, parameters->position);
    const size_t sequences = (size_t)pass->sequences, tokens = (size_t)pass->tokens;
    const size_t together = pass->unmasked ? 1 : sequences; /* have the same scale */
    for (size_t b = 0; b < sequences; b += together)
        TRY(device->op->embed(device, together, tokens, width, pass->ids + b * tokens,
                              config->positions_backward ? pass->lengths + b : NULL,
                              config->embedding_scale / (pass->unmasked ? pass->unmasked[b] : 1),
                              pass->words ? pass->words : mgk_pass_weight(pass, parameters->token),
                              pass->padded ? NULL : positions,
                              mgk_at(device, y, b * tokens * width)));
    return pass->padded ? device->op->add_rows(device, mgk_pass_rows(pass), width, pass->places,
                                               positions, y)
                        : STATUS_OK;
}

/* The rows of a sequence are adjacent, so that its positions are the bias of one long row. */
static mgk_status add_positions(const mgk_pass *pass)
{
    mgk_device *device = pass->model->device;
    return device->op->bias_activation(device, MGK_ACTIVATION_NONE, (size_t)pass->sequences,
                                       (size_t)pass->tokens * (size_t)pass->model->config.dim,
                                       mgk_pass_weight(pass, pass->model->parameters.position),
                                       pass->embedded, NULL);
}

static mgk_status embed_patches(mgk_pass *pass)
{
    const mgk_config *config = &pass->model->config;
    const mgk_linear_map map = {pass->model->parameters.patch, MGK_ABSENT};
    TRY(mgk_pass_linear(pass, map, mgk_pass_rows(pass), mgk_patch_size(&config->picture),
                        (size_t)config->dim, pass->input, pass->embedded));
    return add_positions(pass);
}

/*
 * y [rows, C] = activation of the convolution of x, whose row t reads the `in` numbers of each of
 * three rows, from row stride·t on.
 */
static mgk_status convolve(const mgk_pass *pass, mgk_linear_map map, size_t rows, size_t stride,
                           size_t in, const void *x, void *y)
{
    mgk_device *device = pass->model->device;
    const size_t dim = (size_t)pass->model->config.dim;
    const void *weight = mgk_pass_weight(pass, map.weight);
    for (size_t tap = 0; tap < MGK_SOUND_TAPS; tap++)
        TRY(device->op->multiply(device, false, true, rows, dim, in, 1, mgk_at(device, x, tap * in),
                                 stride * in, mgk_at(device, weight, tap * in), MGK_SOUND_TAPS * in,
                                 tap > 0 ? 1 : 0, y, dim));
    return device->op->bias_activation(device, MGK_ACTIVATION_GELU, rows, dim,
                                       mgk_pass_weight(pass, map.bias), y, y);
}

/* Two convolutions, the second of which makes a token of two frames, and positions. */
static mgk_status embed_sounds(mgk_pass *pass)
{
    mgk_device *device = pass->model->device;
    const mgk_parameters *parameters = &pass->model->parameters;
    const mgk_config *config = &pass->model->config;
    const size_t tokens = (size_t)pass->tokens, rows = mgk_sound_rows(pass->tokens);
    const size_t bands = (size_t)config->sound.bands, dim = (size_t)config->dim;
    TRY(device->op->zero(device, pass->convolved,
                         (size_t)pass->sequences * rows * dim * device->real_size));
    for (size_t b = 0; b < (size_t)pass->sequences; b++) {
        void *middle = mgk_at(device, pass->convolved, b * rows * dim);
        TRY(convolve(pass, parameters->convolutions[0], rows - 2, 1, bands,
                     mgk_at(device, pass->input, b * rows * bands), mgk_at(device, middle, dim)));
        TRY(convolve(pass, parameters->convolutions[1], tokens, MGK_SOUND_STRIDE, dim, middle,
                     mgk_at(device, pass->embedded, b * tokens * dim)));
    }
    return add_positions(pass);
}

mgk_status mgk_pass_embed(mgk_pass *pass, bool packed)
{
    const mgk_parameters *parameters = &pass->model->parameters;
    const mgk_config *config = &pass->model->config;
    void *first = pass->narrow ? pass->narrow : pass->embedded;
    pass->packed = false;
    TRY(mgk_pass_multiply_tables(pass));
    TRY(config->picture.patch > 0 ? embed_patches(pass)
        : config->sound.bands > 0 ? embed_sounds(pass)
                                  : embed_tokens(pass, first));
    if (config->embedding_norm)
        TRY(mgk_pass_norm_of(pass, parameters->embedding_norm, config->embedding, first, first,
                             pass->mean, pass->deviation));
    if (pass->narrow)
        TRY(mgk_pass_linear(pass, parameters->projection, mgk_pass_rows(pass),
                            (size_t)config->embedding, (size_t)config->dim, first, pass->embedded));
    if (config->embedding_outer)
        TRY(add_positions(pass));
    pass->packed = packed;
    TRY(mgk_pass_pack(pass, (size_t)config->dim, pass->embedded));
    return mgk_pass_dropout_add(pass, 0, pass->embedded, NULL, pass->embedded);
}
