/* SPDX-License-Identifier: MIT */
/*
 * Means of the spans of a binary tree over the tokens. A span is made of its halves, and what spans
 * give to their tokens goes down the same way, so that each span costs a row.
 */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/transpose.h"

/* Rows of weights that are spread at once. */
enum { ROWS = 16 };

/* Spans that begin with token t: those of 1, 2, … 2^(count − 1) tokens. */
static int spans_from(int levels, size_t t)
{
    if (t == 0)
        return levels;
    const int count = __builtin_ctzl(t) + 1;
    return count < levels ? count : levels;
}

/* The valid tokens of a span. */
static size_t span_size(size_t n, size_t first, int level)
{
    const size_t length = (size_t)1 << level;
    return n - first < length ? n - first : length;
}

/*
 * Means of one head. From the last token on, because the halves of a span are shorter spans of the
 * same first token and of a later one.
 */
static void find_means(const mgk_head_tokens *shape, size_t b, size_t h, const real *x, real *y)
{
    const size_t n = mgk_cpu_length(shape->lengths, b, shape->tokens), dim = shape->dim;
    const int levels = mgk_tree_levels(shape->tokens);
    const size_t step = shape->heads * dim;
    y += b * mgk_tree_place(levels, shape->tokens) * step + h * dim;
    for (size_t t = n; t-- > 0;) {
        real *mean = y + mgk_tree_place(levels, t) * step;
        memcpy(mean, x + mgk_cpu_token_at(shape, shape->stride, b, t, h), dim * sizeof(real));
        for (int l = 1; l < spans_from(levels, t); l++, mean += step) {
            const size_t middle = t + ((size_t)1 << (l - 1)), size = span_size(n, t, l);
            memcpy(mean + step, mean, dim * sizeof(real));
            if (middle >= n)
                continue;
            const real *right = y + (mgk_tree_place(levels, middle) + (size_t)l - 1) * step;
            const real share = (real)(t + size - middle) / (real)size;
            for (size_t d = 0; d < dim; d++)
                mean[step + d] += share * (right[d] - mean[d]);
        }
    }
}

mgk_status MGK_CPU(tree_means)(mgk_device *device, const mgk_head_tokens *shape, const void *x,
                               void *y)
{
    const size_t spans = mgk_tree_place(mgk_tree_levels(shape->tokens), shape->tokens);
    const size_t total = shape->samples * shape->tokens * shape->heads * shape->dim;
    memset(y, 0, shape->samples * spans * shape->heads * shape->dim * sizeof(real));
#pragma omp parallel for collapse(2) schedule(static) \
    num_threads(device->threads) if (total >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t b = 0; b < shape->samples; b++)
        for (size_t h = 0; h < shape->heads; h++)
            find_means(shape, b, h, x, y);
    return STATUS_OK;
}

/*
 * to_t += Σ from_s / |s| over the spans s of each of n tokens, rows of `dim` numbers that lie
 * from_step and to_step apart. above [levels, dim] holds, for each length, the sum over the span
 * that contains the token and all longer ones.
 */
static void give_to_tokens(int levels, size_t n, size_t dim, const real *from, size_t from_step,
                           real *restrict to, size_t to_step, real *restrict above)
{
    for (size_t t = 0; t < n; t++, to += to_step) {
        const int count = spans_from(levels, t);
        for (int l = count - 1; l >= 0; l--) {
            const real *span = from + (size_t)l * from_step;
            const real share = 1 / (real)span_size(n, t, l);
            real *sum = above + (size_t)l * dim;
#pragma omp simd
            for (size_t d = 0; d < dim; d++)
                sum[d] = (l + 1 < levels ? sum[dim + d] : 0) + share * span[d];
        }
        mgk_cpu_add_row(dim, 1, above, to);
        from += (size_t)count * from_step;
    }
}

mgk_status MGK_CPU(tree_means_backward)(mgk_device *device, const mgk_head_tokens *shape,
                                        const void *dy, void *dx)
{
    const int levels = mgk_tree_levels(shape->tokens);
    const size_t step = shape->heads * shape->dim;
    const size_t spans = mgk_tree_place(levels, shape->tokens);
    TRY(mgk_cpu_reserve_scratch(device, (size_t)levels * shape->dim * sizeof(real)));
#pragma omp parallel for collapse(2) schedule(static) num_threads(device->threads)
    for (size_t b = 0; b < shape->samples; b++)
        for (size_t h = 0; h < shape->heads; h++)
            give_to_tokens(levels, mgk_cpu_length(shape->lengths, b, shape->tokens), shape->dim,
                           (const real *)dy + b * spans * step + h * shape->dim, step,
                           (real *)dx + mgk_cpu_token_at(shape, shape->stride, b, 0, h),
                           shape->stride, mgk_cpu_scratch(device, omp_get_thread_num()));
    return STATUS_OK;
}

mgk_status MGK_CPU(tree_spread)(mgk_device *device, size_t rows, size_t tokens,
                                const int32_t *length, const void *weight, void *out)
{
    const int levels = mgk_tree_levels(tokens);
    const size_t n = mgk_cpu_length(length, 0, tokens), spans = mgk_tree_place(levels, tokens);
    const size_t valid = mgk_tree_place(levels, n);
    const size_t scratch = (spans + tokens + (size_t)levels) * ROWS * sizeof(real);
    TRY(mgk_cpu_reserve_scratch(device, scratch));
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t first = 0; first < rows; first += ROWS) {
        const size_t count = rows - first < ROWS ? rows - first : ROWS;
        real *to = (real *)out + first * tokens;
        real *columns = mgk_cpu_scratch(device, omp_get_thread_num());
        real *sums = columns + spans * ROWS, *above = sums + tokens * ROWS;
        memset(columns, 0, scratch);
        mgk_transpose(count, valid, (const real *)weight + first * spans, spans, columns, ROWS);
        give_to_tokens(levels, n, ROWS, columns, ROWS, sums, ROWS, above);
        mgk_transpose(n, count, sums, ROWS, to, tokens);
        for (size_t i = 0; i < count; i++)
            memset(to + i * tokens + n, 0, (tokens - n) * sizeof(real));
    }
    return STATUS_OK;
}
