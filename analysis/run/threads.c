/* SPDX-License-Identifier: MIT */
/* Ranks on the host: one matrix per thread, from its entries or its factors. */
#include <stdint.h>
#include <string.h>

#include "analysis/counting/factors.h"
#include "analysis/counting/rectangle.h"
#include "analysis/run/work.h"
#include "base/memory.h"
#include "kernels/blas.h"

/* Matrices per thread and round: at the end of a round threads wait for the last matrix. */
enum { ROUND_MATRICES = 256 };

/* The state of one thread. */
typedef struct rank_worker {
    const mgk_round_matrix *matrix;
    double *data;           /* [n_max, n_max], or the factors [2, n_max, depth] */
    double *sigma;          /* [n_max] */
    mgk_rank_count *counts; /* [thresholds] */
    mgk_engine *engine;     /* for entries; NULL: factors */
    mgk_factors *factors;
    double *reflections;       /* [mgk_rectangle_work(n_max)]; NULL: all matrices are square */
    mgk_ladder before, ladder; /* copies of the head's, before and after the matrix */
} rank_worker;

/* The ladder of the matrix's head, created if new; NULL without memory. Call with the lock held. */
static mgk_ladder *find_ladder(mgk_rank_work *work, const mgk_round_matrix *matrix)
{
    const size_t layer = matrix->group->layer, head = (size_t)matrix->group->heads[matrix->which];
    for (size_t i = 0; i < work->head_count; i++)
        if (work->heads[i].layer == layer && work->heads[i].head == head)
            return &work->heads[i].ladder;
    if (work->head_count == work->head_capacity) {
        size_t capacity = 2 * work->head_capacity + 16;
        mgk_rank_head *heads;
        if (mgk_alloc(capacity, sizeof(*heads), &heads) != STATUS_OK)
            return NULL;
        if (work->head_count > 0)
            memcpy(heads, work->heads, work->head_count * sizeof(*heads));
        mgk_free(work->heads);
        work->heads = heads;
        work->head_capacity = capacity;
    }
    mgk_rank_head *added = &work->heads[work->head_count++];
    *added = (mgk_rank_head){.layer = layer, .head = head};
    return &added->ladder;
}

/* Moves to the next matrix of the round; false when there is none. */
static bool advance(mgk_rank_work *work, rank_worker *worker)
{
    omp_set_lock(&work->lock);
    worker->matrix = mgk_rank_work_next(work);
    if (worker->matrix) {
        const mgk_ladder *ladder = find_ladder(work, worker->matrix);
        worker->before = worker->ladder = ladder ? *ladder : (mgk_ladder){0};
    }
    omp_unset_lock(&work->lock);
    return worker->matrix;
}

/*
 * Adds the matrix's results to the ladder, which other threads may have changed. Call with the lock
 * held.
 */
static void learn(mgk_rank_work *work, const rank_worker *worker)
{
    mgk_ladder *ladder = find_ladder(work, worker->matrix);
    if (!ladder)
        return;
    ladder->matrices += worker->ladder.matrices - worker->before.matrices;
    for (int rung = 0; rung < MGK_RUNGS; rung++) {
        ladder->tried[rung] += worker->ladder.tried[rung] - worker->before.tried[rung];
        ladder->held[rung] += worker->ladder.held[rung] - worker->before.held[rung];
    }
    ladder->columns = worker->ladder.columns;
    ladder->low_tried += worker->ladder.low_tried - worker->before.low_tried;
    ladder->low_held += worker->ladder.low_held - worker->before.low_held;
}

static mgk_status measure_factors(const mgk_rank_work *work, rank_worker *worker, mgk_rank_row *row)
{
    const size_t n = worker->matrix->group->n;
    TRY(mgk_rank_work_check_rows(work, row, n,
                                 mgk_factors_zero_row(worker->factors, n, worker->data)));
    mgk_status status = mgk_factors_rank(worker->factors, &work->task, n, worker->data,
                                         work->source->format, row, worker->counts, worker->sigma);
    return status == STATUS_OK ? STATUS_OK : mgk_rank_work_fail(status, row);
}

/* Measures the matrix, without the lock. */
static mgk_status measure(const mgk_rank_work *work, rank_worker *worker, mgk_rank_row *row)
{
    *row = mgk_rank_work_row(work, worker->matrix);
    TRY(mgk_rank_work_take(work, worker->matrix, worker->data));
    if (worker->factors)
        return measure_factors(work, worker, row);
    const mgk_extent extent = mgk_rank_work_extent(worker->matrix->group);
    TRY(mgk_rank_work_measure(work, &extent, worker->data, worker->sigma, row));
    mgk_status status =
        mgk_rectangle_rank(worker->engine, &work->task, &worker->ladder, &extent, worker->data,
                           worker->reflections, row, worker->counts, worker->sigma);
    return status == STATUS_OK ? STATUS_OK : mgk_rank_work_fail(status, row);
}

