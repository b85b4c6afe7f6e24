/* SPDX-License-Identifier: MIT */
/* Features of document pairs for the classifier: [a, b, a·b, a−b]. */
#include "kernels/cpu/operations.h"

mgk_status MGK_CPU(pair_features)(mgk_device *device, size_t pairs, size_t cols, const void *x,
                                  void *y)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (pairs * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t p = 0; p < pairs; p++) {
        const real *a = (const real *)x + 2 * p * cols, *b = a + cols;
        real *features = (real *)y + 4 * p * cols;
#pragma omp simd
        for (size_t c = 0; c < cols; c++) {
            features[c] = a[c];
            features[cols + c] = b[c];
            features[2 * cols + c] = a[c] * b[c];
            features[3 * cols + c] = a[c] - b[c];
        }
    }
    return STATUS_OK;
}

mgk_status MGK_CPU(pair_features_backward)(mgk_device *device, size_t pairs, size_t cols,
                                           const void *x, const void *dy, void *dx)
{
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (pairs * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t p = 0; p < pairs; p++) {
        const real *a = (const real *)x + 2 * p * cols, *b = a + cols;
        const real *da = (const real *)dy + 4 * p * cols, *db = da + cols;
        const real *dproduct = db + cols, *ddifference = dproduct + cols;
        real *row = (real *)dx + 2 * p * cols;
#pragma omp simd
        for (size_t c = 0; c < cols; c++) {
            real first = da[c] + dproduct[c] * b[c] + ddifference[c];
            real second = db[c] + dproduct[c] * a[c] - ddifference[c];
            row[c] = first;
            row[cols + c] = second;
        }
    }
    return STATUS_OK;
}
