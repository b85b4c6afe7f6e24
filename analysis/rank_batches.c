/*
 * Ranks from a device: the threads of the host gather a batch of matrices and measure their
 * entries, the device takes the batch as a whole. Where only ranks are wanted it tries to prove
 * that they are full before it computes spectra.
 */
#include <math.h>
#include <string.h>

#include "analysis/rank_work.h"
#include "base/memory.h"

/* Host memory for a batch of several matrices, and how many it has at most. */
static const size_t batch_bytes = (size_t)1 << 30;
enum { BATCH_MATRICES = 1024 };

typedef struct rank_batch {
    mgk_rank_work *work;
    size_t n_max, capacity;
    size_t count;           /* matrices gathered, at most `capacity` */
    size_t *places;         /* [capacity], the row of each in the table, ascending */
    mgk_rank_row *rows;     /* [capacity] */
    size_t *orders;         /* [capacity], n of each */
    double *matrices;       /* [capacity, n_max, n_max], smaller ones packed at the beginning */
    double *sigma;          /* [capacity, n_max] */
    double *levels;         /* [capacity], above which singular values would count in any case */
    int *proven;            /* [capacity], whether all of them are */
    mgk_rank_count *counts; /* [thresholds], of one matrix */
} rank_batch;

static mgk_status open_batch(mgk_rank_work *work, rank_batch *batch)
{
    const mgk_source *source = work->source;
    size_t entries, bytes;
    *batch = (rank_batch){.work = work, .n_max = source->n_max};
    TRY(mgk_multiply(source->n_max, source->n_max, &entries));
    TRY(mgk_multiply(entries, sizeof(double), &bytes));
    size_t fitting = bytes > 0 ? batch_bytes / bytes : BATCH_MATRICES;
    size_t capacity = fitting < BATCH_MATRICES ? fitting : BATCH_MATRICES;
    if (source->count > 0 && source->count < capacity)
        capacity = source->count;
    if (capacity == 0)
        capacity = 1;
    batch->capacity = capacity;
    TRY(mgk_multiply(capacity, entries, &entries));
    TRY(mgk_alloc(capacity, sizeof(*batch->rows), &batch->rows));
    TRY(mgk_alloc(capacity, sizeof(*batch->places), &batch->places));
    TRY(mgk_alloc(capacity, sizeof(*batch->orders), &batch->orders));
    TRY(mgk_alloc(work->task.threshold_count, sizeof(*batch->counts), &batch->counts));
    TRY(mgk_alloc(capacity, sizeof(*batch->levels), &batch->levels));
    TRY(mgk_alloc(capacity, sizeof(*batch->proven), &batch->proven));
    TRY(mgk_alloc(capacity * source->n_max, sizeof(double), &batch->sigma));
    return mgk_alloc(entries, sizeof(double), &batch->matrices);
}

static void close_batch(rank_batch *batch)
{
    mgk_free(batch->rows);
    mgk_free(batch->places);
    mgk_free(batch->orders);
    mgk_free(batch->levels);
    mgk_free(batch->proven);
    mgk_free(batch->sigma);
    mgk_free(batch->counts);
    mgk_free(batch->matrices);
}

/* Fetches a matrix into place *i of the batch; false when it is full, or there are no more. */
static bool pull(rank_batch *batch, mgk_matrix *matrix, size_t *i)
{
    omp_set_lock(&batch->work->lock);
    *i = batch->count;
    bool got = *i < batch->capacity;
    if (got) {
        matrix->data = batch->matrices + *i * batch->n_max * batch->n_max;
        got = mgk_rank_work_pull(batch->work, matrix, &batch->places[*i]);
    }
    if (got)
        batch->orders[batch->count++] = matrix->n;
    omp_unset_lock(&batch->work->lock);
    return got;
}

/* One thread: matrices until the batch is full. */
static void gather(rank_batch *batch)
{
    mgk_rank_work *work = batch->work;
    mgk_matrix matrix;
    size_t i;
    while (pull(batch, &matrix, &i)) {
        double *scratch = batch->sigma + i * batch->n_max;
        mgk_status status = mgk_rank_work_measure(work, &matrix, scratch, &batch->rows[i]);
        omp_set_lock(&work->lock);
        if (status == STATUS_OK)
            mgk_rank_work_tell(work);
        else
            mgk_rank_work_record(work, batch->places[i], status);
        omp_unset_lock(&work->lock);
    }
}

