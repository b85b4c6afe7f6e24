/* SPDX-License-Identifier: MIT */
#include "analysis/counting/factors.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/backend.h"
#include "kernels/blas.h"
#include "kernels/spectral/rounding.h"
#include "kernels/spectral/spectrum.h"

enum { LARGEST_DEPTH = 32768, COLUMNS_AT_A_TIME = 32 /* in a block of LAPACK */ };

struct mgk_factors {
    size_t depth;
    mgk_spectrum *spectrum; /* of order depth */
    double *core;           /* [depth, depth] */
    double *sums;           /* [2, depth], of the columns of L and R */
    double *tau;            /* [depth] */
    double *work;           /* [COLUMNS_AT_A_TIME depth] */
};

mgk_status mgk_factors_open(size_t n_max, size_t depth, mgk_factors **out)
{
    mgk_status status;
    mgk_factors *f = NULL;
    size_t order = depth < n_max ? depth : n_max;
    *out = NULL;
    if (depth > LARGEST_DEPTH)
        return mgk_fail(STATUS_SHAPE, "factors of %zu columns, expected at most %d", depth,
                        LARGEST_DEPTH);
    CHECK(mgk_alloc(1, sizeof(*f), &f));
    f->depth = depth;
    CHECK(mgk_spectrum_open(order, &f->spectrum));
    CHECK(mgk_alloc(order * order, sizeof(double), &f->core));
    CHECK(mgk_alloc(2 * depth, sizeof(double), &f->sums));
    CHECK(mgk_alloc(depth, sizeof(double), &f->tau));
    CHECK(mgk_alloc(COLUMNS_AT_A_TIME * depth, sizeof(double), &f->work));
    *out = f;
    f = NULL;
out:
    mgk_factors_close(f);
    return status;
}

void mgk_factors_close(mgk_factors *factors)
{
    if (!factors)
        return;
    mgk_spectrum_close(factors->spectrum);
    mgk_free(factors->core);
    mgk_free(factors->sums);
    mgk_free(factors->tau);
    mgk_free(factors->work);
    mgk_free(factors);
}

/*
 * How far the rounding of non-negative factors moves singular values: relative errors u of the
 * entries of L and R, from their format, change each entry of A by at most 2 u of itself, and the
 * norm of that change is at most 2 u σ_1. Unlike mgk_rank_noise_floor this is a bound.
 */
static double noise_floor(double sigma_1, mgk_float_format format)
{
    double u = mgk_float_format_roundoff(format);
    return (2 * u + u * u) * sigma_1;
}

/* sums [depth] of the columns of rows [n, depth]. */
static void sum_columns(size_t n, size_t depth, const double *rows, double *sums)
{
    memset(sums, 0, depth * sizeof(*sums));
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < depth; c++)
            sums[c] += rows[i * depth + c];
}

static mgk_status check_entries(size_t n, size_t depth, const double *rows, const char *name)
{
    for (size_t i = 0; i < n * depth; i++)
        if (!(rows[i] >= 0) || !isfinite(rows[i]))
            return mgk_fail(STATUS_NUMERIC, "entry [%zu, %zu] of the %s factor is %g", i / depth,
                            i % depth, name, rows[i]);
    return STATUS_OK;
}

static double dot(size_t count, const double *a, const double *b)
{
    return mgk_blas.ddot((blasint)count, a, 1, b, 1);
}

/* Whether l and r, non-negative, have a common positive entry. */
static bool meet(size_t depth, const double *l, const double *r)
{
    for (size_t c = 0; c < depth; c++)
        if (l[c] > 0 && r[c] > 0)
            return true;
    return false;
}

size_t mgk_factors_zero_row(mgk_factors *factors, size_t n, const double *pair)
{
    const size_t depth = factors->depth;
    size_t i = 0;
    sum_columns(n, depth, pair + n * depth, factors->sums);
    while (i < n && meet(depth, pair + i * depth, factors->sums))
        i++;
    return i;
}

