/* A batch of matrices on its way from the source to the ranks that a device finds. */
#ifndef MGK_ANALYSIS_RANK_BATCH_H
#define MGK_ANALYSIS_RANK_BATCH_H

#include "analysis/run/work.h"

typedef struct mgk_rank_batch {
    mgk_rank_work *work;
    size_t n_max, capacity;
    size_t count;           /* matrices gathered, at most `capacity` */
    size_t *places;         /* [capacity], the row of each in the table, ascending */
    mgk_rank_row *rows;     /* [capacity] */
    size_t *orders;         /* [capacity], n of each */
    double *matrices;       /* [capacity, n_max, n_max] on the device, smaller ones packed at the
                               beginning */
    double *host;           /* the same in the host's memory; NULL: the source fills the device's */
    mgk_entries *entries;   /* [capacity], where the device measures them */
    double *sigma;          /* [capacity, n_max] */
    double *levels;         /* [capacity], above which singular values would count in any case */
    int *settled;           /* [capacity], whether the rank is known without singular values */
    double *moved;          /* [capacity], how far counting has moved singular values */
    size_t left;            /* matrices at the front that are left for their spectra */
    mgk_mirror bands;       /* [capacity, mgk_band_entries(n_max)], where there are two steps */
    mgk_engine *engine;     /* counts large matrices; NULL where it does not */
    mgk_rank_count *counts; /* [thresholds], of one matrix */
} mgk_rank_batch;

/*
 * Fills the batch, until the source ends or something fails, which the run records: places, rows
 * with what the entries show, orders, and the matrices on the device.
 */
void mgk_rank_batch_gather(mgk_rank_batch *batch);

#endif
