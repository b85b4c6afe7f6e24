/* SPDX-License-Identifier: MIT */
/* Tables of computed positions, in double precision on the host. */
#include <math.h>

#include "base/memory.h"
#include "model/core/pass_private.h"

/* An entry of a table, row t and column c. */
typedef double (*table_entry)(const mgk_config *config, size_t t, size_t c);

/*
 * Vaswani et al. 2017: for position t, sin of t·10000^(−2i/C) in the first half of the columns, cos
 * in the second.
 */
static double sinusoid(const mgk_config *config, size_t t, size_t c)
{
    size_t half = (size_t)config->embedding / 2;
    double angle = (double)t * pow(10000, -2.0 * (double)(c % half) / (double)config->embedding);
    return c < half ? sin(angle) : cos(angle);
}

/*
 * Llama 3.1: divides frequencies with fewer than `low` turns within the original length by the
 * factor, keeps those with more than `high`, and blends linearly between.
 */
static double stretched(const mgk_config *config, double frequency)
{
    double turns = config->rotary_original * frequency / (2 * M_PI);
    double kept = (turns - config->rotary_low) / (config->rotary_high - config->rotary_low);
    kept = turns < config->rotary_low ? 0 : turns > config->rotary_high ? 1 : kept;
    return frequency * (kept + (1 - kept) / config->rotary_factor);
}

/* Su et al. 2021: cos of t·base^(−2d/D) in the first half of the columns, sin in the second. */
static double rotation(const mgk_config *config, size_t t, size_t c)
{
    size_t half = (size_t)config->head_dim / 2;
    double frequency =
        pow(config->rotary_base, -2.0 * (double)(c % half) / (double)config->head_dim);
    if (config->rotary_scaling == MGK_ROTARY_LINEAR)
        frequency /= config->rotary_factor;
    if (config->rotary_scaling == MGK_ROTARY_LLAMA3)
        frequency = stretched(config, frequency);
    return c < half ? cos((double)t * frequency) : sin((double)t * frequency);
}

static mgk_status upload_table(const mgk_pass *pass, table_entry entry, size_t cols, void *table)
{
    mgk_device *device = pass->model->device;
    size_t length = pass->capacity_tokens;
    void *host;
    TRY(mgk_alloc(length * cols, device->real_size, &host));
    for (size_t t = 0; t < length; t++)
        for (size_t c = 0; c < cols; c++) {
            double value = entry(&pass->model->config, t, c);
            if (device->precision == MGK_DOUBLE)
                ((double *)host)[t * cols + c] = value;
            else
                ((float *)host)[t * cols + c] = (float)value;
        }
    mgk_status status = device->op->upload(device, table, host, length * cols * device->real_size);
    mgk_free(host);
    return status;
}

mgk_status mgk_pass_upload_positions(const mgk_pass *pass)
{
    const mgk_config *config = &pass->model->config;
    if (pass->positions)
        TRY(upload_table(pass, sinusoid, (size_t)config->embedding, pass->positions));
    if (pass->angles)
        TRY(upload_table(pass, rotation, (size_t)config->head_dim, pass->angles));
    return STATUS_OK;
}
