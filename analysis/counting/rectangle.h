/* SPDX-License-Identifier: MIT */
/*
 * Ranks of matrices that are not square. An orthogonal factorisation gives a triangle of the order
 * of the shorter side: A = L Q if A has more columns than rows, A = Q R if it has more rows. L, or
 * R, has the singular values of A, which are min(rows, columns) in number.
 */
#ifndef MGK_ANALYSIS_RECTANGLE_H
#define MGK_ANALYSIS_RECTANGLE_H

#include "analysis/counting/engine.h"

/* The part of a matrix [n, n] that is not padding: its first rows and columns. n is the larger of
 * both. */
typedef struct mgk_extent {
    size_t rows, columns, n;
} mgk_extent;

/* The number of singular values. */
static inline size_t mgk_extent_values(const mgk_extent *extent)
{
    return extent->rows < extent->columns ? extent->rows : extent->columns;
}

/*
 * How far the factorisation moves singular values at most: rows columns 2^-53 ||A||_F (Higham 2002,
 * Theorem 19.4, with 1 in place of its unnamed constant); 0 of a square matrix, which stays as it
 * is.
 */
double mgk_rectangle_error(const mgk_extent *extent, double frobenius);

/*
 * Like mgk_scaled_rank, of the rows and columns of `extent`, `matrix` [n, n]. Where it is not
 * square row->n becomes min(rows, columns), and sigma [row->n] its singular values. `work`
 * [mgk_rectangle_work(n)] is overwritten. Errors: those of mgk_scaled_rank; STATUS_NUMERIC: LAPACK
 * refuses the entries.
 */
mgk_status mgk_rectangle_rank(mgk_engine *engine, const mgk_engine_task *task, mgk_ladder *ladder,
                              const mgk_extent *extent, double *matrix, double *work,
                              mgk_rank_row *row, mgk_rank_count *counts, double *sigma);

/* Numbers of the workspace for matrices up to n. */
size_t mgk_rectangle_work(size_t n);

#endif
