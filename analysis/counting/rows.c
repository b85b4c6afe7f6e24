/* SPDX-License-Identifier: MIT */
#include "analysis/counting/rows.h"
#include "kernels/blas.h"

#include <math.h>

/* LAPACK is column-major: our rows are its columns. */
bool mgk_rows_factor(size_t n, size_t count, double *rows, double *r, double *work)
{
    const lapack_int length = (lapack_int)n, many = (lapack_int)count;
    double squares = 0;
    if (mgk_blas.dgeqrf_work(LAPACK_COL_MAJOR, length, many, rows, length, work, work + count,
                             (MGK_ROWS_WORK - 1) * many) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            r[i * count + j] = j >= i ? rows[j * n + i] : 0;
            squares += r[i * count + j] * r[i * count + j];
        }
    return isfinite(squares);
}

bool mgk_rows_orthonormalise(size_t n, size_t count, double *rows, double *r, double *work)
{
    const lapack_int length = (lapack_int)n, many = (lapack_int)count;
    return mgk_rows_factor(n, count, rows, r, work) &&
           mgk_blas.dorgqr_work(LAPACK_COL_MAJOR, length, many, many, rows, length, work,
                                work + count, (MGK_ROWS_WORK - 1) * many) == 0;
}
