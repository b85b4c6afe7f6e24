/* SPDX-License-Identifier: MIT */
#include "analysis/counting/low_rank.h"

#include <math.h>
#include <string.h>

#include "analysis/counting/rows.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernels/blas.h"
#include "kernels/spectral/rounding.h"

enum { STEP = 32 };

struct mgk_low_rank {
    size_t most;    /* columns of Q */
    double *basis;  /* Qᵀ [most, n_max] */
    double *images; /* B [most, n_max] */
    double *random; /* [most, n_max]; later a copy of B for its factorisation */
    double *share;  /* [most, most], and the triangle of B */
    double *work;   /* [MGK_ROWS_WORK most] */
    double *sigma;  /* [most] */
};

mgk_status mgk_low_rank_open(size_t n_max, mgk_low_rank **out)
{
    mgk_status status;
    mgk_low_rank *low_rank = NULL;
    const size_t most = n_max / MGK_LOW_RANK_SHARE;
    size_t entries;
    *out = NULL;
    CHECK(mgk_blas_open());
    CHECK(mgk_alloc(1, sizeof(*low_rank), &low_rank));
    low_rank->most = most;
    CHECK(mgk_multiply(most, n_max, &entries));
    CHECK(mgk_alloc(entries, sizeof(double), &low_rank->basis));
    CHECK(mgk_alloc(entries, sizeof(double), &low_rank->images));
    CHECK(mgk_alloc(entries, sizeof(double), &low_rank->random));
    CHECK(mgk_alloc(most * most, sizeof(double), &low_rank->share));
    CHECK(mgk_alloc(MGK_ROWS_WORK * most, sizeof(double), &low_rank->work));
    CHECK(mgk_alloc(most, sizeof(double), &low_rank->sigma));
    *out = low_rank;
    low_rank = NULL;
out:
    mgk_low_rank_close(low_rank);
    return status;
}

void mgk_low_rank_close(mgk_low_rank *low_rank)
{
    if (!low_rank)
        return;
    mgk_free(low_rank->basis);
    mgk_free(low_rank->images);
    mgk_free(low_rank->random);
    mgk_free(low_rank->share);
    mgk_free(low_rank->work);
    mgk_free(low_rank->sigma);
    mgk_free(low_rank);
}

/* Orthogonalises rows [added, n] to the basis of `size` vectors and among themselves. */
static bool orthonormalise(mgk_low_rank *q, size_t n, size_t size, size_t added, double *rows)
{
    const blasint length = (blasint)n, many = (blasint)added, before = (blasint)size;
    /* Twice: cancellation makes the first pass inexact. */
    for (int pass = 0; pass < 2; pass++) {
        if (size > 0) {
            mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, many, before, length, 1, rows,
                           length, q->basis, length, 0, q->share, before);
            mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, many, length, before, -1,
                           q->share, before, q->basis, length, 1, rows, length);
        }
        if (!mgk_rows_orthonormalise(n, added, rows, q->share, q->work))
            return false;
    }
    return true;
}

/* Adds `added` columns to Q and rows to B, and subtracts their product from E. */
static bool extend(mgk_low_rank *q, size_t n, size_t size, size_t added, double *rest)
{
    const blasint length = (blasint)n, many = (blasint)added;
    double *basis = q->basis + size * n, *images = q->images + size * n;
    mgk_random random = {.seed = n, .stream = size};
    for (size_t i = 0; i < added * n; i++)
        q->random[i] = mgk_random_next_uniform(&random) - 0.5;
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, many, length, length, 1, q->random,
                   length, rest, length, 0, basis, length);
    if (!orthonormalise(q, n, size, added, basis))
        return false;
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, many, length, length, 1, basis,
                   length, rest, length, 0, images, length);
    mgk_blas.dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, length, length, many, -1, basis, length,
                   images, length, 1, rest, length);
    return true;
}

static double norm(size_t count, const double *x)
{
    return sqrt(mgk_blas.ddot((blasint)count, x, 1, x, 1));
}

/* The singular values of B [size, n]. */
static bool compute(mgk_low_rank *q, mgk_spectrum *spectrum, size_t n, size_t size)
{
    memcpy(q->random, q->images, size * n * sizeof(*q->random));
    if (size == 0)
        return true;
    return mgk_rows_factor(n, size, q->random, q->share, q->work) &&
           mgk_spectrum_compute(spectrum, size, q->share, q->sigma) == STATUS_OK;
}

/*
 * The number of singular values of A that are at least `level`, from those of B, with errors up to
 * `error`, and ‖E‖; false if they do not decide it.
 */
static bool count_at(const mgk_low_rank *q, size_t n, size_t size, double level, double error,
                     double rest, size_t *count)
{
    size_t most = hypot(error, rest) >= level ? n - size : 0;
    *count = 0;
    for (size_t i = 0; i < size; i++) {
        *count += q->sigma[i] - error >= level;
        most += hypot(q->sigma[i] + error, rest) >= level;
    }
    return *count == most;
}

