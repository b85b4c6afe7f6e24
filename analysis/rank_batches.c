/*
 * Ranks from a device, which takes a batch of matrices as a whole. Where only ranks are wanted it
 * counts first, or where matrices are small proves that ranks are full; what is left gets spectra.
 */
#include <math.h>
#include <string.h>

#include "analysis/rank_batch.h"
#include "base/memory.h"

/* Memory for a batch of several matrices, and how many it has at most. */
static const size_t batch_bytes = (size_t)1 << 30;
enum { BATCH_MATRICES = 1024 };

/* As many matrices as there are, or as fit into a quarter of the device; the solvers need more. */
static mgk_status choose_capacity(mgk_rank_work *work, size_t matrix_bytes, size_t *capacity)
{
    mgk_device *device = work->options->device;
    size_t left, total, most = BATCH_MATRICES;
    TRY(device->op->memory(device, &left, &total));
    const size_t bytes = left / 4 < batch_bytes ? left / 4 : batch_bytes;
    if (matrix_bytes > 0 && bytes / matrix_bytes < most)
        most = bytes / matrix_bytes;
    if (work->source->count > 0 && work->source->count < most)
        most = work->source->count;
    *capacity = most > 0 ? most : 1;
    return STATUS_OK;
}

/*
 * Whether matrices are counted one at a time. Below, one does not keep a device busy, and proofs of
 * full rank take many together.
 */
static bool counts_large(const mgk_rank_work *work)
{
    const size_t large = MGK_BISECTION_ORDER + 1;
    const mgk_device *device = work->options->device;
    return work->task.count_only && device->op->shifted_inertia &&
           device->precision == MGK_DOUBLE && work->source->n_max >= large;
}

static mgk_status open_batch(mgk_rank_work *work, mgk_rank_batch *batch)
{
    const mgk_source *source = work->source;
    mgk_device *device = work->options->device;
    size_t entries, bytes, capacity;
    *batch = (mgk_rank_batch){.work = work, .n_max = source->n_max};
    TRY(mgk_multiply(source->n_max, source->n_max, &entries));
    TRY(mgk_multiply(entries, sizeof(double), &bytes));
    TRY(choose_capacity(work, bytes, &capacity));
    batch->capacity = capacity;
    TRY(mgk_multiply(capacity, entries, &entries));
    TRY(mgk_alloc(capacity, sizeof(*batch->rows), &batch->rows));
    TRY(mgk_alloc(capacity, sizeof(*batch->places), &batch->places));
    TRY(mgk_alloc(capacity, sizeof(*batch->orders), &batch->orders));
    TRY(mgk_alloc(work->task.threshold_count, sizeof(*batch->counts), &batch->counts));
    TRY(mgk_alloc(capacity, sizeof(*batch->levels), &batch->levels));
    TRY(mgk_alloc(capacity, sizeof(*batch->settled), &batch->settled));
    TRY(mgk_alloc(capacity, sizeof(*batch->moved), &batch->moved));
    TRY(mgk_alloc(capacity * source->n_max, sizeof(double), &batch->sigma));
    TRY(mgk_multiply(entries, sizeof(double), &bytes));
    TRY(device->op->allocate(device, bytes, &batch->matrices));
    /* Another device is going to write there: it must not be zeroed any more. */
    TRY(device->op->synchronize(device));
    if (source->device)
        TRY(mgk_alloc(capacity, sizeof(*batch->entries), &batch->entries));
    else
        TRY(mgk_alloc(entries, sizeof(double), &batch->host));
    return counts_large(work) ? mgk_engine_open_on(device, source->n_max, &batch->engine)
                              : STATUS_OK;
}

static void close_batch(mgk_rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    if (batch->matrices)
        device->op->release(device, batch->matrices);
    mgk_free(batch->host);
    mgk_free(batch->entries);
    mgk_free(batch->rows);
    mgk_free(batch->places);
    mgk_free(batch->orders);
    mgk_free(batch->levels);
    mgk_free(batch->settled);
    mgk_free(batch->moved);
    mgk_engine_close(batch->engine);
    mgk_free(batch->sigma);
    mgk_free(batch->counts);
}

/* Matrix i of the batch has full rank. */
static void finish_proven(const mgk_rank_batch *batch, size_t i)
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

/* What is above the largest threshold, and above what storage may have moved, is full rank. */
static mgk_status prove(const mgk_rank_batch *batch, size_t count)
{
    const mgk_engine_task *task = &batch->work->task;
    mgk_device *device = batch->work->options->device;
    double tau = 0;
    for (size_t t = 0; t < task->threshold_count; t++)
        tau = fmax(tau, task->thresholds[t]);
    for (size_t i = 0; i < count; i++)
        batch->levels[i] = (tau + batch->rows[i].noise_floor) * (1 + 8 * 0x1p-53);
    TRY(device->op->prove_full_rank(device, count, batch->n_max, batch->orders, batch->matrices,
                                    batch->levels, batch->settled));
    for (size_t i = 0; i < count; i++)
        if (batch->settled[i])
            finish_proven(batch, i);
    return STATUS_OK;
}

