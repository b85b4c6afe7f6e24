/* SPDX-License-Identifier: MIT */
/*
 * Conditional attention (Pilault et al. 2021, CA-MTL): softmax attention with a learned bias inside
 * of blocks of b positions, which a task modulates,
 *     s_ij = q_i·k_j / √D + (1 + γ_c) A_ic + β_c,   c = j − b ⌊i / b⌋,   0 <= c < b,
 *     [γ, β] = W z + w.
 * A [length, b] is the same for all heads, γ and β for all positions. There are no tasks here: z is
 * a vector that a layer learns. `kept` is the bias [N, N], then the statistics of the rows.
 */
#include <math.h>

#include "base/memory.h"
#include "kernels/attention/kinds.h"
#include "kernels/attention/primitives.h"

enum { BLOCKS, TASK, WEIGHT, BIAS, PARAMETERS };

static size_t block_of(const mgk_attention_size *size)
{
    return (size_t)size->settings->block;
}

static int parameters(const mgk_attention_size *size, mgk_kind_parameter out[MGK_KIND_PARAMETERS])
{
    const size_t block = block_of(size), width = (size_t)size->width;
    out[BLOCKS] = (mgk_kind_parameter){.name = "block.score",
                                       .axes = 2,
                                       .shape = {(size_t)size->length, block},
                                       .initial = MGK_INITIAL_CONSTANT};
    out[TASK] = (mgk_kind_parameter){.name = "task",
                                     .axes = 1,
                                     .shape = {width},
                                     .initial = MGK_INITIAL_NORMAL,
                                     .value = 1 / sqrt((double)width)};
    out[WEIGHT] = (mgk_kind_parameter){.name = "film.weight",
                                       .axes = 2,
                                       .shape = {2 * block, width},
                                       .initial = MGK_INITIAL_NORMAL,
                                       .value = 1 / sqrt((double)width)};
    out[BIAS] = (mgk_kind_parameter){
        .name = "film.bias", .axes = 1, .shape = {2 * block}, .initial = MGK_INITIAL_CONSTANT};
    return PARAMETERS;
}

static size_t full_count(const mgk_attention_size *size)
{
    return (size_t)size->tokens * (size_t)size->tokens;
}

/* Scratch: the gradient of the bias. */
static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    return (mgk_kind_memory){.kept = full_count(size) + mgk_tile_statistics(size, samples),
                             .scratch = training ? full_count(size) : 0};
}

static mgk_mixture scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_mixture mixture = mgk_dot_products(view);
    mixture.terms.full = layer->kept;
    mixture.terms.full_row_stride = (size_t)layer->size.tokens;
    return mixture;
}

/* The parameters, or their gradients, and γ and β, on the host. */
typedef struct film {
    size_t count[PARAMETERS];
    double *values[PARAMETERS];
    double *modulation; /* [2 b] */
    double *memory;
} film;

/* Reads `from`; `modulation` is 0. Release f->memory. */
static mgk_status read_film(mgk_device *device, const mgk_attention_size *size,
                            const void *const *from, film *f)
{
    const size_t block = block_of(size), width = (size_t)size->width;
    *f = (film){.count = {(size_t)size->length * block, width, 2 * block * width, 2 * block}};
    TRY(mgk_alloc(f->count[BLOCKS] + width + f->count[WEIGHT] + 2 * f->count[BIAS],
                  sizeof(*f->memory), &f->memory));
    double *next = f->memory;
    mgk_status status = STATUS_OK;
    for (int p = 0; status == STATUS_OK && p < PARAMETERS; next += f->count[p++]) {
        f->values[p] = next;
        status = mgk_device_download(device, from[p], f->count[p], next);
    }
    f->modulation = next;
    return status;
}

/* [γ, β] = W z + w. */
static void modulate(const film *f)
{
    const size_t width = f->count[TASK];
    for (size_t c = 0; c < f->count[BIAS]; c++) {
        f->modulation[c] = f->values[BIAS][c];
        for (size_t k = 0; k < width; k++)
            f->modulation[c] += f->values[WEIGHT][c * width + k] * f->values[TASK][k];
    }
}

/* The positions of query i's block: from its first to the last that exists. */
static size_t block_width(const mgk_attention_size *size, size_t i, size_t *first)
{
    const size_t block = block_of(size), left = (size_t)size->tokens - i / block * block;
    *first = i * (size_t)size->tokens + i / block * block;
    return left < block ? left : block;
}

