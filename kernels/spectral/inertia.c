/* SPDX-License-Identifier: MIT */
#include "kernels/spectral/inertia.h"

#include <string.h>

#include "base/memory.h"
#include "kernels/blas.h"
#include "kernels/cpu/variant.h"

enum {
    LARGEST_N = 32768,          /* BLAS counts in 32-bit integers */
    BLOCK = MGK_FACTOR_LARGEST, /* rows factored at once */
    LEAST_STRIP = 64            /* least rows of an update; an eighth of all rows if that is more */
};

struct mgk_inertia_work {
    const mgk_reductions *reductions;
    double *block;   /* work of `factor` */
    double *rest;    /* [BLOCK, n_max]: W = D Lᵀ of the rows below a block */
    double *vectors; /* [3 n_max] */
};

/* The lower triangle of k [n, n] -= L W. */
static void update(size_t n, const double *l, const double *w, size_t pitch, double *k,
                   size_t stride)
{
    const size_t strip = n / 8 > LEAST_STRIP ? n / 8 : LEAST_STRIP;
    for (size_t first = 0; first < n; first += strip) {
        size_t rows = n - first < strip ? n - first : strip;
        mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)rows,
                       (blasint)(first + rows), BLOCK, -1, l + first * stride, (blasint)stride, w,
                       (blasint)pitch, 1, k + first * stride, (blasint)stride);
    }
}

/* Factors a block and the rows below it, and updates the rest, mostly by matrix products. */
static void factor(const mgk_inertia_work *w, size_t n, double *k, size_t stride)
{
    for (; n > BLOCK; n -= BLOCK) {
        size_t rest = n - BLOCK, pitch = mgk_factor_pitch(rest);
        double *below = k + BLOCK * stride;
        w->reductions->factor(BLOCK, k, stride, w->block);
        w->reductions->solve(BLOCK, rest, below, stride, w->block, w->rest, pitch);
        k = below + BLOCK;
        update(rest, below, w->rest, pitch, k, stride);
    }
    w->reductions->factor(n, k, stride, w->block);
}

static mgk_status open_arrays(size_t n_max, mgk_inertia_work *w)
{
    size_t block = n_max < BLOCK ? n_max : BLOCK, rest = n_max - block;
    TRY(mgk_alloc(mgk_factor_work(block), sizeof(double), &w->block));
    if (rest > 0)
        TRY(mgk_alloc((BLOCK + MGK_FACTOR_BLOCK) * mgk_factor_pitch(rest), sizeof(double),
                      &w->rest));
    return mgk_alloc(3 * n_max, sizeof(double), &w->vectors);
}

mgk_status mgk_inertia_open(size_t n_max, mgk_inertia_work **out)
{
    mgk_status status = STATUS_OK;
    *out = NULL;
    if (n_max > LARGEST_N)
        return mgk_fail(STATUS_SHAPE, "matrices of %zu rows, expected at most %d", n_max,
                        LARGEST_N);
    mgk_cpu_variant variant;
    TRY(mgk_blas_open());
    TRY(mgk_cpu_choose_variant(&variant));
    mgk_inertia_work *work;
    TRY(mgk_alloc(1, sizeof(*work), &work));
    work->reductions = variant.reductions;
    CHECK(open_arrays(n_max, work));
    *out = work;
    work = NULL;
out:
    mgk_inertia_close(work);
    return status;
}

void mgk_inertia_close(mgk_inertia_work *work)
{
    if (!work)
        return;
    mgk_free(work->block);
    mgk_free(work->rest);
    mgk_free(work->vectors);
    mgk_free(work);
}

/* CᵀC of the last block of rows of a causal matrix, which is triangular. */
static void square_corner(const mgk_inertia_work *work, size_t n, const double *c, size_t stride,
                          double *product, size_t product_stride)
{
    if (n >= MGK_SQUARE_LEAST)
        work->reductions->square(n, c, stride, product, product_stride);
    else
        mgk_blas.dsyrk(CblasRowMajor, CblasLower, CblasTrans, (blasint)n, (blasint)n, 1, c,
                       (blasint)stride, 0, product, (blasint)product_stride);
}

/*
 * By blocks of rows [R T], T triangular: adds RᵀR to the sum of the blocks above, and sets their
 * next rows to TᵀR and TᵀT.
 */
static void square_causal(const mgk_inertia_work *work, size_t n, const double *c, size_t stride,
                          double *product, size_t product_stride)
{
    enum { ROWS = MGK_SQUARE_LARGEST };
    for (size_t first = 0; first < n; first += ROWS) {
        const size_t rows = n - first < ROWS ? n - first : ROWS;
        const double *left = c + first * stride, *corner = left + first;
        double *below = product + first * product_stride;
        if (first > 0) {
            mgk_blas.dsyrk(CblasRowMajor, CblasLower, CblasTrans, (blasint)first, (blasint)rows, 1,
                           left, (blasint)stride, 1, product, (blasint)product_stride);
            for (size_t i = 0; i < rows; i++)
                memcpy(below + i * product_stride, left + i * stride, first * sizeof(*left));
            mgk_blas.dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit,
                           (blasint)rows, (blasint)first, 1, corner, (blasint)stride, below,
                           (blasint)product_stride);
        }
        square_corner(work, rows, corner, stride, below + first, product_stride);
    }
}

void mgk_inertia_square(const mgk_inertia_work *work, size_t n, bool causal, const double *c,
                        size_t stride, double *product, size_t product_stride)
{
    if (causal)
        square_causal(work, n, c, stride, product, product_stride);
    else
        mgk_blas.dsyrk(CblasRowMajor, CblasLower, CblasTrans, (blasint)n, (blasint)n, 1, c,
                       (blasint)stride, 0, product, (blasint)product_stride);
}

mgk_inertia mgk_inertia_count(mgk_inertia_work *work, size_t n, double *k, size_t stride)
{
    mgk_inertia out = {0};
    factor(work, n, k, stride);
    for (size_t i = 0; i < n; i++)
        out.positive += k[i * stride + i] > 0;
    out.growth = work->reductions->growth(n, k, stride, work->vectors);
    return out;
}