static mgk_status open_worker(const mgk_rank_work *work, rank_worker *worker)
{
    size_t n_max = work->source->n_max, depth = work->source->depth, entries;
    TRY(mgk_multiply(n_max, depth > 0 ? 2 * depth : n_max, &entries));
    if (depth > 0)
        TRY(mgk_factors_open(n_max, depth, &worker->factors));
    else
        TRY(mgk_engine_open(n_max, work->task.count_only, &worker->engine));
    TRY(mgk_alloc(n_max, sizeof(double), &worker->sigma));
    if (work->source->cross)
        TRY(mgk_alloc(mgk_rectangle_work(n_max), sizeof(double), &worker->reflections));
    TRY(mgk_alloc(work->task.threshold_count, sizeof(*worker->counts), &worker->counts));
    return mgk_alloc(entries, sizeof(double), &worker->data);
}

static void close_worker(rank_worker *worker)
{
    mgk_engine_close(worker->engine);
    mgk_factors_close(worker->factors);
    mgk_free(worker->sigma);
    mgk_free(worker->reflections);
    mgk_free(worker->counts);
    mgk_free(worker->data);
}

/* One thread: processes matrices until the round ends. */
static void run_thread(mgk_rank_work *work, rank_worker *worker)
{
    mgk_rank_row row;
    while (advance(work, worker)) {
        mgk_status status = measure(work, worker, &row);
        omp_set_lock(&work->lock);
        if (status == STATUS_OK) {
            learn(work, worker);
            mgk_rank_work_store(work, worker->matrix->row, &row, worker->counts, worker->sigma);
        } else {
            mgk_rank_work_record(work, worker->matrix->row, status);
        }
        omp_unset_lock(&work->lock);
    }
}

/* For a single matrix, the threads share its products. */
static void run_rounds(mgk_rank_work *work, rank_worker *workers)
{
    while (mgk_rank_work_prepare(work, SIZE_MAX)) {
        mgk_blas.set_num_threads(work->source->count == 1 ? work->granted : 1);
#pragma omp parallel num_threads(work->threads)
        run_thread(work, &workers[omp_get_thread_num()]);
        mgk_blas.set_num_threads(1);
    }
}

/* Limits the threads to the available memory, at `bytes` per thread. */
static mgk_status limit_threads(mgk_rank_work *work, size_t bytes)
{
    const size_t memory = work->options->memory;
    if (memory == 0 || memory / bytes >= (size_t)work->threads)
        return STATUS_OK;
    if (memory < bytes && work->options->memory_is_most)
        return mgk_fail(STATUS_MEMORY,
                        "`memory`: a thread takes %.3g GB for matrices of %zu rows, %.3g GB are "
                        "left for it",
                        (double)bytes / 1e9, work->source->n_max, (double)memory / 1e9);
    const int wanted = work->threads;
    work->threads = memory < bytes ? 1 : (int)(memory / bytes);
    if (work->options->limited && work->threads < wanted)
        work->options->limited(work->options->progress_state, work->threads, wanted);
    return STATUS_OK;
}

/* The first worker's allocations give the bytes per thread. */
static mgk_status open_workers(mgk_rank_work *work, rank_worker *workers)
{
    const size_t before = mgk_allocated();
    TRY(open_worker(work, &workers[0]));
    TRY(limit_threads(work, mgk_allocated() - before));
    for (int i = 1; i < work->threads; i++)
        TRY(open_worker(work, &workers[i]));
    return STATUS_OK;
}

void mgk_rank_by_threads(mgk_rank_work *work)
{
    mgk_status status;
    rank_worker *workers = NULL; /* [threads] */
    const int threads = work->threads;
    CHECK(mgk_rank_work_open_rounds(work, (size_t)threads * ROUND_MATRICES));
    CHECK(mgk_alloc((size_t)threads, sizeof(*workers), &workers));
    CHECK(open_workers(work, workers));
    run_rounds(work, workers);
out:
    if (status != STATUS_OK)
        mgk_rank_work_record(work, 0, status);
    for (int i = 0; workers && i < threads; i++)
        close_worker(&workers[i]);
    mgk_free(workers);
    mgk_free(work->heads);
}
