/* SPDX-License-Identifier: MIT */
/* From the output of the last layer to the final hidden states. */
#include "base/memory.h"
#include "model/core/pass_private.h"

/* The hidden states of tokens that no query sees become 0. */
static mgk_status clear_masked(const mgk_pass *pass)
{
    mgk_device *device = pass->model->device;
    const size_t rows = mgk_pass_rows(pass),
                 width = (size_t)mgk_config_hidden_width(&pass->model->config);
    int32_t *masked;
    if (!pass->has_masked)
        return STATUS_OK;
    TRY(mgk_alloc(rows, sizeof(*masked), &masked));
    mgk_status status = device->op->download(device, masked, pass->masked, rows * sizeof(*masked));
    for (size_t i = 0; status == STATUS_OK && i < rows; i++)
        if (masked[i])
            status = device->op->zero(device, mgk_at(device, pass->output, i * width),
                                      width * device->real_size);
    mgk_free(masked);
    return status;
}

/* The final norm, of the last layer's output, or of both of its streams. */
static mgk_status final_norm(mgk_pass *pass, const void *output)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const int width = mgk_config_hidden_width(config);
    const size_t dim = (size_t)config->dim;
    const void *streams[] = {pass->layers[config->layers - 1].sum1, output};
    for (size_t i = 0; config->reversible && i < 2; i++) /* copies each to its half of the rows */
        TRY(device->op->rotary_embedding(device, 1, mgk_pass_stream_rows(pass), 1, 1, dim, NULL,
                                         streams[i], dim, mgk_at(device, pass->final, i * dim),
                                         2 * dim));
    pass->output = pass->final;
    return mgk_pass_norm_of(pass, pass->model->parameters.norm, width,
                            config->reversible ? pass->final : output, pass->final, pass->mean,
                            pass->deviation);
}

mgk_status mgk_pass_finish(mgk_pass *pass, void *output)
{
    pass->output = output;
    if (mgk_config_has_final_norm(&pass->model->config))
        TRY(final_norm(pass, output));
    TRY(mgk_pass_drop_output(pass, pass->output));
    TRY(mgk_pass_unpack(pass, (size_t)mgk_config_hidden_width(&pass->model->config), pass->output));
    return clear_masked(pass);
}
