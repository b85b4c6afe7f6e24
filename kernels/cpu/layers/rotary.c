/* SPDX-License-Identifier: MIT */
/* Rotary position embedding (Su et al. 2021), and key heads shared by several query heads. */
#include <string.h>

#include "kernels/cpu/operations.h"

static void turn(size_t dim, const real *angles, const real *x, real *y)
{
    const size_t half = dim / 2;
    const real *cosine = angles, *sine = angles + half;
#pragma omp simd
    for (size_t d = 0; d < half; d++) {
        y[d] = x[d] * cosine[d] - x[d + half] * sine[d];
        y[d + half] = x[d + half] * cosine[d] + x[d] * sine[d];
    }
}

mgk_status MGK_CPU(rotary_embedding)(mgk_device *device, size_t samples, size_t tokens,
                                     size_t heads, size_t key_heads, size_t dim, const void *angles,
                                     const void *x, size_t x_stride, void *y, size_t y_stride)
{
    const size_t rows = samples * tokens, width = heads * dim;
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * width >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++)
        for (size_t h = 0; h < heads; h++) {
            const real *source = (const real *)x + i * x_stride + h * key_heads / heads * dim;
            real *head = (real *)y + i * y_stride + h * dim;
            if (angles)
                turn(dim, (const real *)angles + i % tokens * dim, source, head);
            else
                memcpy(head, source, dim * sizeof *head);
        }
    return STATUS_OK;
}
