#include "kernels/spectrum.h"

#include <lapacke.h>
#include <math.h>
#include <stdbool.h>

#include "base/memory.h"

/* LAPACK counts the entries of a block of columns in 32-bit integers. */
enum { LARGEST_N = 32768 };

struct mgk_spectrum {
    size_t n_max;
    lapack_int work_size;
    double *superdiagonal; /* [n_max] */
    double *tau_left;      /* [n_max]: scales of the reflectors, which nobody reads */
    double *tau_right;     /* [n_max] */
    double *work;          /* [work_size] */
};

/* Numbers of work that serve both steps for every n up to n_max. */
static mgk_status query_work(size_t n_max, lapack_int *size)
{
    lapack_int n = n_max > 0 ? (lapack_int)n_max : 1;
    double best, unused = 0;
    if (LAPACKE_dgebrd_work(LAPACK_COL_MAJOR, n, n, &unused, n, &unused, &unused, &unused, &unused,
                            &best, -1) != 0)
        return mgk_fail(STATUS_NUMERIC, "dgebrd gives no workspace size for n = %zu", n_max);
    *size = (lapack_int)best > 4 * n ? (lapack_int)best : 4 * n;
    return STATUS_OK;
}

mgk_status mgk_spectrum_open(size_t n_max, mgk_spectrum **out)
{
    mgk_status status = STATUS_OK;
    *out = NULL;
    if (n_max > LARGEST_N)
        return mgk_fail(STATUS_SHAPE, "matrices of %zu rows, expected at most %d", n_max,
                        LARGEST_N);
    mgk_spectrum *workspace;
    TRY(mgk_alloc(1, sizeof(*workspace), &workspace));
    workspace->n_max = n_max;
    CHECK(query_work(n_max, &workspace->work_size));
    CHECK(mgk_alloc(n_max, sizeof(double), &workspace->superdiagonal));
    CHECK(mgk_alloc(n_max, sizeof(double), &workspace->tau_left));
    CHECK(mgk_alloc(n_max, sizeof(double), &workspace->tau_right));
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
    mgk_free(workspace->superdiagonal);
    mgk_free(workspace->tau_left);
    mgk_free(workspace->tau_right);
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

/*
 * Householder bidiagonalisation, then dqds on the bidiagonal: dbdsqr without vectors
 * runs dqds (Fernando & Parlett 1994), and the QR iteration should dqds ever stall.
 * LAPACK reads the rows as columns: the transpose has the same singular values.
 */
mgk_status mgk_spectrum_compute(mgk_spectrum *workspace, size_t n, double *matrix, double *sigma)
{
    mgk_spectrum *w = workspace;
    lapack_int order = (lapack_int)n, info;
    if (n == 0)
        return STATUS_OK;
    if (n > w->n_max)
        return mgk_fail(STATUS_SHAPE, "a matrix of %zu rows, expected at most %zu", n, w->n_max);
    info = LAPACKE_dgebrd_work(LAPACK_COL_MAJOR, order, order, matrix, order, sigma,
                               w->superdiagonal, w->tau_left, w->tau_right, w->work, w->work_size);
    /* On a NaN dbdsqr would print a complaint of its own. */
    if (!all_finite(n, sigma) || !all_finite(n - 1, w->superdiagonal))
        return mgk_fail(STATUS_NUMERIC, "the bidiagonal form overflows");
    if (info == 0)
        info = LAPACKE_dbdsqr_work(LAPACK_COL_MAJOR, 'U', order, 0, 0, 0, sigma, w->superdiagonal,
                                   NULL, 1, NULL, 1, NULL, 1, w->work);
    if (info != 0)
        return mgk_fail(STATUS_NUMERIC, "singular values did not converge (LAPACK info %d)",
                        (int)info);
    if (!all_finite(n, sigma))
        return mgk_fail(STATUS_NUMERIC, "singular values overflow");
    return STATUS_OK;
}