/* What is above the largest threshold, and above what storage may have moved, is full rank. */
static mgk_status prove(const rank_batch *batch, size_t count)
{
    const mgk_engine_task *task = &batch->work->task;
    mgk_device *device = batch->work->options->device;
    double tau = 0;
    if (!task->count_only || task->relative || !device->op->prove_full_rank) {
        memset(batch->proven, 0, count * sizeof(*batch->proven));
        return STATUS_OK;
    }
    for (size_t t = 0; t < task->threshold_count; t++)
        tau = fmax(tau, task->thresholds[t]);
    for (size_t i = 0; i < count; i++)
        batch->levels[i] = (tau + batch->rows[i].noise_floor) * (1 + 8 * 0x1p-53);
    return device->op->prove_full_rank(device, count, batch->n_max, batch->orders, batch->matrices,
                                       batch->levels, batch->proven);
}

/* Matrix i of the batch has full rank. */
static void finish_proven(const rank_batch *batch, size_t i)
{
    mgk_rank_row *row = &batch->rows[i];
    row->method = MGK_METHOD_GRAM;
    mgk_rank_forget_spectrum(row);
    for (size_t t = 0; t < batch->work->task.threshold_count; t++)
        batch->counts[t] = (mgk_rank_count){.rank = row->n,
                                            .rank_low = row->n,
                                            .rank_high = row->n,
                                            .certificate = MGK_CERTIFICATE_BOUND,
                                            .nearest = (double)NAN};
    mgk_rank_work_store(batch->work, batch->places[i], row, batch->counts, batch->sigma);
}

/* Stores the ranks that are proven and moves the other matrices together; returns their number. */
static size_t finish_all_proven(rank_batch *batch, size_t count)
{
    const size_t entries = batch->n_max * batch->n_max;
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (batch->proven[i]) {
            finish_proven(batch, i);
            continue;
        }
        if (left != i)
            memcpy(batch->matrices + left * entries, batch->matrices + i * entries,
                   batch->orders[i] * batch->orders[i] * sizeof(double));
        batch->rows[left] = batch->rows[i];
        batch->orders[left] = batch->orders[i];
        batch->places[left++] = batch->places[i];
    }
    return left;
}

/* The spectra of the first `count` matrices. */
static mgk_status compute(const rank_batch *batch, size_t count)
{
    const mgk_rank_run_options *options = batch->work->options;
    mgk_device *device = options->device;
    return (options->bisection ? device->op->bisected_values : device->op->singular_values)(
        device, count, batch->n_max, batch->orders, batch->matrices, batch->sigma);
}

/* Matrix i of those that were left has its spectrum. */
static mgk_status finish(const rank_batch *batch, size_t i)
{
    mgk_rank_row *row = &batch->rows[i];
    const double *sigma = batch->sigma + i * batch->n_max;
    for (size_t k = 0; k < row->n; k++)
        if (!isfinite(sigma[k]))
            return mgk_rank_work_fail(
                mgk_fail(STATUS_NUMERIC, "singular values overflow or did not converge"), row);
    mgk_rank_measure_spectrum(row->n, sigma, row);
    row->method = batch->work->options->bisection ? MGK_METHOD_BISECTION : MGK_METHOD_AUGMENTED;
    double error = mgk_rank_solver_error(row->sigma_max, 2 * batch->n_max + MGK_SOLVER_CONSTANT);
    mgk_engine_count(&batch->work->task, row, sigma, error, batch->counts);
    mgk_rank_work_store(batch->work, batch->places[i], row, batch->counts, sigma);
    return STATUS_OK;
}

/* Behind the first failure nothing matters any more; before it another may come to light. */
static void solve(rank_batch *batch)
{
    mgk_rank_work *work = batch->work;
    size_t count = batch->count;
    while (work->status != STATUS_OK && count > 0 && batch->places[count - 1] >= work->failed_row)
        count--;
    if (work->status == STATUS_INTERRUPTED || count == 0)
        return;
    mgk_status status = prove(batch, count);
    if (status == STATUS_OK) {
        count = finish_all_proven(batch, count);
        status = compute(batch, count);
    }
    if (status != STATUS_OK)
        mgk_rank_work_record(work, batch->places[0], status);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        if ((status = finish(batch, i)) != STATUS_OK)
            mgk_rank_work_record(work, batch->places[i], status);
}

void mgk_rank_by_batches(mgk_rank_work *work)
{
    rank_batch batch;
    mgk_status status = open_batch(work, &batch);
    if (status != STATUS_OK)
        mgk_rank_work_record(work, 0, status);
    while (!work->end) {
        batch.count = 0;
#pragma omp parallel num_threads(work->threads)
        gather(&batch);
        solve(&batch);
    }
    close_batch(&batch);
}
