/*
 * A run of ranks under way: what its two ways of computing spectra share, fetching matrices and
 * filling in the table. Matrices come in rounds: the calling thread names groups and has them
 * prepared, then threads take their matrices. `lock` guards everything below it; functions that
 * say so are called with it held.
 */
#ifndef MGK_ANALYSIS_RANK_WORK_H
#define MGK_ANALYSIS_RANK_WORK_H

#include <omp.h>

#include "analysis/counting/engine.h"
#include "analysis/run/run.h"

/* The ladder of a head. */
typedef struct mgk_rank_head {
    size_t layer, head;
    mgk_ladder ladder;
} mgk_rank_head;

/* A matrix of the round under way. */
typedef struct mgk_round_matrix {
    const mgk_group *group;
    size_t which, row; /* which of the group's; its row in the table */
} mgk_round_matrix;

typedef struct mgk_rank_work {
    const mgk_source *source;
    const mgk_rank_run_options *options;
    mgk_engine_task task;
    int granted, threads; /* that may multiply at once; of them, those that have matrices */

    /* The round. The calling thread changes it while no other is there. */
    size_t room;       /* matrices of a round at most */
    mgk_group *groups; /* [room], those that were named */
    size_t *rows;      /* [room], of the first matrix of each group */
    size_t group_count;
    mgk_round_matrix *matrices; /* [room], of the groups that are prepared */
    size_t count;

    omp_lock_t lock;
    mgk_rank_table *table;
    bool *known;          /* [count of the source], rows that the journal has; NULL: none */
    mgk_rank_head *heads; /* [head_count], those seen so far */
    size_t head_count, head_capacity;
    size_t taken; /* of the round's matrices, by mgk_rank_work_next */
    size_t done;
    bool end;           /* no more groups: the source ended, or something failed */
    mgk_status status;  /* of the failure that came first in the order of the source */
    size_t failed_row;  /* where it happened; SIZE_MAX: nowhere */
    char message[1024]; /* copied here, because messages belong to threads */
} mgk_rank_work;

/* Makes room for rounds of `most` matrices, or fewer where the source prepares fewer. */
mgk_status mgk_rank_work_open_rounds(mgk_rank_work *work, size_t most);
void mgk_rank_work_close_rounds(mgk_rank_work *work);

/*
 * Outside of any parallel region: names and prepares the next round, of at most `most` matrices.
 * False when it has none: the source ended, or something failed.
 */
bool mgk_rank_work_prepare(mgk_rank_work *work, size_t most);

/*
 * Under the lock: the next matrix of the round; NULL when there is none, or when those that are
 * left come behind a failure.
 */
const mgk_round_matrix *mgk_rank_work_next(mgk_rank_work *work);

/* Copies a matrix of the round into `data`. */
mgk_status mgk_rank_work_take(const mgk_rank_work *work, const mgk_round_matrix *matrix,
                              double *data);

/* A row that names the matrix and says nothing else. */
mgk_rank_row mgk_rank_work_row(const mgk_rank_work *work, const mgk_round_matrix *matrix);

/* Adds what the entries of a matrix [n, n] show to the row that names it; scratch [n]. */
mgk_status mgk_rank_work_measure(const mgk_rank_work *work, size_t n, const double *entries,
                                 double *scratch, mgk_rank_row *row);

/* Says in this thread's message which matrix failed; returns `status`. */
mgk_status mgk_rank_work_fail(mgk_status status, const mgk_rank_row *row);

/*
 * STATUS_UNSUPPORTED where `zero_row`, the matrix's first row of zeros, n if there is none, is not
 * allowed. *row names the matrix.
 */
mgk_status mgk_rank_work_check_rows(const mgk_rank_work *work, const mgk_rank_row *row, size_t n,
                                    size_t zero_row);

/*
 * Under the lock: row number r is *row, with its counts at the thresholds and, where they are
 * kept, its singular values sigma [row->n].
 */
void mgk_rank_work_store(mgk_rank_work *work, size_t r, const mgk_rank_row *row,
                         const mgk_rank_count *counts, const double *sigma);

/* Under the lock: tells the caller how far things are. */
void mgk_rank_work_tell(const mgk_rank_work *work);

/* Under the lock: ends the run. Failures come in any order; the earliest row is reported. */
void mgk_rank_work_record(mgk_rank_work *work, size_t row, mgk_status status);

/* All matrices of the source, each from its entries or factors to its spectrum by one thread of the
 * host. */
void mgk_rank_by_threads(mgk_rank_work *work);

/* The same with spectra computed by the device of the options, a batch at a time. */
void mgk_rank_by_batches(mgk_rank_work *work);

#endif
