/* SPDX-License-Identifier: MIT */
/* Weights between some queries and some keys take their places in a matrix of all tokens. */
#include "kernels/cpu/attention/dense.h"

mgk_status MGK_CPU(add_pairs)(mgk_device *device, const mgk_pairs *pairs, const void *weight,
                              const void *a, void *out)
{
    const size_t rows = pairs->queries, cols = pairs->keys, tokens = pairs->tokens;
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++) {
        const int32_t query = pairs->query[i];
        if (query < 0)
            continue;
        const real factor = weight ? ((const real *)weight)[i * pairs->weight_step] : 1;
        const real *from = (const real *)a + i * cols;
        real *to = (real *)out + (size_t)query * tokens;
        /* The next row's places are far from this one's: they are fetched in the meantime. */
        const int32_t ahead = i + 1 < rows ? pairs->query[i + 1] : -1;
        const real *next = (const real *)out + (size_t)(ahead < 0 ? query : ahead) * tokens;
        for (size_t j = 0; j < cols; j++)
            if (pairs->key[j] >= 0) {
                to[pairs->key[j]] += factor * from[j];
                __builtin_prefetch(next + pairs->key[j], 1);
            }
    }
    return STATUS_OK;
}
