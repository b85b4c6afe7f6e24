/* SPDX-License-Identifier: MIT */
/* Inverses of shifted matrices by Gauss-Jordan elimination with partial pivoting, in double. */
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/gemm.h"

static void swap_rows(size_t m, double *a, size_t i, size_t j)
{
    for (size_t c = 0; i != j && c < m; c++) {
        double kept = a[i * m + c];
        a[i * m + c] = a[j * m + c];
        a[j * m + c] = kept;
    }
}

/* Takes multiples of the pivot's row from all others, so that its column becomes that of I. */
static void eliminate(size_t m, double *a, double *inverse, size_t pivot)
{
    const double *row = a + pivot * m, *inverse_row = inverse + pivot * m;
    for (size_t i = 0; i < m; i++) {
        const double factor = a[i * m + pivot];
        if (i == pivot || factor == 0)
            continue;
#pragma omp simd
        for (size_t c = pivot; c < m; c++)
            a[i * m + c] -= factor * row[c];
#pragma omp simd
        for (size_t c = 0; c < m; c++)
            inverse[i * m + c] -= factor * inverse_row[c];
    }
}

/* inverse = a⁻¹, both [m, m]; a is overwritten. False if a pivot is 0 or not finite. */
static bool invert(size_t m, double *a, double *inverse)
{
    memset(inverse, 0, m * m * sizeof *inverse);
    for (size_t i = 0; i < m; i++)
        inverse[i * m + i] = 1;
    for (size_t k = 0; k < m; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < m; i++)
            if (!(fabs(a[i * m + k]) <= fabs(a[best * m + k])))
                best = i;
        const double pivot = a[best * m + k];
        if (!isfinite(pivot) || pivot == 0)
            return false;
        swap_rows(m, a, k, best);
        swap_rows(m, inverse, k, best);
        for (size_t c = 0; c < m; c++) {
            a[k * m + c] /= pivot;
            inverse[k * m + c] /= pivot;
        }
        eliminate(m, a, inverse, k);
    }
    return true;
}

mgk_status MGK_CPU(shifted_inverse)(mgk_device *device, size_t count, size_t m, double shift,
                                    const void *x, void *z)
{
    const size_t size = m * m;
    TRY(mgk_cpu_reserve_scratch(device, 2 * size * sizeof(double)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads) if (count > 1)
    for (size_t i = 0; i < count; i++) {
        double *a = mgk_cpu_scratch(device, omp_get_thread_num()), *inverse = a + size;
        const real *input = (const real *)x + i * size;
        real *out = (real *)z + i * size;
        for (size_t e = 0; e < size; e++)
            a[e] = (double)input[e];
        for (size_t d = 0; d < m; d++)
            a[d * m + d] += shift;
        const bool regular = invert(m, a, inverse);
        for (size_t e = 0; e < size; e++)
            out[e] = regular ? (real)inverse[e] : (real)NAN;
    }
    return STATUS_OK;
}

mgk_status MGK_CPU(shifted_inverse_backward)(mgk_device *device, size_t count, size_t m,
                                             const void *z, const void *dz, void *dx)
{
    const size_t size = m * m;
    TRY(mgk_cpu_reserve_scratch(device, size * sizeof(real)));
    if (m > INT_MAX)
        return mgk_fail(STATUS_UNSUPPORTED, "matrices of order %zu: too large for BLAS", m);
#pragma omp parallel for schedule(dynamic) num_threads(device->threads) if (count > 1)
    for (size_t i = 0; i < count; i++) {
        real *product = mgk_cpu_scratch(device, omp_get_thread_num()); /* Zᵀ dZ */
        const real *inverse = (const real *)z + i * size;
        const int n = (int)m;
        if (n == 0)
            continue;
        MGK_CPU_GEMM(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, n, 1, inverse, n,
                     (const real *)dz + i * size, n, 0, product, n);
        MGK_CPU_GEMM(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, -1, product, n, inverse, n,
                     1, (real *)dx + i * size, n);
    }
    return STATUS_OK;
}
