/* Ranks on the host: one matrix a thread, from its entries or from its factors. */
#include <stdint.h>
#include <string.h>

#include "analysis/counting/factors.h"
#include "analysis/counting/scaled.h"
#include "analysis/run/work.h"
#include "base/memory.h"

/* What one thread owns. */
typedef struct rank_worker {
    mgk_matrix matrix;
    size_t row_index;       /* of the matrix, in the table */
    double *sigma;          /* [n_max] */
    mgk_rank_count *counts; /* [thresholds] */
    mgk_engine *engine;     /* of entries, or: */
    mgk_factors *factors;
    mgk_ladder before, ladder; /* of the head, when the matrix came and when it was done */
} rank_worker;

/* Under the lock: the ladder of the head, made if it is new; NULL where there is no memory. */
static mgk_ladder *find_ladder(mgk_rank_work *work, const mgk_matrix *matrix)
{
    for (size_t i = 0; i < work->head_count; i++)
        if (work->heads[i].layer == matrix->layer && work->heads[i].head == matrix->head)
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
    mgk_rank_head *head = &work->heads[work->head_count++];
    *head = (mgk_rank_head){.layer = matrix->layer, .head = matrix->head};
    return &head->ladder;
}

static bool pull(mgk_rank_work *work, rank_worker *worker)
{
    omp_set_lock(&work->lock);
    bool got = mgk_rank_work_pull(work, &worker->matrix, &worker->row_index);
    if (got) {
        const mgk_ladder *ladder = find_ladder(work, &worker->matrix);
        worker->before = worker->ladder = ladder ? *ladder : (mgk_ladder){0};
    }
    omp_unset_lock(&work->lock);
    return got;
}

/* Under the lock: what the matrix has taught; others of its head may have come in between. */
static void learn(mgk_rank_work *work, const rank_worker *worker)
{
    mgk_ladder *ladder = find_ladder(work, &worker->matrix);
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

/* Everything about the matrix that needs no lock. */
static mgk_status measure(const mgk_rank_work *work, rank_worker *worker, mgk_rank_row *row)
{
    const mgk_matrix *matrix = &worker->matrix;
    if (worker->factors) {
        *row = mgk_rank_work_row(matrix);
        TRY(mgk_rank_work_check_rows(
            work, row, matrix->n, mgk_factors_zero_row(worker->factors, matrix->n, matrix->data)));
        mgk_status status =
            mgk_factors_rank(worker->factors, &work->task, matrix->n, matrix->data,
                             work->source->format, row, worker->counts, worker->sigma);
        return status == STATUS_OK ? STATUS_OK : mgk_rank_work_fail(status, row);
    }
    TRY(mgk_rank_work_measure(work, matrix, worker->sigma, row));
    mgk_status status = mgk_scaled_rank(worker->engine, &work->task, &worker->ladder, matrix->data,
                                        row, worker->counts, worker->sigma);
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
    TRY(mgk_alloc(work->task.threshold_count, sizeof(*worker->counts), &worker->counts));
    return mgk_alloc(entries, sizeof(double), &worker->matrix.data);
}

static void close_worker(rank_worker *worker)
{
    mgk_engine_close(worker->engine);
    mgk_factors_close(worker->factors);
    mgk_free(worker->sigma);
    mgk_free(worker->counts);
    mgk_free(worker->matrix.data);
}

/* One thread: matrices until there are no more. */
static void run_thread(mgk_rank_work *work)
{
    rank_worker worker = {.row_index = SIZE_MAX};
    mgk_rank_row row;
    mgk_status status = open_worker(work, &worker);
    while (status == STATUS_OK && pull(work, &worker)) {
        status = measure(work, &worker, &row);
        if (status != STATUS_OK)
            break;
        omp_set_lock(&work->lock);
        learn(work, &worker);
        mgk_rank_work_store(work, worker.row_index, &row, worker.counts, worker.sigma);
        omp_unset_lock(&work->lock);
    }
    if (status != STATUS_OK) {
        omp_set_lock(&work->lock);
        mgk_rank_work_record(work, worker.row_index, status);
        omp_unset_lock(&work->lock);
    }
    close_worker(&worker);
}

void mgk_rank_by_threads(mgk_rank_work *work)
{
#pragma omp parallel num_threads(work->threads)
    run_thread(work);
    mgk_free(work->heads);
}
