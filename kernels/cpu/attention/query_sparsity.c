/* SPDX-License-Identifier: MIT */
/* The measure by which Informer chooses queries: the scores of some of them with all keys are a
 * product of matrices, of which two sums a row are left. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/tile.h"
#include "kernels/cpu/transpose.h"

/* Queries whose scores are computed together, a multiple of MGK_TILE_ROWS. */
enum { QUERIES = 64 };

/* The largest of a row's n > 0 scores less their mean. */
static real measure(size_t n, const real *score)
{
    real largest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : largest) reduction(+ : sum)
    for (size_t j = 0; j < n; j++) {
        largest = score[j] > largest ? score[j] : largest;
        sum += score[j];
    }
    return largest - sum / (real)n;
}

/*
 * The measures of `rows` queries q with the n keys k of their head, rows q_stride and k_stride
 * apart; memory [D + QUERIES, n padded] and [QUERIES, D].
 */
static void measure_rows(size_t rows, size_t n, size_t dim, const real *q, size_t q_stride,
                         const real *k, size_t k_stride, real *memory, real *out)
{
    const size_t cols = mgk_cpu_padded(n);
    real *scores = memory + dim * cols, *queries = scores + QUERIES * cols;
    mgk_transpose(n, dim, k, k_stride, memory, cols);
    for (size_t r = 0; r < dim; r++)
        memset(memory + r * cols + n, 0, (cols - n) * sizeof(real));
    memset(queries, 0, QUERIES * dim * sizeof(real));
    for (size_t i = 0; i < rows; i++)
        memcpy(queries + i * dim, q + i * q_stride, dim * sizeof(real));
    mgk_tile_multiply(mgk_tile_rows(rows), cols, dim, (mgk_tile_operand){queries, dim, 1}, memory,
                      cols, NULL, 0, scores, cols);
    for (size_t i = 0; i < rows; i++)
        out[i] = measure(n, scores + i * cols);
}

mgk_status MGK_CPU(query_sparsity)(mgk_device *device, const mgk_head_tokens *queries,
                                   const mgk_head_tokens *keys, const void *q, const void *k,
                                   void *out)
{
    const size_t heads = queries->heads, tokens = queries->tokens, dim = queries->dim;
    const size_t room = (dim + QUERIES) * mgk_cpu_padded(keys->tokens) + QUERIES * dim;
    TRY(mgk_cpu_reserve_scratch(device, room * sizeof(real)));
#pragma omp parallel for collapse(2) schedule(static) num_threads(device->threads)
    for (size_t m = 0; m < queries->samples * heads; m++)
        for (size_t first = 0; first < tokens; first += QUERIES) {
            const size_t b = m / heads, h = m % heads, left = tokens - first;
            const size_t n = mgk_cpu_length(keys->lengths, b, keys->tokens);
            const size_t valid = mgk_cpu_length(queries->lengths, b, tokens);
            const size_t some = left < QUERIES ? left : QUERIES;
            size_t rows = n == 0 || valid < first ? 0 : valid - first;
            real *to = (real *)out + m * tokens + first;
            rows = rows < some ? rows : some;
            if (rows > 0)
                measure_rows(rows, n, dim,
                             (const real *)q +
                                 mgk_cpu_token_at(queries, queries->stride, b, first, h),
                             queries->stride,
                             (const real *)k + mgk_cpu_token_at(keys, keys->stride, b, 0, h),
                             keys->stride, mgk_cpu_scratch(device, omp_get_thread_num()), to);
            for (size_t i = rows; i < some; i++)
                to[i] = -INFINITY;
        }
    return STATUS_OK;
}
