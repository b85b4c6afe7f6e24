/* SPDX-License-Identifier: MIT */
#include "analysis/counting/rectangle.h"

#include <math.h>
#include <string.h>

#include "analysis/counting/scaled.h"
#include "kernels/blas.h"

/* Reflections that LAPACK applies at a time, at most. */
enum { BLOCK = 64 };

double mgk_rectangle_error(const mgk_extent *extent, double frobenius)
{
    return extent->rows == extent->columns
               ? 0
               : (double)extent->rows * (double)extent->columns * 0x1p-53 * frobenius;
}

size_t mgk_rectangle_work(size_t n)
{
    return (BLOCK + 1) * n;
}

/* Moves the rows to the front of `to`, which may be the matrix: [rows, columns], packed. */
static void pack(const mgk_extent *extent, const double *matrix, double *to)
{
    for (size_t i = 0; i < extent->rows; i++)
        memmove(to + i * extent->columns, matrix + i * extent->n, extent->columns * sizeof(*to));
}

/* More columns than rows: for LAPACK `a` is Aᵀ [columns, rows] = Q R by columns, and A = Rᵀ Qᵀ. The
 * columns of R, zeros below its diagonal, move to the front: [rows, rows]. */
static bool reduce_wide(size_t rows, size_t columns, double *a, double *work)
{
    const lapack_int m = (lapack_int)columns, n = (lapack_int)rows;
    if (mgk_blas.dgeqrf_work(LAPACK_COL_MAJOR, m, n, a, m, work, work + rows,
                             (lapack_int)(BLOCK * rows)) != 0)
        return false;
    for (size_t i = 0; i < rows; i++) {
        memmove(a + i * rows, a + i * columns, (i + 1) * sizeof(*a));
        memset(a + i * rows + i + 1, 0, (rows - i - 1) * sizeof(*a));
    }
    return true;
}

/* More rows than columns: Aᵀ = L Q by columns. L [columns, columns] is in front; above its diagonal
 * are the reflections. */
static bool reduce_tall(size_t rows, size_t columns, double *a, double *work)
{
    const lapack_int m = (lapack_int)columns, n = (lapack_int)rows;
    if (mgk_blas.dgelqf_work(LAPACK_COL_MAJOR, m, n, a, m, work, work + columns,
                             (lapack_int)(BLOCK * columns)) != 0)
        return false;
    for (size_t i = 0; i < columns; i++)
        memset(a + i * columns, 0, i * sizeof(*a));
    return true;
}

mgk_status mgk_rectangle_rank(mgk_engine *engine, const mgk_engine_task *task, mgk_ladder *ladder,
                              const mgk_extent *extent, double *matrix, double *work,
                              mgk_rank_row *row, mgk_rank_count *counts, double *sigma)
{
    const size_t rows = extent->rows, columns = extent->columns;
    const size_t values = mgk_extent_values(extent);
    if (rows == columns)
        return mgk_scaled_rank(engine, task, ladder, matrix, row, counts, sigma);
    double *a = task->copy ? task->copy : matrix;
    mgk_engine_task reduced = *task;
    reduced.copy = NULL; /* the reduced matrix may be changed */
    reduced.moved += mgk_rectangle_error(extent, row->frobenius);
    pack(extent, matrix, a);
    if (values > 0 && !(rows < columns ? reduce_wide(rows, columns, a, work)
                                       : reduce_tall(rows, columns, a, work)))
        return mgk_fail(STATUS_NUMERIC, "no orthogonal factorisation of %zu x %zu entries", rows,
                        columns);
    row->n = values;
    mgk_status status = mgk_scaled_rank(engine, &reduced, ladder, a, row, counts, sigma);
    row->noise_floor =
        values > 0 ? mgk_rank_noise_floor(rows, columns, row->frobenius, row->format) : NAN;
    return status;
}
