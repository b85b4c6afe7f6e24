/* SPDX-License-Identifier: MIT */
/* Products of many matrices: each is a task, or several slices of C if there are few. */
#include <omp.h>

#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/attention/narrow.h"
#include "kernels/cpu/attention/shallow.h"
#include "kernels/cpu/gemm.h"
#include "kernels/product.h"

/* Multiplications below which a parallel region or a slice of its own does not pay. */
static const double parallel_work = 1 << 18;

/* C is cut along its longer side into `count` slices. */
typedef struct cutting {
    bool by_rows;
    size_t extent, units, count;
} cutting;

static cutting cut(const mgk_batched_product *product, size_t batch, size_t threads)
{
    cutting out = {.by_rows = product->m >= product->n};
    out.extent = out.by_rows ? product->m : product->n;
    out.units = mgk_cpu_slice_units(out.extent);
    double work = (double)product->m * (double)product->n * (double)product->k;
    /* All threads have as many tasks, or so many that the last ones matter little. */
    size_t wanted = 1;
    while (batch * wanted % threads != 0 && batch * wanted < 8 * threads)
        wanted++;
    out.count = wanted < out.units ? wanted : out.units;
    if (work < parallel_work * (double)out.count)
        out.count = work < parallel_work ? 1 : (size_t)(work / parallel_work);
    return out;
}

/* A slice of one matrix; `scratch` is the thread's. */
static void multiply_slice(const mgk_batched_product *p, const cutting *slices, size_t slice,
                           const real *a, size_t lda, const real *b, size_t ldb, real *c,
                           real *scratch)
{
    const mgk_cpu_slice own = mgk_cpu_slice_of(slices->extent, slices->count, slice);
    size_t row = slices->by_rows ? own.first : 0, column = slices->by_rows ? 0 : own.first;
    size_t rows = slices->by_rows ? own.count : p->m, columns = slices->by_rows ? p->n : own.count;
    const bool narrow = mgk_narrow(p) && slices->by_rows;
    const size_t whole = rows / MGK_TILE_ROWS * MGK_TILE_ROWS;
    if (whole > 0 && (narrow || mgk_shallow(p))) {
        const real *left = a + row * lda;
        real *out = c + row * p->c.row + column;
        if (narrow)
            mgk_narrow_multiply(p, whole, left, b, out, scratch);
        else
            mgk_shallow_multiply(p, whole, columns, left, b + column * ldb, out, scratch);
        row += whole;
        rows -= whole;
    }
    if (rows == 0)
        return;
    MGK_CPU_GEMM(CblasRowMajor, p->transpose_a ? CblasTrans : CblasNoTrans,
                 p->transpose_b ? CblasTrans : CblasNoTrans, (int)rows, (int)columns, (int)p->k,
                 (real)p->alpha, a + row * (p->transpose_a ? 1 : lda), (int)lda,
                 b + column * (p->transpose_b ? ldb : 1), (int)ldb, (real)p->beta,
                 c + row * p->c.row + column, (int)p->c.row);
}

mgk_status MGK_CPU(batched_multiply)(mgk_device *device, const mgk_batched_product *p,
                                     const void *a, const void *b, void *c)
{
    const size_t batch = p->samples * p->heads;
    if (batch == 0 || p->m == 0 || p->n == 0)
        return STATUS_OK;
    size_t lda = p->a.row, ldb = p->b.row;
    TRY(mgk_check_product(p->transpose_a, p->transpose_b, p->m, p->n, p->k, &lda, &ldb, p->c.row));
    const cutting slices = cut(p, batch, (size_t)device->threads);
    const size_t tasks = batch * slices.count;
    const double work = (double)batch * (double)p->m * (double)p->n * (double)p->k;
    TRY(mgk_cpu_reserve_scratch(device,
                                (mgk_narrow_scratch(p) + mgk_shallow_scratch(p)) * sizeof(real)));
#pragma omp parallel for schedule(dynamic) \
    num_threads(device->threads) if (tasks > 1 && work >= 2 * parallel_work)
    for (size_t task = 0; task < tasks; task++) {
        size_t matrix = task / slices.count, sample = matrix / p->heads, head = matrix % p->heads;
        multiply_slice(p, &slices, task % slices.count,
                       (const real *)a + sample * p->a.sample + head * p->a.head, lda,
                       (const real *)b + sample * p->b.sample + head * p->b.head, ldb,
                       (real *)c + sample * p->c.sample + head * p->c.head,
                       mgk_cpu_scratch(device, omp_get_thread_num()));
    }
    return STATUS_OK;
}

mgk_status MGK_CPU(add_scaled)(mgk_device *device, size_t count, double alpha, const void *x,
                               double beta, void *y)
{
    const real *input = x, scale = (real)alpha, keep = (real)beta;
    real *sum = y;
#pragma omp parallel for simd schedule(static) \
    num_threads(device->threads) if (count >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t i = 0; i < count; i++)
        sum[i] = keep == 0 ? scale * input[i] : scale * input[i] + keep * sum[i];
    return STATUS_OK;
}