/*
 * The singular value of B nearest to tau, if its distance has a relative error of at most 1e-2; NaN
 * if values that E hides may be nearer.
 */
static double nearest(const mgk_low_rank *q, size_t size, double tau, double rest)
{
    static const double digits = 1e-2;
    double found = 0; /* about n - size values are near 0 */
    for (size_t i = 0; i < size; i++)
        if (fabs(q->sigma[i] - tau) < fabs(found - tau))
            found = q->sigma[i];
    const double distance = fabs(found - tau), off = hypot(found, rest) - found;
    return distance <= tau - rest + digits * tau && off <= digits * distance ? found : NAN;
}

/*
 * Bounds of all rounding errors. The error of products of n and of k terms is that many roundings
 * of the product of norms (Higham, Accuracy and Stability, §3.5); the orthonormality of Q is
 * measured; and Householder's triangle is exact for a matrix within n k roundings of ‖B‖ (Theorem
 * 19.4, with 1 for its unnamed constant).
 */
typedef struct roundings {
    double rest;  /* distance of the stored E from A - Q B */
    double cross; /* of the rows of B added by each step: ‖QᵀE‖ */
    double norms; /* Σ of ‖E‖ before each step */
} roundings;

/* Adds a step of `added` columns, with ‖E‖ = norm_before. */
static void add_roundings(roundings *r, size_t n, size_t added, double norm_before)
{
    const double root = sqrt((double)added), size = 1.01 * norm_before;
    r->rest += mgk_gamma((double)(added + 2)) * (1 + root) * size;
    r->cross += mgk_gamma((double)(n + 1)) * root * size;
    r->norms += norm_before;
}

/* An upper bound of ‖QᵀQ - I‖. */
static double measure_defect(mgk_low_rank *q, size_t n, size_t size)
{
    const blasint length = (blasint)n, many = (blasint)size;
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, many, many, length, 1, q->basis, length,
                   q->basis, length, 0, q->share, many);
    for (size_t k = 0; k < size; k++)
        q->share[k * (size + 1)] -= 1;
    return norm(size * size, q->share) + 1.01 * mgk_gamma((double)((n + 1) * size));
}

/*
 * The distance of the computed singular values of B from those of the exact QᵀA, Q the nearest
 * orthonormal basis: from ‖Qᵀ(A - Q B)‖, which is `cross` of each step, the rounding of its update
 * and the defect of Q; plus the solver's error.
 */
static double bound_error(const roundings *r, size_t n, size_t size, double defect, double whole)
{
    const double solver = (double)(n * size + size + MGK_SOLVER_CONSTANT) * MGK_ROUNDOFF * whole;
    return 1.02 * (r->cross + 2 * r->rest + defect * (r->norms + whole)) + solver;
}

bool mgk_low_rank_count(mgk_low_rank *q, mgk_spectrum *spectrum, size_t n, const double *matrix,
                        size_t columns, double tau, double moved, double storage, double *rest,
                        size_t *used, double *largest, mgk_rank_count *out)
{
    /*
     * ‖E‖ / tau: below `small` E hides little; below `enough` Q stops growing if E hardly shrinks.
     */
    static const double small = 0.15, enough = 0.5;
    const double inner = moved + 8 * MGK_ROUNDOFF * tau, outer = inner + storage;
    const double whole = norm(n * n, matrix);
    const size_t most = n / MGK_LOW_RANK_SHARE;
    double left = whole, before = INFINITY;
    roundings off = {0};
    size_t size = 0, added = columns;
    memcpy(rest, matrix, n * n * sizeof(*rest));
    while (left > small * tau && !(left < enough * tau && left > before / 2)) {
        added = added < STEP ? STEP : added;
        added = added < most - size ? added : most - size;
        if (added == 0 || !extend(q, n, size, added, rest))
            return false;
        add_roundings(&off, n, added, left);
        size += added;
        added = size / 4;
        before = left;
        left = norm(n * n, rest);
    }
    *used = size;
    const double defect = measure_defect(q, n, size);
    if (!(defect < 1e-3) || !compute(q, spectrum, n, size))
        return false;
    const double error = bound_error(&off, n, size, defect, whole);
    left = (1 + 1e-6) * left + off.rest;
    *largest = size > 0 ? q->sigma[0] : whole > 0 ? NAN : 0;
    *out = (mgk_rank_count){.certificate = MGK_CERTIFICATE_BOUND,
                            .nearest = nearest(q, size, tau, left)};
    bool held = count_at(q, n, size, tau, error + inner, left, &out->rank) &&
                count_at(q, n, size, tau + outer, error, left, &out->rank_low) &&
                count_at(q, n, size, tau - outer, error, left, &out->rank_high);
    out->undecided = out->rank_low < out->rank_high;
    return held;
}
