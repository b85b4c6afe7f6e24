/* SPDX-License-Identifier: MIT */
/* Tables of computed positions, in double precision on the host. */
#include <math.h>

#include "base/half.h"
#include "base/memory.h"
#include "model/core/pass_private.h"

/* An entry of a table, row t and column c. */
typedef double (*table_entry)(const mgk_config *config, size_t t, size_t c);

/*
 * Vaswani et al. 2017: for position t, sin of t·10000^(−2i/C) in the first half of the columns, cos
 * in the second, or both in turns.
 */
static double sinusoid(const mgk_config *config, size_t t, size_t c)
{
    const size_t half = (size_t)config->embedding / 2;
    const bool turns = config->positions_alternate, first = turns ? c % 2 == 0 : c < half;
    const double i = (double)(turns ? c / 2 : c % half);
    const double angle = (double)t * pow(10000, -2.0 * i / (double)config->embedding);
    return first ? sin(angle) : cos(angle);
}

/* Turns of frequency number i of R / 2 within the original length. */
static double turns_of(const mgk_config *config, double i)
{
    return config->rotary_original * pow(config->rotary_base, -2 * i / (double)config->rotary_dim) /
           (2 * M_PI);
}

/* The number of the frequency, between whole ones, that has so many turns. */
static double number_of(const mgk_config *config, double turns)
{
    return config->rotary_dim * log(turns_of(config, 0) / turns) / (2 * log(config->rotary_base));
}

/*
 * Llama 3.1: divides frequencies with fewer than `low` turns within the original length by the
 * factor, keeps those with more than `high`, and blends linearly between.
 */
static double kept_by_turns(const mgk_config *config, double i)
{
    double turns = turns_of(config, i);
    double kept = (turns - config->rotary_low) / (config->rotary_high - config->rotary_low);
    return turns < config->rotary_low ? 0 : turns > config->rotary_high ? 1 : kept;
}

/* Peng et al. 2023 (YaRN): the same, linear in the number of the frequency. */
static double kept_by_number(const mgk_config *config, double i)
{
    double first = number_of(config, config->rotary_high);
    double last = number_of(config, config->rotary_low);
    if (config->rotary_whole) {
        first = floor(first);
        last = ceil(last);
    }
    first = fmax(first, 0);
    last = fmin(last, config->rotary_dim - 1);
    if (first == last)
        last += 0.001; /* as published: a step */
    return 1 - fmin(fmax((i - first) / (last - first), 0), 1);
}

/* Frequency i of R / 2, base^(−2i/R), scaled. */
static double scaled_frequency(const mgk_config *config, size_t i, bool far)
{
    const bool whole = config->rotary_scaling == MGK_ROTARY_PROPORTIONAL;
    const double dim = whole ? config->head_dim : config->rotary_dim;
    double plain = pow(config->rotary_base, -2.0 * (double)i / dim), kept;
    switch (config->rotary_scaling) {
    case MGK_ROTARY_LINEAR:
    case MGK_ROTARY_PROPORTIONAL:
        return plain / config->rotary_factor;
    case MGK_ROTARY_LLAMA3:
    case MGK_ROTARY_YARN:
        kept = config->rotary_scaling == MGK_ROTARY_YARN ? kept_by_number(config, (double)i)
                                                         : kept_by_turns(config, (double)i);
        return plain * (kept + (1 - kept) / config->rotary_factor);
    case MGK_ROTARY_LONG:
        return plain / (far ? config->rotary_long[i] : config->rotary_short[i]);
    case MGK_ROTARY_PLAIN:
        break;
    }
    return plain;
}

/* cos of an angle in the first half of the columns, sin in the second. */
static double turned(double angle, size_t c, size_t half)
{
    return c < half ? cos(angle) : sin(angle);
}

/*
 * Su et al. 2021: the angle of pair i is t·base^(−2i/R). Pairs from R / 2 on are not turned: their
 * cos is 1, their sin 0.
 */
static double rotation(const mgk_config *config, size_t t, size_t c, bool far)
{
    size_t half = (size_t)config->head_dim / 2, i = c % half;
    if (i >= (size_t)config->rotary_dim / 2)
        return turned(0, c, half);
    return config->rotary_amplitude * turned((double)t * scaled_frequency(config, i, far), c, half);
}

static double near_rotation(const mgk_config *config, size_t t, size_t c)
{
    return rotation(config, t, c, false);
}

static double far_rotation(const mgk_config *config, size_t t, size_t c)
{
    return rotation(config, t, c, true);
}

static double local_rotation(const mgk_config *config, size_t t, size_t c)
{
    size_t half = (size_t)config->head_dim / 2, i = c % half;
    bool turns = i < (size_t)config->rotary_dim / 2;
    double frequency = pow(config->local_base, -2.0 * (double)i / (double)config->rotary_dim);
    return turned(turns ? (double)t * frequency : 0, c, half);
}

