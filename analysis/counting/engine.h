/* SPDX-License-Identifier: MIT */
/*
 * The rank of one matrix: exact reductions first, then the cheapest method that certifies it. If
 * only ranks are requested, the methods are, from the cheapest to the most reliable,
 *   1. large matrices of a head with low ranks: a thin basis and the norm of the remainder,
 *   2. counting in AᵀA with a bound of all rounding errors,
 *   3. counting in AᵀA with measured rounding errors, in large matrices also between the shifts,
 *   4. the singular values.
 * Matrices of one head are alike: a ladder remembers which rungs succeeded, and starts at the rung
 * with the least expected cost.
 */
#ifndef MGK_ANALYSIS_ENGINE_H
#define MGK_ANALYSIS_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/measures/rank.h"
#include "base/status.h"

enum { MGK_RUNGS = 2 }; /* counting with a bound, and with measured errors */

/* The results of the rungs for the matrices of one head; zeroed at the start. */
typedef struct mgk_ladder {
    size_t matrices;
    size_t tried[MGK_RUNGS], held[MGK_RUNGS];
    size_t columns; /* expected for a basis of low rank; 0: unknown */
    size_t low_tried, low_held;
} mgk_ladder;

/* The requested results of each matrix. */
typedef struct mgk_engine_task {
    size_t threshold_count;
    const double *thresholds; /* [threshold_count], each above 0 */
    bool relative;            /* they are multiples of sigma_1 */
    bool count_only;          /* only ranks, where they need no singular values */
    double moved;             /* how far the singular values of the matrix have moved at most */
    double *copy; /* [n, n], to which a matrix is copied before it is changed; NULL: the matrix
                     itself may be changed */
} mgk_engine_task;

/* The workspace of one thread, for matrices up to n_max; nothing is allocated per matrix. */
typedef struct mgk_engine mgk_engine;

/*
 * counts: whether tasks may be count_only. STATUS_SHAPE: n_max > 32768; STATUS_MEMORY;
 * STATUS_DEVICE as mgk_blas_open. Close with mgk_engine_close.
 */
mgk_status mgk_engine_open(size_t n_max, bool counts, mgk_engine **out);
void mgk_engine_close(mgk_engine *engine); /* NULL is accepted */

/*
 * An engine that counts matrices of a device with double precision and shifted_inertia, and
 * computes no singular values. STATUS_SHAPE, STATUS_MEMORY, STATUS_DEVICE. Close with
 * mgk_engine_close.
 */
mgk_status mgk_engine_open_on(mgk_device *device, size_t n_max, mgk_engine **out);

/*
 * Counts the singular values of `matrix` [row->n, row->n], an array of the device, with such an
 * engine. The matrix is overwritten; its singular values move by at most *moved. If *certain is
 * set, counts [threshold_count] are the counts at the thresholds, and *row is as in mgk_engine_rank
 * without singular values. STATUS_DEVICE.
 */
mgk_status mgk_engine_certify(mgk_engine *engine, const mgk_engine_task *task, double *matrix,
                              mgk_rank_row *row, mgk_rank_count *counts, double *moved,
                              bool *certain);

/*
 * The counts [threshold_count] of a spectrum sigma [row->n] with errors of at most `error`; *row
 * has been measured.
 */
void mgk_engine_count(const mgk_engine_task *task, const mgk_rank_row *row, const double *sigma,
                      double error, mgk_rank_count *counts);

/*
 * The ranks of `matrix` [row->n, row->n], which is overwritten unless the task has a copy; *row
 * describes its entries (mgk_rank_measure_entries). Writes counts [threshold_count] at the
 * thresholds, and row->method. With singular values also `sigma` [row->n], descending, and the
 * measures of mgk_rank_measure_spectrum. Without them, *row has sigma_max and stable_rank
 * (landmarks.h), its other measures are NaN, and *sigma is not written. `ladder` belongs to the
 * head. STATUS_NUMERIC: see mgk_spectrum_compute.
 */
mgk_status mgk_engine_rank(mgk_engine *engine, const mgk_engine_task *task, mgk_ladder *ladder,
                           double *matrix, mgk_rank_row *row, mgk_rank_count *counts,
                           double *sigma);

#endif
