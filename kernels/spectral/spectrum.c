/* SPDX-License-Identifier: MIT */
#include "kernels/spectral/spectrum.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/backend.h"
#include "kernels/blas.h"
#include "kernels/cpu/variant.h"
#include "kernels/rows.h"
#include "kernels/spectral/bisection.h"

/* BLAS counts in 32-bit integers. */
enum { LARGEST_N = 32768 };

/* Up to this order one fused pass per step is faster than two steps; measured with AVX2. */
enum { LARGEST_FUSED = 608 };

/*
 * Up to this order the matrix is copied to rows of a better length: with a power of two the
 * products lose up to a fifth of their speed. Larger copies would take too much memory.
 */
enum { LARGEST_PADDED = MGK_SPECTRUM_LARGEST_KEPT };

/* Superdiagonals of the band between the two steps: the same as on devices. */
enum { BAND = MGK_BAND_WIDTH };

/* Entries are scaled if their largest exponent exceeds this: then squares fit a double. */
enum { LARGEST_EXPONENT = 300 };

struct mgk_spectrum {
    size_t n_max;
    const mgk_reductions *reductions;
    const mgk_row_kernels *rows;
    double *padded;        /* a matrix up to LARGEST_PADDED, with its padding; NULL: only bands */
    double *band;          /* [mgk_band_size] */
    double *superdiagonal; /* [n_max] */
    double *work;          /* for all reductions; NULL: only bands */
    mgk_bisection *bisection;
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t padded_pitch(size_t n)
{
    return mgk_reduction_pitch(n + MGK_FUSED_GROUP);
}

static size_t work_size(size_t n_max)
{
    size_t fused = MGK_FUSED_VECTORS * padded_pitch(smaller(n_max, LARGEST_FUSED));
    size_t band = n_max > LARGEST_FUSED ? mgk_band_work(n_max, BAND) : 0;
    return larger(fused, band);
}

/* For matrices, or only for bands. */
static mgk_status open_arrays(mgk_spectrum *w, bool matrices)
{
    size_t n = smaller(w->n_max, LARGEST_PADDED);
    if (matrices) {
        TRY(mgk_alloc(padded_pitch(n) * (n + MGK_FUSED_GROUP), sizeof(double), &w->padded));
        TRY(mgk_alloc(work_size(w->n_max), sizeof(double), &w->work));
    }
    if (w->n_max > LARGEST_FUSED || !matrices)
        TRY(mgk_alloc(mgk_band_size(w->n_max, BAND), sizeof(double), &w->band));
    return mgk_alloc(w->n_max, sizeof(double), &w->superdiagonal);
}

static mgk_status open_spectrum(size_t n_max, bool matrices, mgk_spectrum **out)
{
    mgk_status status = STATUS_OK;
    *out = NULL;
    if (n_max > LARGEST_N)
        return mgk_fail(STATUS_SHAPE, "matrices of %zu rows, expected at most %d", n_max,
                        LARGEST_N);
    mgk_cpu_variant variant;
    TRY(mgk_blas_open());
    TRY(mgk_cpu_choose_variant(&variant));
    mgk_spectrum *workspace;
    const mgk_row_kernels *rows;
    TRY(mgk_row_kernels_choose(&rows));
    TRY(mgk_alloc(1, sizeof(*workspace), &workspace));
    workspace->n_max = n_max;
    workspace->reductions = variant.reductions;
    workspace->rows = rows;
    CHECK(open_arrays(workspace, matrices));
    CHECK(mgk_bisection_open(n_max, &workspace->bisection));
    *out = workspace;
    workspace = NULL;
out:
    mgk_spectrum_close(workspace);
    return status;
}

mgk_status mgk_spectrum_open(size_t n_max, mgk_spectrum **out)
{
    return open_spectrum(n_max, true, out);
}

mgk_status mgk_spectrum_open_for_bands(size_t n_max, mgk_spectrum **out)
{
    return open_spectrum(n_max, false, out);
}

void mgk_spectrum_close(mgk_spectrum *workspace)
{
    if (!workspace)
        return;
    mgk_free(workspace->padded);
    mgk_free(workspace->band);
    mgk_free(workspace->superdiagonal);
    mgk_free(workspace->work);
    mgk_bisection_close(workspace->bisection);
    mgk_free(workspace);
}

static bool all_finite(size_t n, const double *values)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/*
 * The exponent of a power of two, possibly 0, that scales the largest magnitude so that squares fit
 * a double.
 */
static int scale_exponent(const mgk_spectrum *w, size_t count, const double *values)
{
    const mgk_row_range range = w->rows->range(count, values);
    const double largest = fmax(range.largest, -range.smallest);
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

/* The matrix with rows `pitch` apart, padded with zeros. */
static void copy_padded(size_t n, size_t pitch, const double *matrix, double *padded)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(padded + i * pitch, matrix + i * n, n * sizeof(double));
        memset(padded + i * pitch + n, 0, (pitch - n) * sizeof(double));
    }
    memset(padded + n * pitch, 0, MGK_FUSED_GROUP * pitch * sizeof(double));
}