static mgk_status write_bias(mgk_device *device, const mgk_attention_size *size, const film *f,
                             void *full)
{
    const size_t block = block_of(size);
    const double *gamma = f->modulation, *beta = gamma + block;
    TRY(device->op->zero(device, full, full_count(size) * device->real_size));
    for (size_t i = 0; i < (size_t)size->tokens; i++) {
        double *row = f->values[BLOCKS] + i * block;
        size_t first;
        const size_t width = block_width(size, i, &first);
        for (size_t c = 0; c < width; c++)
            row[c] = (1 + gamma[c]) * row[c] + beta[c];
        TRY(mgk_device_upload(device, row, width, mgk_at(device, full, first)));
    }
    return STATUS_OK;
}

static mgk_status prepare(mgk_device *device, const mgk_attention_view *view,
                          const mgk_attention_layer *layer)
{
    film f;
    (void)view;
    mgk_status status = read_film(device, &layer->size, layer->parameters, &f);
    if (status == STATUS_OK) {
        modulate(&f);
        status = write_bias(device, &layer->size, &f, layer->kept);
    }
    mgk_free(f.memory);
    return status;
}

/* From the gradient of the bias: that of A, += , and of [γ, β]. */
static mgk_status block_gradient(mgk_device *device, const mgk_attention_size *size, const film *f,
                                 const void *dfull, film *df)
{
    const size_t block = block_of(size);
    double *row;
    mgk_status status = mgk_alloc(block, sizeof(*row), &row);
    for (size_t i = 0; status == STATUS_OK && i < (size_t)size->tokens; i++) {
        size_t first;
        const size_t width = block_width(size, i, &first);
        status = mgk_device_download(device, mgk_at(device, dfull, first), width, row);
        for (size_t c = 0; status == STATUS_OK && c < width; c++) {
            df->values[BLOCKS][i * block + c] += (1 + f->modulation[c]) * row[c];
            df->modulation[c] += f->values[BLOCKS][i * block + c] * row[c];
            df->modulation[block + c] += row[c];
        }
    }
    mgk_free(row);
    return status;
}

/* The gradients of z, W and w, += , from that of [γ, β]. */
static void film_gradient(const film *f, film *df)
{
    const size_t width = f->count[TASK];
    for (size_t c = 0; c < f->count[BIAS]; c++) {
        df->values[BIAS][c] += df->modulation[c];
        for (size_t k = 0; k < width; k++) {
            df->values[WEIGHT][c * width + k] += df->modulation[c] * f->values[TASK][k];
            df->values[TASK][k] += df->modulation[c] * f->values[WEIGHT][c * width + k];
        }
    }
}

static mgk_status parameter_gradients(mgk_device *device, const mgk_attention_layer *layer,
                                      const void *dfull, void *const *into)
{
    film f = {0}, df = {0};
    mgk_status status = read_film(device, &layer->size, layer->parameters, &f);
    if (status == STATUS_OK)
        status = read_film(device, &layer->size, (const void *const *)into, &df);
    if (status == STATUS_OK) {
        modulate(&f);
        status = block_gradient(device, &layer->size, &f, dfull, &df);
    }
    if (status == STATUS_OK)
        film_gradient(&f, &df);
    for (int p = 0; status == STATUS_OK && p < PARAMETERS; p++)
        status = mgk_device_upload(device, df.values[p], df.count[p], into[p]);
    mgk_free(df.memory);
    mgk_free(f.memory);
    return status;
}

static mgk_status backward(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, const void *output,
                           const void *doutput, size_t output_stride,
                           const mgk_layer_gradient *gradient)
{
    mgk_layer_gradient inner = *gradient;
    inner.parameters[0] = layer->scratch; /* where tiles put the gradient of their bias */
    TRY(device->op->zero(device, layer->scratch, full_count(&layer->size) * device->real_size));
    TRY(mgk_tile_backward(device, view, layer, output, doutput, output_stride, &inner));
    return parameter_gradients(device, layer, layer->scratch, gradient->parameters);
}

/* The bias of all blocks, and a softmax of biased products. */
static double flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double block = (double)block_of(size);
    (void)kind;
    return 4 * block * size->width + 2 * block * size->tokens +
           size->heads * (mgk_attention_pairs(size) * (4.0 * size->dim + 6) +
                          (double)size->tokens * size->dim);
}

static const mgk_attention_methods methods = {MGK_TILE, .memory = memory, .prepare = prepare,
                                              .backward = backward};

const mgk_attention_kind mgk_attention_camtl = {
    .name = "camtl",
    .score = "exp(q_i.k_j / sqrt(D) + (1 + gamma_c) A_ic + beta_c), c = j within the own block",
    .rank_bound = "N",
    .defaults = {.block = 64},
    .methods = &methods,
    .tile = scores,
    .parameters = parameters,
    .flops = flops,
};
