#include "kernels/spectrum.h"

#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/variant.h"

/* LAPACK counts the entries of a block of columns in 32-bit integers. */
enum { LARGEST_N = 32768 };

/* Up to here, measured on AVX2, one pass over the matrix a step is the faster way. */
enum { LARGEST_FUSED = 1024 };

/* Entries are scaled where their largest exponent is beyond this: squares then fit a double. */
enum { LARGEST_EXPONENT = 300 };

struct mgk_spectrum {
    size_t n_max;
    const mgk_reductions *reductions;
    double *padded;        /* [columns, pitch] of the largest fused matrix */
    double *fused_work;    /* [MGK_FUSED_VECTORS, pitch] */
    double *superdiagonal; /* [n_max] */
    lapack_int work_size;
    double *work; /* [work_size] */
};

static size_t fused_pitch(size_t n)
{
    return mgk_cpu_pitch(n + MGK_FUSED_GROUP);
}

static mgk_status open_fused(mgk_spectrum *w)
{
    size_t n = w->n_max < LARGEST_FUSED ? w->n_max : LARGEST_FUSED;
    size_t pitch = fused_pitch(n);
    TRY(mgk_alloc(pitch * (n + MGK_FUSED_GROUP), sizeof(double), &w->padded));
    return mgk_alloc(pitch * MGK_FUSED_VECTORS, sizeof(double), &w->fused_work);
}

/* Numbers of work that serve both steps for every n up to n_max. */
static mgk_status query_work(size_t n_max, lapack_int *size)
{
    lapack_int n = n_max > 0 ? (lapack_int)n_max : 1;
    double best, unused = 0;
    if (LAPACKE_dgebrd_work(LAPACK_COL_MAJOR, n, n, &unused, n, &unused, &unused, &unused, &unused,
                            &best, -1) != 0)
        return mgk_fail(STATUS_NUMERIC, "dgebrd gives no workspace size for n = %zu", n_max);
    *size = 2 * n + ((lapack_int)best > 4 * n ? (lapack_int)best : 4 * n);
    return STATUS_OK;
}

mgk_status mgk_spectrum_open(size_t n_max, mgk_spectrum **out)
{
    mgk_status status = STATUS_OK;
    *out = NULL;
    if (n_max > LARGEST_N)
        return mgk_fail(STATUS_SHAPE, "matrices of %zu rows, expected at most %d", n_max,
                        LARGEST_N);
    mgk_cpu_variant variant;
    TRY(mgk_cpu_choose_variant(&variant));
    mgk_spectrum *workspace;
    TRY(mgk_alloc(1, sizeof(*workspace), &workspace));
    workspace->n_max = n_max;
    workspace->reductions = variant.reductions;
    CHECK(query_work(n_max, &workspace->work_size));
    CHECK(open_fused(workspace));
    CHECK(mgk_alloc(n_max, sizeof(double), &workspace->superdiagonal));
    CHECK(mgk_alloc((size_t)workspace->work_size, sizeof(double), &workspace->work));
    *out = workspace;
    workspace = NULL;
out:
    mgk_spectrum_close(workspace);
    return status;
}

void mgk_spectrum_close(mgk_spectrum *workspace)
{
    if (!workspace)
        return;
    mgk_free(workspace->padded);
    mgk_free(workspace->fused_work);
    mgk_free(workspace->superdiagonal);
    mgk_free(workspace->work);
    mgk_free(workspace);
}

static bool all_finite(size_t n, const double *values)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/* The power of two, possibly 1, that brings the largest magnitude where squares fit. */
static int scale_exponent(size_t count, const double *values)
{
    double largest = 0;
#pragma omp simd reduction(max : largest)
    for (size_t i = 0; i < count; i++) {
        double magnitude = fabs(values[i]);
        largest = magnitude > largest ? magnitude : largest;
    }
    if (largest == 0 || !isfinite(largest))
        return 0;
    int exponent = ilogb(largest);
    if (abs(exponent) <= LARGEST_EXPONENT)
        return 0;
    /* Beyond 1022 the scale or its inverse would not be a normal number. */
    return exponent > 1022 ? -1022 : exponent < -1022 ? 1022 : -exponent;
}

static void scale(size_t count, double factor, double *values)
{
    for (size_t i = 0; factor != 1 && i < count; i++)
        values[i] *= factor;
}

/* Diagonal and superdiagonal of a bidiagonal matrix with the same singular values. */
static lapack_int bidiagonalise(mgk_spectrum *w, size_t n, double *matrix, double *diagonal)
{
    if (n > LARGEST_FUSED) {
        lapack_int order = (lapack_int)n;
        return LAPACKE_dgebrd_work(LAPACK_COL_MAJOR, order, order, matrix, order, diagonal,
                                   w->superdiagonal, w->work, w->work + n, w->work + 2 * n,
                                   w->work_size - 2 * order);
    }
    size_t pitch = fused_pitch(n);
    memset(w->padded, 0, pitch * (n + MGK_FUSED_GROUP) * sizeof(double));
    for (size_t j = 0; j < n; j++)
        memcpy(w->padded + j * pitch, matrix + j * n, n * sizeof(double));
    w->reductions->bidiagonalise(n, pitch, w->padded, w->fused_work, diagonal, w->superdiagonal);
    return 0;
}

/*
 * Bidiagonal form, then dqds: dbdsqr without vectors runs dqds (Fernando & Parlett 1994), and the
 * QR iteration should dqds ever stall. The rows are read as columns: the transpose has the same
 * singular values.
 */
mgk_status mgk_spectrum_compute(mgk_spectrum *workspace, size_t n, double *matrix, double *sigma)
{
    mgk_spectrum *w = workspace;
    if (n == 0)
        return STATUS_OK;
    if (n > w->n_max)
        return mgk_fail(STATUS_SHAPE, "a matrix of %zu rows, expected at most %zu", n, w->n_max);
    int exponent = scale_exponent(n * n, matrix);
    scale(n * n, ldexp(1, exponent), matrix);
    lapack_int info = bidiagonalise(w, n, matrix, sigma);
    /* On a NaN dbdsqr would print a complaint of its own. */
    if (!all_finite(n, sigma) || !all_finite(n - 1, w->superdiagonal))
        return mgk_fail(STATUS_NUMERIC, "the bidiagonal form is not finite");
    if (info == 0)
        info = LAPACKE_dbdsqr_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, 0, 0, 0, sigma,
                                   w->superdiagonal, NULL, 1, NULL, 1, NULL, 1, w->work);
    if (info != 0)
        return mgk_fail(STATUS_NUMERIC, "singular values did not converge (LAPACK info %d)",
                        (int)info);
    scale(n, ldexp(1, -exponent), sigma);
    if (!all_finite(n, sigma))
        return mgk_fail(STATUS_NUMERIC, "singular values overflow");
    return STATUS_OK;
}
