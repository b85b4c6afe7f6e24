/* SPDX-License-Identifier: MIT */
/* Angular hashing of tokens. */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/* The position of the largest number of [x, −x], x [half]. */
static int32_t largest_side(size_t half, const real *x)
{
    size_t best = 0;
    real largest = x[0];
    for (size_t j = 1; j < 2 * half; j++) {
        const real value = j < half ? x[j] : -x[j - half];
        if (value > largest) {
            largest = value;
            best = j;
        }
    }
    return (int32_t)best;
}

mgk_status MGK_CPU(lsh_buckets)(mgk_device *device, const mgk_head_tokens *shape,
                                const mgk_lsh *lsh, const void *x, int32_t *bucket)
{
    const size_t first = lsh->buckets / 2, second = lsh->parts / 2, each = first + second;
    const size_t width = lsh->hashes * each;
    const size_t heads = shape->heads, matrices = shape->samples * heads;
    TRY(mgk_cpu_reserve_scratch(device, width * sizeof(real)));
#pragma omp parallel for collapse(2) schedule(static)                                 \
    num_threads(device->threads) if (matrices * shape->tokens * shape->dim * width >= \
                                     MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t m = 0; m < matrices; m++)
        for (size_t t = 0; t < shape->tokens; t++) {
            const size_t b = m / heads, h = m % heads;
            const bool valid = t < mgk_cpu_length(shape->lengths, b, shape->tokens);
            const real *token = (const real *)x + mgk_cpu_token_at(shape, shape->stride, b, t, h);
            const real *rotation =
                (const real *)lsh->rotations + (lsh->shared ? 0 : h) * shape->dim * width;
            real *rotated = mgk_cpu_scratch(device, omp_get_thread_num()); /* [hashes, each] */
            memset(rotated, 0, width * sizeof *rotated);
            for (size_t d = 0; valid && d < shape->dim; d++)
                mgk_cpu_add_row(width, token[d], rotation + d * width, rotated);
            for (size_t r = 0; r < lsh->hashes; r++) {
                const real *own = rotated + r * each;
                const int32_t part = second > 0 ? largest_side(second, own + first) : 0;
                bucket[(m * lsh->hashes + r) * shape->tokens + t] =
                    valid ? largest_side(first, own) + (int32_t)lsh->buckets * part : -1;
            }
        }
    return STATUS_OK;
}