/* One matrix after another: each is large enough for the device. */
static mgk_status count_large(const mgk_rank_batch *batch, size_t count)
{
    const size_t entries = batch->n_max * batch->n_max;
    for (size_t i = 0; i < count; i++) {
        bool certain;
        TRY(mgk_engine_certify(batch->engine, &batch->work->task, batch->matrices + i * entries,
                               &batch->rows[i], batch->counts, &batch->moved[i], &certain));
        batch->settled[i] = certain;
        if (certain)
            mgk_rank_work_store(batch->work, batch->places[i], &batch->rows[i], batch->counts,
                                batch->sigma);
    }
    return STATUS_OK;
}

/* Matrix `from` of the batch takes place `to`. */
static mgk_status move(mgk_rank_batch *batch, size_t from, size_t to)
{
    mgk_device *device = batch->work->options->device;
    const size_t entries = batch->n_max * batch->n_max, n = batch->orders[from];
    batch->rows[to] = batch->rows[from];
    batch->orders[to] = n;
    batch->places[to] = batch->places[from];
    batch->moved[to] = batch->moved[from];
    return from == to ? STATUS_OK
                      : device->op->copy(device, batch->matrices + to * entries,
                                         batch->matrices + from * entries, n * n * sizeof(double));
}

/*
 * Ranks that can be had without singular values are stored, and the other matrices moved together;
 * *count is their number.
 */
static mgk_status settle(mgk_rank_batch *batch, size_t *count)
{
    const mgk_engine_task *task = &batch->work->task;
    const mgk_device *device = batch->work->options->device;
    size_t left = 0;
    memset(batch->settled, 0, *count * sizeof(*batch->settled));
    memset(batch->moved, 0, *count * sizeof(*batch->moved));
    if (batch->engine)
        TRY(count_large(batch, *count));
    else if (task->count_only && !task->relative && device->op->prove_full_rank)
        TRY(prove(batch, *count));
    for (size_t i = 0; i < *count; i++)
        if (!batch->settled[i])
            TRY(move(batch, i, left++));
    *count = left;
    return STATUS_OK;
}

/* The spectra of the first `count` matrices. */
static mgk_status compute(const mgk_rank_batch *batch, size_t count)
{
    const mgk_rank_run_options *options = batch->work->options;
    mgk_device *device = options->device;
    return (options->bisection ? device->op->bisected_values : device->op->singular_values)(
        device, count, batch->n_max, batch->orders, batch->matrices, batch->sigma);
}

/* Matrix i of those that were left has its spectrum. */
static mgk_status finish(const mgk_rank_batch *batch, size_t i)
{
    mgk_rank_row *row = &batch->rows[i];
    const double *sigma = batch->sigma + i * batch->n_max;
    for (size_t k = 0; k < row->n; k++)
        if (!isfinite(sigma[k]))
            return mgk_rank_work_fail(
                mgk_fail(STATUS_NUMERIC, "singular values overflow or did not converge"), row);
    mgk_rank_measure_spectrum(row->n, sigma, row);
    row->method = batch->work->options->bisection ? MGK_METHOD_BISECTION : MGK_METHOD_AUGMENTED;
    double error = mgk_rank_solver_error(row->sigma_max, 2 * batch->n_max + MGK_SOLVER_CONSTANT) +
                   batch->moved[i];
    mgk_engine_count(&batch->work->task, row, sigma, error, batch->counts);
    mgk_rank_work_store(batch->work, batch->places[i], row, batch->counts, sigma);
    return STATUS_OK;
}

/* Behind the first failure nothing matters any more; before it another may come to light. */
static void solve(mgk_rank_batch *batch)
{
    mgk_rank_work *work = batch->work;
    size_t count = batch->count;
    while (work->status != STATUS_OK && count > 0 && batch->places[count - 1] >= work->failed_row)
        count--;
    if (work->status == STATUS_INTERRUPTED || count == 0)
        return;
    mgk_status status = settle(batch, &count);
    if (status == STATUS_OK)
        status = compute(batch, count);
    if (status != STATUS_OK)
        mgk_rank_work_record(work, batch->places[0], status);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        if ((status = finish(batch, i)) != STATUS_OK)
            mgk_rank_work_record(work, batch->places[i], status);
}

void mgk_rank_by_batches(mgk_rank_work *work)
{
    mgk_rank_batch batch;
    mgk_status status = open_batch(work, &batch);
    if (status != STATUS_OK)
        mgk_rank_work_record(work, 0, status);
    while (!work->end) {
        mgk_rank_batch_gather(&batch);
        solve(&batch);
    }
    close_batch(&batch);
}
