/*
 * Ranks from a device, which takes a batch of matrices as a whole. Where only ranks are wanted it
 * counts first, or where matrices are small proves that ranks are full; what is left gets spectra.
 */
#include <math.h>
#include <string.h>

#include "analysis/run/bands.h"
#include "analysis/run/batch.h"
#include "base/memory.h"
#include "kernels/blas.h"

/* Memory for a batch of several matrices, and how many it has at most. */
static const size_t batch_bytes = (size_t)1 << 30;
enum { BATCH_MATRICES = 1024 };

/* Whether the device reduces matrices to bands, and the host does the rest. */
static bool in_two_steps(const mgk_rank_work *work)
{
    return work->options->bisection && work->source->n_max > MGK_BISECTION_ORDER;
}

/*
 * As many matrices as there are, or as fit into a quarter of the device; the solvers need more. In
 * two steps every thread of the host wants two: one that calls the device joins the others late.
 */
static mgk_status choose_capacity(mgk_rank_work *work, size_t matrix_bytes, size_t *capacity)
{
    mgk_device *device = work->options->device;
    size_t left, total, most = BATCH_MATRICES, bytes = batch_bytes;
    TRY(device->op->memory(device, &left, &total));
    const size_t wanted = 2 * (size_t)work->threads;
    if (in_two_steps(work) && bytes / matrix_bytes < wanted)
        bytes = wanted * matrix_bytes;
    bytes = left / 4 < bytes ? left / 4 : bytes;
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

/* What a batch shares with no other. */
static mgk_status open_lists(mgk_rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    const size_t capacity = batch->capacity;
    size_t entries, bytes;
    TRY(mgk_alloc(capacity, sizeof(*batch->rows), &batch->rows));
    TRY(mgk_alloc(capacity, sizeof(*batch->places), &batch->places));
    TRY(mgk_alloc(capacity, sizeof(*batch->orders), &batch->orders));
    TRY(mgk_alloc(capacity, sizeof(*batch->moved), &batch->moved));
    if (!in_two_steps(batch->work))
        return STATUS_OK;
    TRY(mgk_multiply(capacity, mgk_band_entries(batch->n_max), &entries));
    TRY(mgk_multiply(entries, sizeof(double), &bytes));
    return device->op->mirror_open(device, bytes, &batch->bands);
}

static void close_lists(mgk_rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    mgk_free(batch->rows);
    mgk_free(batch->places);
    mgk_free(batch->orders);
    mgk_free(batch->moved);
    device->op->mirror_close(device, &batch->bands);
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
    TRY(open_lists(batch));
    TRY(mgk_multiply(capacity, entries, &entries));
    TRY(mgk_alloc(work->task.threshold_count, sizeof(*batch->counts), &batch->counts));
    TRY(mgk_alloc(capacity, sizeof(*batch->levels), &batch->levels));
    TRY(mgk_alloc(capacity, sizeof(*batch->settled), &batch->settled));
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
    close_lists(batch);
    if (batch->matrices)
        device->op->release(device, batch->matrices);
    mgk_free(batch->host);
    mgk_free(batch->entries);
    mgk_free(batch->levels);
    mgk_free(batch->settled);
    mgk_engine_close(batch->engine);
    mgk_free(batch->sigma);
    mgk_free(batch->counts);
}

/* One that shares all but its lists. */
static mgk_rank_batch beside(const mgk_rank_batch *batch)
{
    mgk_rank_batch other = *batch;
    other.rows = NULL;
    other.places = other.orders = NULL;
    other.moved = NULL;
    other.bands = (mgk_mirror){0};
    return other;
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
static mgk_status count_each(const mgk_rank_batch *batch, size_t count)
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

/* The device waits for what the host does between its steps, for which no other thread is busy. */
static mgk_status count_large(const mgk_rank_batch *batch, size_t count)
{
    mgk_blas.set_num_threads(batch->work->threads);
    mgk_status status = count_each(batch, count);
    mgk_blas.set_num_threads(1);
    return status;
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
 * batch->left is their number.
 */
static mgk_status settle(mgk_rank_batch *batch)
{
    const mgk_engine_task *task = &batch->work->task;
    const mgk_device *device = batch->work->options->device;
    const size_t count = batch->left;
    memset(batch->settled, 0, count * sizeof(*batch->settled));
    memset(batch->moved, 0, count * sizeof(*batch->moved));
    if (batch->engine)
        TRY(count_large(batch, count));
    else if (task->count_only && !task->relative && device->op->prove_full_rank)
        TRY(prove(batch, count));
    batch->left = 0;
    for (size_t i = 0; i < count; i++)
        if (!batch->settled[i])
            TRY(move(batch, i, batch->left++));
    return STATUS_OK;
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
    /* Of a matrix of twice the order, or of two steps. */
    double error = mgk_rank_solver_error(row->sigma_max, 2 * batch->n_max + MGK_SOLVER_CONSTANT) +
                   batch->moved[i];
    mgk_engine_count(&batch->work->task, row, sigma, error, batch->counts);
    mgk_rank_work_store(batch->work, batch->places[i], row, batch->counts, sigma);
    return STATUS_OK;
}

static void finish_all(const mgk_rank_batch *batch)
{
    for (size_t i = 0; i < batch->left; i++) {
        mgk_status status = finish(batch, i);
        if (status != STATUS_OK) {
            mgk_rank_work_record(batch->work, batch->places[i], status);
            return;
        }
    }
}

/*
 * Fills the batch, up to those that are left for their spectra. Behind the first failure nothing
 * matters any more; before it another may come to light.
 */
static void prepare(mgk_rank_batch *batch)
{
    mgk_rank_work *work = batch->work;
    mgk_rank_batch_gather(batch);
    batch->left = work->status == STATUS_INTERRUPTED ? 0 : batch->count;
    while (work->status != STATUS_OK && batch->left > 0 &&
           batch->places[batch->left - 1] >= work->failed_row)
        batch->left--;
    if (batch->left == 0)
        return;
    mgk_status status = settle(batch);
    if (status != STATUS_OK) {
        mgk_rank_work_record(work, batch->places[0], status);
        batch->left = 0;
    }
}

/* The spectra of a batch, computed by the device alone. */
static void compute(mgk_rank_batch *batch)
{
    const mgk_rank_run_options *options = batch->work->options;
    mgk_device *device = options->device;
    if (batch->left == 0)
        return;
    mgk_status status =
        (options->bisection ? device->op->bisected_values : device->op->singular_values)(
            device, batch->left, batch->n_max, batch->orders, batch->matrices, batch->sigma);
    if (status == STATUS_OK)
        finish_all(batch);
    else
        mgk_rank_work_record(batch->work, batch->places[0], status);
}

/* The device is a batch ahead of the host. */
static mgk_status run_in_two_steps(mgk_rank_batch *first)
{
    mgk_rank_work *work = first->work;
    mgk_rank_bands *bands = NULL;
    mgk_rank_batch second = beside(first), *now = first, *before = &second;
    mgk_status status = open_lists(&second);
    if (status == STATUS_OK)
        status = mgk_rank_bands_open(work->threads, work->source->n_max, &bands);
    while (status == STATUS_OK && (!work->end || before->left > 0)) {
        now->left = 0;
        if (!work->end)
            prepare(now);
        if (work->status == STATUS_INTERRUPTED)
            break;
        mgk_rank_bands_turn(bands, now, before);
        finish_all(before);
        mgk_rank_batch *done = before;
        before = now;
        now = done;
    }
    mgk_rank_bands_close(bands);
    close_lists(&second);
    return status;
}

void mgk_rank_by_batches(mgk_rank_work *work)
{
    mgk_rank_batch batch;
    mgk_status status = open_batch(work, &batch);
    if (status == STATUS_OK && in_two_steps(work))
        status = run_in_two_steps(&batch);
    if (status != STATUS_OK)
        mgk_rank_work_record(work, 0, status);
    while (!work->end) {
        prepare(&batch);
        compute(&batch);
    }
    close_batch(&batch);
}
