/* SPDX-License-Identifier: MIT */
/* "smgk" keys: one projection and M learned shifts. */
#include "kernels/cuda/operations.h"

template <typename real>
__global__ void shift_keys(size_t rows, size_t mixtures, size_t width, const real *base,
                           size_t base_stride, const real *shift, real *keys)
{
    for (size_t i = mgk_cuda_first(); i < rows * mixtures * width; i += mgk_cuda_step()) {
        size_t row = i / (mixtures * width), c = i % width;
        keys[i] = base[row * base_stride + c] + shift[i % (mixtures * width)];
    }
}

template <typename real>
mgk_status mgk_cuda_shift_keys(mgk_device *device, size_t rows, size_t mixtures, size_t width,
                               const void *base, size_t base_stride, const void *shift, void *keys)
{
    return mgk_cuda_launch(device, shift_keys<real>, mgk_cuda_blocks(rows * mixtures * width),
                           MGK_CUDA_BLOCK, 0, rows, mixtures, width, (const real *)base,
                           base_stride, (const real *)shift, (real *)keys);
}

template <typename real>
__global__ void sum_mixtures(size_t rows, size_t mixtures, size_t width, const real *dkeys,
                             real *dbase, size_t base_stride)
{
    for (size_t i = mgk_cuda_first(); i < rows * width; i += mgk_cuda_step()) {
        const real *dkey = dkeys + i / width * mixtures * width + i % width;
        real sum = dkey[0];
        for (size_t r = 1; r < mixtures; r++)
            sum += dkey[r * width];
        dbase[i / width * base_stride + i % width] = sum;
    }
}

template <typename real>
mgk_status mgk_cuda_shift_keys_backward(mgk_device *device, size_t rows, size_t mixtures,
                                        size_t width, const void *dkeys, void *dbase,
                                        size_t base_stride, void *dshift)
{
    TRY(mgk_cuda_launch(device, sum_mixtures<real>, mgk_cuda_blocks(rows * width), MGK_CUDA_BLOCK,
                        0, rows, mixtures, width, (const real *)dkeys, (real *)dbase, base_stride));
    return mgk_cuda_column_sums<real>(device, rows, mixtures * width, dkeys, dshift);
}

MGK_CUDA_OPERATION(mgk_cuda_shift_keys);
MGK_CUDA_OPERATION(mgk_cuda_shift_keys_backward);