/* The sums of rows and columns of A = L Rᵀ, from the column sums of the factors. */
static mgk_status measure_sums(mgk_factors *f, size_t n, const double *pair, mgk_rank_row *row)
{
    const size_t depth = f->depth;
    const double *left = pair, *right = pair + n * depth;
    double *left_sums = f->sums, *right_sums = f->sums + depth;
    TRY(check_entries(n, depth, left, "left"));
    TRY(check_entries(n, depth, right, "right"));
    sum_columns(n, depth, left, left_sums);
    sum_columns(n, depth, right, right_sums);
    double worst = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = dot(depth, left + i * depth, right_sums);
        if (!isfinite(sum))
            return mgk_fail(STATUS_NUMERIC, "the sum of row %zu overflows", i);
        if (meet(depth, left + i * depth, right_sums))
            worst = fmax(worst, fabs(sum - 1));
        else
            row->zero_rows++;
        largest = fmax(largest, dot(depth, right + i * depth, left_sums));
    }
    row->row_sum_error = worst;
    row->column_sum_max = largest;
    return STATUS_OK;
}

/* S = Σ_c |l_c| |r_c|. */
static double sum_norms(const mgk_factors *f, size_t n, const double *pair)
{
    const blasint rows = (blasint)n, step = (blasint)f->depth;
    double sum = 0;
    for (size_t c = 0; c < f->depth; c++)
        sum += mgk_blas.dnrm2(rows, pair + c, step) *
               mgk_blas.dnrm2(rows, pair + n * f->depth + c, step);
    return sum;
}

/*
 * Replaces the first rows of rows [n, depth] = Q T by T [order, depth]. Rows here are columns to
 * LAPACK: it decomposes the transpose, Tᵀ Qᵀ.
 */
static mgk_status triangularise(mgk_factors *f, size_t n, size_t order, double *rows)
{
    const size_t depth = f->depth;
    lapack_int failed = mgk_blas.dgelqf_work(LAPACK_COL_MAJOR, (lapack_int)depth, (lapack_int)n,
                                             rows, (lapack_int)depth, f->tau, f->work,
                                             (lapack_int)(COLUMNS_AT_A_TIME * depth));
    if (failed)
        return mgk_fail(STATUS_NUMERIC, "dgelqf fails with %d", (int)failed);
    for (size_t k = 1; k < order; k++) /* LAPACK stores reflectors where T is zero */
        memset(rows + k * depth, 0, k * sizeof(*rows));
    return STATUS_OK;
}

/* The singular values [n] of L Rᵀ: those of the product of the triangles, then zeros. */
static mgk_status find_spectrum(mgk_factors *f, size_t n, double *pair, double *sigma)
{
    const size_t depth = f->depth, order = depth < n ? depth : n;
    double *left = pair, *right = pair + n * depth;
    TRY(triangularise(f, n, order, left));
    TRY(triangularise(f, n, order, right));
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)order, (blasint)order,
                   (blasint)depth, 1, left, (blasint)depth, right, (blasint)depth, 0, f->core,
                   (blasint)order);
    TRY(mgk_spectrum_compute(f->spectrum, order, f->core, sigma));
    memset(sigma + order, 0, (n - order) * sizeof(*sigma));
    return STATUS_OK;
}

mgk_status mgk_factors_rank(mgk_factors *factors, const mgk_engine_task *task, size_t n,
                            double *pair, mgk_float_format stored, mgk_rank_row *row,
                            mgk_rank_count *counts, double *sigma)
{
    const size_t depth = factors->depth;
    double error = 0;
    row->n = n;
    row->format = stored;
    row->method = MGK_METHOD_FACTORS;
    row->row_sum_error = row->column_sum_max = row->frobenius = row->noise_floor = NAN;
    row->zero_rows = 0;
    if (n > 0) {
        mgk_float_format seen = mgk_float_format_detect(2 * n * depth, pair);
        row->format = seen > stored ? seen : stored;
        TRY(measure_sums(factors, n, pair, row));
        error = mgk_gamma((double)(2 * n * depth + depth)) * sum_norms(factors, n, pair);
        TRY(find_spectrum(factors, n, pair, sigma));
    }
    mgk_rank_measure_spectrum(n, sigma, row);
    if (n > 0) {
        row->frobenius = mgk_blas.dnrm2((blasint)n, sigma, 1);
        row->noise_floor = noise_floor(row->sigma_max, row->format);
        error += mgk_rank_solver_error(row->sigma_max, depth + MGK_SOLVER_CONSTANT);
    }
    mgk_engine_count(task, row, sigma, error, counts);
    /* The factors before rounding were as thin: the rank is at most `depth`. */
    for (size_t t = 0; t < task->threshold_count; t++) {
        counts[t].rank_high = counts[t].rank_high < depth ? counts[t].rank_high : depth;
        counts[t].undecided = counts[t].rank_low < counts[t].rank_high;
    }
    return STATUS_OK;
}
