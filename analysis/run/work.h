/* SPDX-License-Identifier: MIT */
/*
 * A run of ranks in progress, shared by its two ways of computing spectra: fetching matrices and
 * filling the table. Matrices come in rounds: the calling thread names groups and has them
 * prepared, then threads take their matrices. `lock` protects all members after it; functions that
 * require it say so.
 */
#ifndef MGK_ANALYSIS_RANK_WORK_H
#define MGK_ANALYSIS_RANK_WORK_H

#include <omp.h>

#include "analysis/counting/rectangle.h"
#include "analysis/run/run.h"

/* The ladder of a head. */
typedef struct mgk_rank_head {
    size_t layer, head;
    mgk_ladder ladder;
} mgk_rank_head;

/* A matrix of the current round. */
typedef struct mgk_round_matrix {
    const mgk_group *group;
    size_t which, row; /* index in the group; row of the table */
} mgk_round_matrix;

typedef struct mgk_rank_work {
    const mgk_source *source;
    const mgk_rank_run_options *options;
    mgk_engine_task task;
    int granted; /* threads that may multiply at once */
    int threads; /* threads that take matrices */

    /* The round. The calling thread changes it while no other thread runs. */
    size_t room;       /* the most matrices of a round */
    mgk_group *groups; /* [room], the named groups */
    size_t *rows;      /* [room], row of the first matrix of each group */
    size_t group_count;
    mgk_round_matrix *matrices; /* [room], of the prepared groups */
    size_t count;

    omp_lock_t lock;
    mgk_rank_table *table;
    const bool *known;    /* [count of the source], rows of an earlier run; NULL: none */
    mgk_rank_head *heads; /* [head_count], the heads so far */
    size_t head_count, head_capacity;
    size_t taken; /* matrices of the round that mgk_rank_work_next has returned */
    size_t done;
    bool end;           /* no more groups: the source has ended, or something failed */
    mgk_status status;  /* of the first failure in the order of the source */
    size_t failed_row;  /* of that failure; SIZE_MAX: none */
    char message[1024]; /* a copy, because messages belong to threads */
} mgk_rank_work;

/* Allocates rounds of `most` matrices, fewer if the source prepares fewer. STATUS_MEMORY. */
mgk_status mgk_rank_work_open_rounds(mgk_rank_work *work, size_t most);
void mgk_rank_work_close_rounds(mgk_rank_work *work);

/*
 * Names and prepares the next round, of at most `most` matrices. False if it is empty: the source
 * has ended, or something failed. Call outside parallel regions.
 */
bool mgk_rank_work_prepare(mgk_rank_work *work, size_t most);

/*
 * The next matrix of the round; NULL if there is none, or if the remaining ones follow a failure.
 * Call with the lock held.
 */
const mgk_round_matrix *mgk_rank_work_next(mgk_rank_work *work);

/* Copies a matrix of the round to `data` (`take` of the source). */
mgk_status mgk_rank_work_take(const mgk_rank_work *work, const mgk_round_matrix *matrix,
                              double *data);

/* A row that identifies the matrix, without measures. */
mgk_rank_row mgk_rank_work_row(const mgk_rank_work *work, const mgk_round_matrix *matrix);

/* Measures the entries of a matrix [n, n] into *row, which identifies it; scratch [n]. */
mgk_status mgk_rank_work_measure(const mgk_rank_work *work, const mgk_extent *extent,
                                 const double *entries, double *scratch, mgk_rank_row *row);

/* The extent of a group's matrices. */
mgk_extent mgk_rank_work_extent(const mgk_group *group);

/* Adds the matrix's identity to this thread's message; returns `status`. */
mgk_status mgk_rank_work_fail(mgk_status status, const mgk_rank_row *row);

/*
 * STATUS_UNSUPPORTED if `zero_row`, the first zero row of the matrix, `rows` if there is none, is
 * not allowed. *row identifies the matrix.
 */
mgk_status mgk_rank_work_check_rows(const mgk_rank_work *work, const mgk_rank_row *row, size_t rows,
                                    size_t zero_row);

/*
 * Stores *row as row r, with its counts at the thresholds and, if spectra are kept, its singular
 * values sigma [row->n]. Call with the lock held.
 */
void mgk_rank_work_store(mgk_rank_work *work, size_t r, const mgk_rank_row *row,
                         const mgk_rank_count *counts, const double *sigma);

/* Calls the caller's progress function. Call with the lock held. */
void mgk_rank_work_tell(const mgk_rank_work *work);

/*
 * Records a failure and ends the run; of several failures the one of the earliest row is reported.
 * Call with the lock held.
 */
void mgk_rank_work_record(mgk_rank_work *work, size_t row, mgk_status status);

/*
 * Measures all matrices of the source, each by one thread of the host, from its entries or factors.
 */
void mgk_rank_by_threads(mgk_rank_work *work);

/* The same with the device of the options, a batch at a time. */
void mgk_rank_by_batches(mgk_rank_work *work);

#endif
