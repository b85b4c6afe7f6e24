/* SPDX-License-Identifier: MIT */
/* Ragged batches for tests of kernels/dense.h. */
#ifndef MGK_TESTS_KERNELS_DENSE_CASE_H
#define MGK_TESTS_KERNELS_DENSE_CASE_H

#include "gradient.h"
#include "kernels/dense.h"

enum { SAMPLES = 3, HEADS = 2 };

static inline const mgk_dense_operations *dense(const workspace *space)
{
    return space->device->op->dense;
}

/* Lengths of a full sample, an empty one and one of about half. */
static inline const int32_t *ragged(workspace *space, size_t n)
{
    int32_t *lengths = host_bytes(space, SAMPLES, sizeof *lengths);
    lengths[0] = (int32_t)n;
    lengths[1] = 0;
    lengths[2] = (int32_t)(n + 1) / 2;
    return lengths;
}

static inline const int32_t *upload_ids(workspace *space, size_t count, const int32_t *ids)
{
    return upload_bytes(space, count * sizeof *ids, ids);
}

/* Tokens on host and device: the lengths of `host` are on the host. */
typedef struct token_case {
    mgk_head_tokens host, device;
    size_t count; /* numbers of an array, gaps included */
} token_case;

static inline token_case ragged_tokens(workspace *space, size_t tokens, size_t dim)
{
    mgk_head_tokens shape = {.samples = SAMPLES,
                             .tokens = tokens,
                             .heads = HEADS,
                             .dim = dim,
                             .stride = HEADS * dim + 3,
                             .lengths = ragged(space, tokens)};
    token_case out = {.host = shape, .device = shape, .count = SAMPLES * tokens * shape.stride};
    out.device.lengths = upload_ids(space, SAMPLES, shape.lengths);
    return out;
}

static inline size_t token_at(const mgk_head_tokens *shape, size_t stride, size_t b, size_t t,
                              size_t h)
{
    return (b * shape->tokens + t) * stride + h * shape->dim;
}

/* Maps likewise. */
typedef struct map_case {
    mgk_head_maps host, device;
    size_t count;
} map_case;

static inline map_case ragged_maps(workspace *space, size_t rows, size_t cols, bool causal)
{
    mgk_head_maps shape = {.samples = SAMPLES,
                           .heads = HEADS,
                           .rows = rows,
                           .cols = cols,
                           .row_lengths = ragged(space, rows),
                           .col_lengths = ragged(space, cols),
                           .causal = causal};
    map_case out = {.host = shape, .device = shape, .count = SAMPLES * HEADS * rows * cols};
    out.device.row_lengths = upload_ids(space, SAMPLES, shape.row_lengths);
    out.device.col_lengths = upload_ids(space, SAMPLES, shape.col_lengths);
    return out;
}

static inline size_t map_at(const mgk_head_maps *maps, size_t b, size_t h, size_t i, size_t j)
{
    return ((b * maps->heads + h) * maps->rows + i) * maps->cols + j;
}

static inline bool map_valid(const mgk_head_maps *maps, size_t b, size_t i, size_t j)
{
    return (int64_t)i < maps->row_lengths[b] && (int64_t)j < maps->col_lengths[b] &&
           (!maps->causal || j <= i);
}

/* Entry `element` of [B, H, rows, cols] is valid. */
static inline bool element_valid(const mgk_head_maps *maps, size_t element)
{
    size_t j = element % maps->cols, i = element / maps->cols % maps->rows;
    return map_valid(maps, element / maps->cols / maps->rows / maps->heads, i, j);
}

/* NaN where entries are not valid: operations must not read them. */
static inline void spoil_maps(const mgk_head_maps *maps, size_t count, double *x)
{
    for (size_t e = 0; e < count; e++)
        if (!element_valid(maps, e))
            x[e] = NAN;
}

/* The same for padding and the gaps between tokens. */
static inline void spoil_tokens(const mgk_head_tokens *shape, double *x)
{
    for (size_t r = 0; r < shape->samples * shape->tokens; r++)
        for (size_t c = 0; c < shape->stride; c++)
            if ((int64_t)(r % shape->tokens) >= shape->lengths[r / shape->tokens] ||
                c >= shape->heads * shape->dim)
                x[r * shape->stride + c] = NAN;
}

/* The gradient of random inputs and weights that are the same in every workspace. */
static inline const double *gradient_in(workspace *space, layer *subject, const double *x,
                                        const double *weights, size_t outputs)
{
    void *dx = zeros(space, subject->inputs);
    subject->weights = weights;
    subject->weights_ = upload(space, outputs, weights);
    subject->gradient(space, subject, upload(space, subject->inputs, x), dx);
    return download(space, subject->inputs, dx);
}

/*
 * In double the gradient is compared with differences; in single precision with that of a device in
 * double, which takes the same integers as both have the memory of the host.
 */
static inline void check_backward(workspace *space, layer *subject, size_t outputs)
{
    if (space->device->precision == MGK_DOUBLE) {
        check_gradient(space, subject, outputs);
        return;
    }
    workspace exact = {.stream = 0};
    const double *x = random_values(space, subject->inputs);
    const double *weights = random_values(space, outputs);
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &exact.device));
    const double *expected = gradient_in(&exact, subject, x, weights, outputs);
    const double *found = gradient_in(space, subject, x, weights, outputs);
    assert_true(along(subject->inputs, expected, expected) > 0);
    assert_rows_close(1, subject->inputs, found, expected, space->tolerance);
    workspace_release(&exact);
    mgk_device_close(exact.device);
}

#endif
