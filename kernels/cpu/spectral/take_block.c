/* SPDX-License-Identifier: MIT */
/* Copies the valid block of a padded matrix, packed, in float64. */
#include "kernels/cpu/operations.h"

mgk_status MGK_CPU(take_block)(mgk_device *device, size_t n, size_t stride, const void *matrix,
                               double *block)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (n * n >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < n; i++) {
        const real *row = (const real *)matrix + i * stride;
        for (size_t j = 0; j < n; j++)
            block[i * n + j] = (double)row[j];
    }
    return STATUS_OK;
}
