#include "kernels/inertia.h"

#include <cblas.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/variant.h"

enum {
    LARGEST_N = 32768,                  /* BLAS counts in 32-bit integers */
    LARGEST_BLOCK = MGK_FACTOR_LARGEST, /* factored at once; what is larger, by halves */
    UNIT = 32,                          /* halves are multiples of this */
    STRIP = 64                          /* rows of an update */
};

struct mgk_inertia_work {
    const mgk_reductions *reductions;
    double *block;   /* of whatever is not larger than a block */
    double *panel;   /* of an update: L D */
    double *vectors; /* [3 n_max] */
    double *inverse; /* [n_max]: 1 / D */
    size_t stride;   /* between rows of the matrix at hand */
};

/* About half of the rows of a matrix larger than a block. */
static size_t upper_part(size_t n)
{
    return (n / 2 + UNIT - 1) / UNIT * UNIT;
}

/* L D becomes L, whose pivots lie on the diagonal of `pivots`; w->panel keeps L D. */
static void divide_by_pivots(const mgk_inertia_work *w, size_t rows, size_t n, const double *pivots,
                             double *l)
{
    for (size_t j = 0; j < n; j++)
        w->inverse[j] = 1 / pivots[j * w->stride + j];
    for (size_t i = 0; i < rows; i++) {
        double *row = l + i * w->stride;
        memcpy(w->panel + i * n, row, n * sizeof(*row));
        for (size_t j = 0; j < n; j++)
            row[j] *= w->inverse[j];
    }
}

/* The lower triangle of k [n, n] -= L (L D)ᵀ, L [n, depth]. */
static void update(const mgk_inertia_work *w, size_t n, size_t depth, const double *l, double *k)
{
    for (size_t first = 0; first < n; first += STRIP) {
        size_t rows = n - first < STRIP ? n - first : STRIP;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)rows, (blasint)(first + rows),
                    (blasint)depth, -1, l + first * w->stride, (blasint)w->stride, w->panel,
                    (blasint)depth, 1, k + first * w->stride, (blasint)w->stride);
    }
}

/* By halves, so that nearly all work is products of matrices. */
static void factor(const mgk_inertia_work *w, size_t n, double *k)
{
    if (n <= LARGEST_BLOCK) {
        w->reductions->factor(n, k, w->stride, w->block);
        return;
    }
    size_t half = upper_part(n), rest = n - half;
    double *below = k + half * w->stride;
    factor(w, half, k);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasUnit, (blasint)rest,
                (blasint)half, 1, k, (blasint)w->stride, below, (blasint)w->stride);
    divide_by_pivots(w, rest, half, k, below);
    update(w, rest, half, below, below + half);
    factor(w, rest, below + half);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static mgk_status open_arrays(size_t n_max, mgk_inertia_work *w)
{
    size_t half = n_max > LARGEST_BLOCK ? upper_part(n_max) : 0, panel;
    TRY(mgk_multiply(half, half, &panel));
    TRY(mgk_alloc(mgk_factor_work(smaller(n_max, LARGEST_BLOCK)), sizeof(double), &w->block));
    TRY(mgk_alloc(panel, sizeof(double), &w->panel));
    TRY(mgk_alloc(3 * n_max, sizeof(double), &w->vectors));
    return mgk_alloc(n_max, sizeof(double), &w->inverse);
}

mgk_status mgk_inertia_open(size_t n_max, mgk_inertia_work **out)
{
    mgk_status status = STATUS_OK;
    *out = NULL;
    if (n_max > LARGEST_N)
        return mgk_fail(STATUS_SHAPE, "matrices of %zu rows, expected at most %d", n_max,
                        LARGEST_N);
    mgk_cpu_variant variant;
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
    mgk_free(work->panel);
    mgk_free(work->vectors);
    mgk_free(work->inverse);
    mgk_free(work);
}

mgk_inertia mgk_inertia_count(mgk_inertia_work *work, size_t n, double *k, size_t stride)
{
    mgk_inertia out = {0};
    work->stride = stride;
    factor(work, n, k);
    for (size_t i = 0; i < n; i++)
        out.positive += k[i * stride + i] > 0;
    out.growth = work->reductions->growth(n, k, stride, work->vectors);
    return out;
}