/*
 * The slope of head h: with P the largest power of 2 up to H, 2^(−8 (h + 1) / P) for h < P, and
 * 2^(−4 (2 (h − P) + 1) / P) for the others (Press et al. 2022, in the code of BLOOM).
 */
static double slope(int heads, int head)
{
    int power = 1;
    while (2 * power <= heads)
        power *= 2;
    double exponent = head < power ? 2 * (head + 1) : 2 * (head - power) + 1;
    return exp2(-4 * exponent / power);
}

/*
 * The class of the distance of key and query (Raffel et al. 2020): the first half is of keys up to
 * the query, the second of those after it; of causal models all are of keys up to the query. On
 * each side, of B classes, |distance| below B / 2 has its own; longer ones share classes that grow
 * as its logarithm, up to the limit. In single precision, as published: it decides on which side of
 * a boundary a distance is.
 */
static size_t bucket_of(const mgk_config *config, double distance)
{
    const int side = config->causal ? config->buckets : config->buckets / 2, own = side / 2;
    const size_t first = distance > 0 && !config->causal ? (size_t)side : 0;
    distance = distance > 0 && config->causal ? 0 : fabs(distance);
    if (distance < own)
        return first + (size_t)distance;
    const float scale = (float)log((double)config->bucket_limit / own);
    const float step = logf((float)distance / (float)own) / scale * (float)(side - own);
    return first + (size_t)fminf((float)own + truncf(step), (float)(side - 1));
}

static double rounded(double x)
{
    return (double)mgk_float_from_bf16(mgk_bf16_from_double(x));
}

/* Row h of the distance of key j and query i, or of the key's position if that is rounded; biases
 * [buckets, H] of classes, or NULL. */
static double distance_bias(const mgk_config *config, const double *biases, size_t h,
                            double distance)
{
    if (biases)
        return biases[bucket_of(config, distance) * (size_t)config->heads + h];
    const double steep = slope(config->heads, (int)h);
    if (config->alibi_rounded)
        return config->alibi_scale * rounded(rounded(steep) * rounded(distance));
    return config->alibi_scale * steep * distance;
}

static void put(const mgk_device *device, void *host, size_t at, double value)
{
    if (device->precision == MGK_DOUBLE)
        ((double *)host)[at] = value;
    else
        ((float *)host)[at] = (float)value;
}

static mgk_status upload_table(const mgk_pass *pass, table_entry entry, size_t cols, void *table)
{
    mgk_device *device = pass->model->device;
    size_t length = pass->capacity_tokens;
    void *host;
    TRY(mgk_alloc(length * cols, device->real_size, &host));
    for (size_t t = 0; t < length; t++)
        for (size_t c = 0; c < cols; c++)
            put(device, host, t * cols + c, entry(&pass->model->config, t, c));
    mgk_status status = device->op->upload(device, table, host, length * cols * device->real_size);
    mgk_free(host);
    return status;
}

/* Column j − i + N − 1 of the table is the bias of key j and query i. */
static mgk_status upload_distances(const mgk_pass *pass)
{
    mgk_device *device = pass->model->device;
    const mgk_config *config = &pass->model->config;
    const mgk_offset offset = pass->model->parameters.distance;
    size_t heads = (size_t)config->heads, tokens = pass->capacity_tokens, cols = 2 * tokens - 1;
    size_t count = (size_t)config->buckets * heads;
    double *biases = NULL;
    void *host = NULL;
    mgk_status status;
    if (offset != MGK_ABSENT) {
        CHECK(mgk_alloc(count, sizeof(*biases), &biases));
        CHECK(mgk_model_read(pass->model, offset, count, biases));
    }
    CHECK(mgk_alloc(heads * cols, device->real_size, &host));
    for (size_t h = 0; h < heads; h++)
        for (size_t c = 0; c < cols; c++)
            put(device, host, h * cols + c,
                distance_bias(config, biases, h, (double)c - (double)(tokens - 1)));
    status = device->op->upload(device, pass->distances, host, heads * cols * device->real_size);
out:
    mgk_free(host);
    mgk_free(biases);
    return status;
}

mgk_status mgk_pass_upload_positions(mgk_pass *pass)
{
    const mgk_config *config = &pass->model->config;
    if (pass->positions)
        TRY(upload_table(pass, sinusoid, (size_t)config->embedding, pass->positions));
    if (pass->angles)
        TRY(upload_table(pass, near_rotation, (size_t)config->head_dim, pass->angles));
    if (pass->far_angles)
        TRY(upload_table(pass, far_rotation, (size_t)config->head_dim, pass->far_angles));
    if (pass->local_angles)
        TRY(upload_table(pass, local_rotation, (size_t)config->head_dim, pass->local_angles));
    if (pass->relative_places)
        TRY(mgk_pass_upload_places(pass));
    return pass->distances ? upload_distances(pass) : STATUS_OK;
}