/* Diagonal and superdiagonal of a bidiagonal matrix with the singular values of factor · matrix. */
static void bidiagonalise(mgk_spectrum *w, size_t n, double factor, double *matrix,
                          double *diagonal)
{
    const mgk_reductions *reductions = w->reductions;
    size_t pitch = n;
    if (n <= LARGEST_PADDED) {
        pitch = padded_pitch(n);
        copy_padded(n, pitch, matrix, w->padded);
        matrix = w->padded;
    }
    scale(n * pitch, factor, matrix);
    if (n <= LARGEST_FUSED) {
        reductions->bidiagonalise(n, pitch, matrix, w->work, diagonal, w->superdiagonal);
        return;
    }
    memset(w->band, 0, mgk_band_size(n, BAND) * sizeof(double));
    reductions->dense_to_band(n, BAND, matrix, pitch, w->band, w->work);
    reductions->chase_band(n, BAND, w->band, diagonal, w->superdiagonal);
}

/*
 * The singular values of the bidiagonal form with diagonal `sigma`, which was scaled by 2^exponent.
 */
static mgk_status bisect(mgk_spectrum *w, size_t n, int exponent, double *sigma)
{
    if (!all_finite(n, sigma) || !all_finite(n - 1, w->superdiagonal))
        return mgk_fail(STATUS_NUMERIC, "the bidiagonal form is not finite");
    mgk_bisection_run(w->bisection, w->reductions, n, sigma, w->superdiagonal, sigma);
    scale(n, ldexp(1, -exponent), sigma);
    if (!all_finite(n, sigma))
        return mgk_fail(STATUS_NUMERIC, "singular values overflow");
    return STATUS_OK;
}

static mgk_status check_order(const mgk_spectrum *w, size_t n)
{
    if (n <= w->n_max)
        return STATUS_OK;
    return mgk_fail(STATUS_SHAPE, "a matrix of %zu rows, expected at most %zu", n, w->n_max);
}

/*
 * Bidiagonal form, then bisection. Rows are read as columns: the transpose has the same singular
 * values.
 */
mgk_status mgk_spectrum_compute(mgk_spectrum *workspace, size_t n, double *matrix, double *sigma)
{
    mgk_spectrum *w = workspace;
    if (n == 0)
        return STATUS_OK;
    if (n == 1 && isfinite(matrix[0])) {
        *sigma = fabs(matrix[0]);
        return STATUS_OK;
    }
    TRY(check_order(w, n));
    int exponent = scale_exponent(w, n * n, matrix);
    bidiagonalise(w, n, ldexp(1, exponent), matrix, sigma);
    return bisect(w, n, exponent, sigma);
}

/* Converts to the layout of chase_band, padded with zeros. */
static void unpack_band(size_t n, double factor, const double *packed, double *band)
{
    const size_t stride = mgk_band_stride(BAND);
    memset(band, 0, mgk_band_size(n, BAND) * sizeof(double));
    for (size_t r = 0; r < n; r++)
        for (size_t d = 0; d <= BAND && r + d < n; d++)
            band[2 * BAND + r + (r + d) * stride] = factor * packed[r * (BAND + 1) + d];
}

mgk_status mgk_spectrum_compute_band(mgk_spectrum *workspace, size_t n, const double *band,
                                     double *sigma)
{
    mgk_spectrum *w = workspace;
    if (n == 0)
        return STATUS_OK;
    TRY(check_order(w, n));
    const int exponent = scale_exponent(w, n * (BAND + 1), band);
    unpack_band(n, ldexp(1, exponent), band, w->band);
    w->reductions->chase_band(n, BAND, w->band, sigma, w->superdiagonal);
    return bisect(w, n, exponent, sigma);
}
