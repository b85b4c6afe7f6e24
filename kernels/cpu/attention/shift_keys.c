/* SPDX-License-Identifier: MIT */
/* "smgk" keys: one projection and M learned shifts. */
#include "kernels/cpu/operations.h"

mgk_status MGK_CPU(shift_keys)(mgk_device *device, size_t rows, size_t mixtures, size_t width,
                               const void *base, size_t base_stride, const void *shift, void *keys)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * mixtures * width >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++)
        for (size_t r = 0; r < mixtures; r++) {
            const real *source = (const real *)base + i * base_stride;
            const real *offset = (const real *)shift + r * width;
            real *key = (real *)keys + (i * mixtures + r) * width;
#pragma omp simd
            for (size_t c = 0; c < width; c++)
                key[c] = source[c] + offset[c];
        }
    return STATUS_OK;
}

mgk_status MGK_CPU(shift_keys_backward)(mgk_device *device, size_t rows, size_t mixtures,
                                        size_t width, const void *dkeys, void *dbase,
                                        size_t base_stride, void *dshift)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (rows * mixtures * width >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < rows; i++) {
        const real *dkey = (const real *)dkeys + i * mixtures * width;
        real *sum = (real *)dbase + i * base_stride;
#pragma omp simd
        for (size_t c = 0; c < width; c++)
            sum[c] = dkey[c];
        for (size_t r = 1; r < mixtures; r++) {
#pragma omp simd
            for (size_t c = 0; c < width; c++)
                sum[c] += dkey[r * width + c];
        }
    }
    return MGK_CPU(column_sums)(device, rows, mixtures * width, dkeys, dshift);
}
