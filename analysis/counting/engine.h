/*
 * From one matrix to its rank: exact reductions first, then the cheapest way that is certain. Where
 * only ranks are wanted these are, from cheap to sure,
 *   1. for large matrices of a head whose rank was low, what is left beside a thin basis,
 *   2. counting in AᵀA with a bound on all rounding errors,
 *   3. counting in AᵀA with what was measured of them, in large ones also between the shifts,
 *   4. the singular values.
 * Matrices of one head are alike: a ladder remembers which rungs held, and begins where that costs
 * least.
 */
#ifndef MGK_ANALYSIS_ENGINE_H
#define MGK_ANALYSIS_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/measures/rank.h"
#include "base/status.h"

enum { MGK_RUNGS = 2 }; /* those that count: with a bound, with what was measured */

/* How the matrices of one head fared; begins zeroed. */
typedef struct mgk_ladder {
    size_t matrices;
    size_t tried[MGK_RUNGS], held[MGK_RUNGS];
    size_t columns; /* that a basis of low rank may need; 0: not known */
    size_t low_tried, low_held;
} mgk_ladder;

/* What is wanted of each matrix. */
typedef struct mgk_engine_task {
    size_t threshold_count;
    const double *thresholds; /* [threshold_count], each above 0 */
    bool relative;            /* they are multiples of sigma_1 */
    bool count_only;          /* no more than ranks, if they can be had without singular values */
} mgk_engine_task;

/* The workspace of one thread, for matrices up to n_max; nothing is allocated per matrix. */
typedef struct mgk_engine mgk_engine;

/* `counts`: whether tasks may be count_only. STATUS_SHAPE: n_max > 32768; STATUS_MEMORY. */
mgk_status mgk_engine_open(size_t n_max, bool counts, mgk_engine **out);
void mgk_engine_close(mgk_engine *engine); /* NULL is accepted */

/*
 * An engine that counts matrices of a device, which has double precision and shifted_inertia, and
 * computes no singular values. STATUS_SHAPE, STATUS_MEMORY, STATUS_DEVICE.
 */
mgk_status mgk_engine_open_on(mgk_device *device, size_t n_max, mgk_engine **out);

/*
 * What such an engine does with `matrix` [row->n, row->n], an array of the device that is
 * overwritten by one whose singular values are the same up to *moved: where *certain is set, counts
 * [threshold_count] at the thresholds, and *row as in mgk_engine_rank without singular values.
 * STATUS_DEVICE.
 */
mgk_status mgk_engine_certify(mgk_engine *engine, const mgk_engine_task *task, double *matrix,
                              mgk_rank_row *row, mgk_rank_count *counts, double *moved,
                              bool *certain);

/*
 * The counts [threshold_count] of a spectrum sigma [row->n] that is off by `error`; *row has been
 * measured.
 */
void mgk_engine_count(const mgk_engine_task *task, const mgk_rank_row *row, const double *sigma,
                      double error, mgk_rank_count *counts);

/*
 * The ranks of `matrix` [row->n, row->n], which is overwritten and whose entries *row describes
 * (mgk_rank_measure_entries): counts [threshold_count] at the thresholds, and row->method. With
 * singular values also `sigma` [row->n], descending, and what mgk_rank_measure_spectrum makes of
 * them; without, *row has sigma_max and stable_rank (landmarks.h), the others are NaN, and *sigma
 * is not written. `ladder` is that of the head. STATUS_NUMERIC: see mgk_spectrum_compute.
 */
mgk_status mgk_engine_rank(mgk_engine *engine, const mgk_engine_task *task, mgk_ladder *ladder,
                           double *matrix, mgk_rank_row *row, mgk_rank_count *counts,
                           double *sigma);

#endif
