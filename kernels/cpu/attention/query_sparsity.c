/* SPDX-License-Identifier: MIT */
/* The measure by which Informer chooses queries. */
#include <math.h>

#include "kernels/cpu/attention/dense.h"

/* The measure of one query; n valid keys, those of its head and sample in `k`. index NULL: all. */
static real measure(size_t dim, size_t n, size_t stride, size_t count, const int32_t *index,
                    const real *query, const real *k)
{
    real largest = -INFINITY, sum = 0;
    for (size_t s = 0; s < count; s++) {
        const size_t j = index ? (size_t)index[s] : s; /* −1 is beyond n */
        if (j >= n)
            continue;
        const real score = mgk_cpu_dot_row(dim, query, k + j * stride);
        largest = score > largest ? score : largest;
        sum += score;
    }
    return largest == -INFINITY && sum == 0 ? largest : largest - sum / (real)n;
}

mgk_status MGK_CPU(query_sparsity)(mgk_device *device, const mgk_head_tokens *queries,
                                   const mgk_head_tokens *keys, size_t count, const int32_t *index,
                                   const void *q, const void *k, void *out)
{
    const size_t heads = queries->heads, matrices = queries->samples * heads;
    if (!index)
        count = keys->tokens;
    const size_t work = matrices * queries->tokens * count * queries->dim;
#pragma omp parallel for collapse(2) schedule(static) \
    num_threads(device->threads) if (work >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t m = 0; m < matrices; m++)
        for (size_t i = 0; i < queries->tokens; i++) {
            const size_t b = m / heads, h = m % heads;
            const bool valid = i < mgk_cpu_length(queries->lengths, b, queries->tokens);
            ((real *)out)[m * queries->tokens + i] =
                valid
                    ? measure(queries->dim, mgk_cpu_length(keys->lengths, b, keys->tokens),
                              keys->stride, count, index ? index + i * count : NULL,
                              (const real *)q + mgk_cpu_token_at(queries, queries->stride, b, i, h),
                              (const real *)k + mgk_cpu_token_at(keys, keys->stride, b, 0, h))
                    : (real)-INFINITY;
        }
    return STATUS_OK;
}
