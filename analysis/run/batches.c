/* SPDX-License-Identifier: MIT */
/*
 * Ranks on a device, which processes matrices in batches. If only ranks are requested, it counts
 * large matrices, several at a time (counters.h), and proves full rank of small ones; the remaining
 * matrices get spectra. Spectra of large matrices take two steps that overlap: while the device
 * reduces a batch to bands, the host's threads compute the singular values of the previous batch's
 * bands.
 */
#include <math.h>
#include <string.h>

#include "analysis/run/bands.h"
#include "analysis/run/counters.h"
#include "analysis/run/work.h"
#include "base/memory.h"
#include "kernels/blas.h"

/* A batch of matrices, from the source to their ranks. */
typedef struct rank_batch {
    mgk_rank_work *work;
    size_t n_max, capacity;
    size_t count;       /* matrices gathered, at most `capacity` */
    size_t *places;     /* [capacity], row of each in the table, ascending */
    mgk_rank_row *rows; /* [capacity] */
    size_t *orders;     /* [capacity], n of each */
    double *matrices; /* [capacity, n_max, n_max] on the device, smaller ones packed at the start */
    double *host;     /* the same on the host; NULL: the source writes to the device */
    mgk_entries *entries; /* [capacity], if the device measures them */
    double *sigma;        /* [capacity, n_max] */
    double *levels;       /* [capacity], a rank is full if all singular values exceed this */
    int *settled;         /* [capacity], the rank is known without singular values */
    double *moved;        /* [capacity], how far counting has moved singular values */
    size_t left;          /* matrices that need spectra, moved to the front */
    bool two_steps;       /* the device reduces matrices to bands, the host computes their values */
    mgk_mirror bands;     /* [capacity, mgk_band_entries(n_max)], for two steps */
    mgk_counters counters;  /* count large matrices; 0: none */
    mgk_rank_count *counts; /* [thresholds], of one matrix */
} rank_batch;

/*
 * ---- gathering: the host's threads read and measure the matrices of a file, which then go to the
 * device together; matrices computed on a device are measured there ----
 */

/* Where the source writes matrix i of the batch. */
static double *place_of(const rank_batch *batch, size_t i)
{
    double *matrices = batch->host ? batch->host : batch->matrices;
    return matrices + i * batch->n_max * batch->n_max;
}

/* The next matrix of the round, number *i of the batch; NULL if there is none. */
static const mgk_round_matrix *pull(rank_batch *batch, size_t *i)
{
    mgk_rank_work *work = batch->work;
    omp_set_lock(&work->lock);
    const mgk_round_matrix *matrix = mgk_rank_work_next(work);
    if (matrix) {
        *i = batch->count++;
        batch->places[*i] = matrix->row;
        batch->orders[*i] = matrix->group->n;
        batch->rows[*i] = mgk_rank_work_row(work, matrix);
    }
    omp_unset_lock(&work->lock);
    return matrix;
}

/* Reports progress, or records a failure. Call without the lock. */
static void report(rank_batch *batch, size_t i, mgk_status status)
{
    omp_set_lock(&batch->work->lock);
    if (status == STATUS_OK)
        mgk_rank_work_tell(batch->work);
    else
        mgk_rank_work_record(batch->work, batch->places[i], status);
    omp_unset_lock(&batch->work->lock);
}

/* A device counts square matrices alone. */
static mgk_extent square(size_t n)
{
    return (mgk_extent){.rows = n, .columns = n, .n = n};
}

/* Fetches a matrix; measures it if it is on the host. */
static mgk_status fetch(rank_batch *batch, const mgk_round_matrix *matrix, size_t i)
{
    double *place = place_of(batch, i), *scratch = batch->sigma + i * batch->n_max;
    TRY(mgk_rank_work_take(batch->work, matrix, place));
    if (!batch->host)
        return STATUS_OK;
    const mgk_extent extent = square(batch->orders[i]);
    return mgk_rank_work_measure(batch->work, &extent, place, scratch, &batch->rows[i]);
}

/* One thread: processes matrices until the round ends. */
static void fetch_matrices(rank_batch *batch)
{
    const mgk_round_matrix *matrix;
    size_t i;
    while ((matrix = pull(batch, &i)))
        report(batch, i, fetch(batch, matrix, i));
}

static mgk_status bring(const rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    const size_t bytes = batch->count * batch->n_max * batch->n_max * sizeof(double);
    return device->op->upload(device, batch->matrices, batch->host, bytes);
}

/* Measures a copy of matrix i on the host, where the device's statistics are not sufficient. */
static mgk_status look_closer(const rank_batch *batch, size_t i)
{
    mgk_device *device = batch->work->options->device;
    const size_t n = batch->orders[i], entries = batch->n_max * batch->n_max;
    const mgk_extent extent = square(n);
    double *copy;
    TRY(mgk_alloc(n * n, sizeof(*copy), &copy));
    mgk_status status =
        device->op->download(device, copy, batch->matrices + i * entries, n * n * sizeof(*copy));
    if (status == STATUS_OK)
        status = mgk_rank_work_measure(batch->work, &extent, copy, batch->sigma, &batch->rows[i]);
    mgk_free(copy);
    return status;
}

/* The host finds which rows are zero. */
static bool has_bad_zero_rows(const rank_batch *batch, size_t i)
{
    return batch->rows[i].zero_rows > 0 && !batch->work->options->allow_zero_rows;
}

static mgk_status measure(rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    const mgk_source *source = batch->work->source;
    TRY(source->device->op->synchronize(source->device));
    TRY(device->op->spectral->measure_entries(device, batch->count, batch->n_max, batch->orders,
                                              batch->matrices, batch->entries));
    for (size_t i = 0; i < batch->count; i++)
        if (!mgk_rank_describe_entries(batch->orders[i], &batch->entries[i], source->format,
                                       &batch->rows[i]) ||
            has_bad_zero_rows(batch, i))
            report(batch, i, look_closer(batch, i));
    return STATUS_OK;
}

/* Fills the batch, possibly in several rounds. */
static void gather(rank_batch *batch)
{
    mgk_rank_work *work = batch->work;
    const int threads = batch->host ? work->threads : 1;
    mgk_status status = STATUS_OK;
    batch->count = 0;
    while (batch->count < batch->capacity &&
           mgk_rank_work_prepare(work, batch->capacity - batch->count)) {
#pragma omp parallel num_threads(threads)
        fetch_matrices(batch);
    }
    if (batch->count > 0)
        status = batch->host ? bring(batch) : measure(batch);
    if (status != STATUS_OK)
        mgk_rank_work_record(work, batch->places[0], status);
}

/* ---- two steps ----------------------------------------------------------------------------- */

static mgk_status reduce(const rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    TRY(device->op->spectral->reduce_to_bands(device, batch->left, batch->n_max, batch->orders,
                                              batch->matrices, batch->bands.array));
    return device->op->mirror_send(device, &batch->bands);
}

/* Waits for the bands; until then the device may read the matrices. */
static mgk_status wait(const rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    return device->op->mirror_wait(device, &batch->bands);
}

/* A failure is recorded by the thread that failed, because messages belong to threads. */
static void record(rank_batch *batch, mgk_status status)
{
    if (status == STATUS_OK)
        return;
    omp_set_lock(&batch->work->lock);
    mgk_rank_work_record(batch->work, batch->places[0], status);
    omp_unset_lock(&batch->work->lock);
    batch->left = 0;
}

/* The singular values of band i. */
static void solve(mgk_bands *bands, const rank_batch *batch, size_t i)
{
    const double *all = batch->bands.host;
    mgk_bands_solve(bands, omp_get_thread_num(), batch->orders[i],
                    all + i * mgk_band_entries(batch->n_max), batch->sigma + i * batch->n_max);
}

/*
 * Calling the device blocks a thread while its queue is full, so one thread only does this until
 * all calls are made, and then joins the others. The device completes its work concurrently.
 */
static void take_turn(mgk_bands *bands, rank_batch *now, rank_batch *before)
{
#pragma omp parallel num_threads(mgk_bands_threads(bands))
    {
#pragma omp single nowait
        if (now->left > 0)
            record(now, reduce(now));
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < before->left; i++)
            solve(bands, before, i);
    }
    if (now->left > 0)
        record(now, wait(now));
}

/* ---- ranks --------------------------------------------------------------------------------- */

/* Memory for a batch of several matrices, and the most matrices of a batch. */
static const size_t batch_bytes = (size_t)1 << 30;
enum { BATCH_MATRICES = 1024 };

/* Bisection takes two steps if a matrix is too large for the device to do all. */
static mgk_status choose_steps(const mgk_rank_work *work, bool *two_steps)
{
    mgk_device *device = work->options->device;
    size_t largest;
    *two_steps = false;
    if (!work->options->bisection)
        return STATUS_OK;
    TRY(device->op->spectral->bisection_order(device, &largest));
    *two_steps = work->source->n_max > largest;
    return STATUS_OK;
}

/*
 * Whether threads of the host count matrices. Smaller ones do not occupy a device; for them proofs
 * of full rank process many together.
 */
static bool counts_large(const mgk_rank_work *work)
{
    const size_t large = MGK_BISECTION_ORDER + 1;
    const mgk_device *device = work->options->device;
    return work->task.count_only && device->op->spectral->shifted_inertia &&
           device->precision == MGK_DOUBLE && work->source->n_max >= large;
}

/*
 * As many matrices as exist, or fit a quarter of the device's memory (the solvers need the rest).
 * Where threads of the host take them one by one, at least two per thread, because they do not end
 * together.
 */
static mgk_status choose_capacity(mgk_rank_work *work, size_t matrix_bytes, bool two_steps,
                                  size_t *capacity)
{
    mgk_device *device = work->options->device;
    size_t left, total, most = BATCH_MATRICES, bytes = batch_bytes;
    TRY(device->op->memory(device, &left, &total));
    const size_t wanted = 2 * (size_t)work->threads;
    if ((two_steps || counts_large(work)) && bytes / matrix_bytes < wanted)
        bytes = wanted * matrix_bytes;
    bytes = left / 4 < bytes ? left / 4 : bytes;
    if (matrix_bytes > 0 && bytes / matrix_bytes < most)
        most = bytes / matrix_bytes;
    if (work->source->count > 0 && work->source->count < most)
        most = work->source->count;
    *capacity = most > 0 ? most : 1;
    return STATUS_OK;
}

/* Allocates the lists that are not shared with another batch. */
static mgk_status open_lists(rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    const size_t capacity = batch->capacity;
    size_t entries, bytes;
    TRY(mgk_alloc(capacity, sizeof(*batch->rows), &batch->rows));
    TRY(mgk_alloc(capacity, sizeof(*batch->places), &batch->places));
    TRY(mgk_alloc(capacity, sizeof(*batch->orders), &batch->orders));
    TRY(mgk_alloc(capacity, sizeof(*batch->moved), &batch->moved));
    if (!batch->two_steps)
        return STATUS_OK;
    TRY(mgk_multiply(capacity, mgk_band_entries(batch->n_max), &entries));
    TRY(mgk_multiply(entries, sizeof(double), &bytes));
    return device->op->mirror_open(device, 1, bytes, &batch->bands);
}

static void close_lists(rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    mgk_free(batch->rows);
    mgk_free(batch->places);
    mgk_free(batch->orders);
    mgk_free(batch->moved);
    device->op->mirror_close(device, 1, &batch->bands);
}

static mgk_status open_batch(mgk_rank_work *work, rank_batch *batch)
{
    const mgk_source *source = work->source;
    mgk_device *device = work->options->device;
    size_t entries, bytes, capacity;
    *batch = (rank_batch){.work = work, .n_max = source->n_max};
    TRY(mgk_multiply(source->n_max, source->n_max, &entries));
    TRY(mgk_multiply(entries, sizeof(double), &bytes));
    TRY(choose_steps(work, &batch->two_steps));
    TRY(choose_capacity(work, bytes, batch->two_steps, &capacity));
    batch->capacity = capacity;
    TRY(mgk_rank_work_open_rounds(work, capacity));
    TRY(open_lists(batch));
    TRY(mgk_multiply(capacity, entries, &entries));
    TRY(mgk_alloc(work->task.threshold_count, sizeof(*batch->counts), &batch->counts));
    TRY(mgk_alloc(capacity, sizeof(*batch->levels), &batch->levels));
    TRY(mgk_alloc(capacity, sizeof(*batch->settled), &batch->settled));
    TRY(mgk_alloc(capacity * source->n_max, sizeof(double), &batch->sigma));
    TRY(mgk_multiply(entries, sizeof(double), &bytes));
    TRY(device->op->allocate(device, bytes, &batch->matrices));
    /* The source may be another open device: complete the zeroing before it writes. */
    TRY(device->op->synchronize(device));
    if (source->device)
        TRY(mgk_alloc(capacity, sizeof(*batch->entries), &batch->entries));
    else
        TRY(mgk_alloc(entries, sizeof(double), &batch->host));
    if (!counts_large(work))
        return STATUS_OK;
    const size_t most = (size_t)work->threads < capacity ? (size_t)work->threads : capacity;
    return mgk_counters_open(device, (int)most, source->n_max, work->task.threshold_count,
                             work->options->memory, &batch->counters);
}

static void close_batch(rank_batch *batch)
{
    mgk_device *device = batch->work->options->device;
    close_lists(batch);
    if (batch->matrices)
        device->op->release(device, batch->matrices);
    mgk_free(batch->host);
    mgk_free(batch->entries);
    mgk_free(batch->levels);
    mgk_free(batch->settled);
    mgk_counters_close(&batch->counters);
    mgk_free(batch->sigma);
    mgk_free(batch->counts);
}

/* A second batch that shares all arrays except its lists. */
static rank_batch beside(const rank_batch *batch)
{
    rank_batch other = *batch;
    other.rows = NULL;
    other.places = other.orders = NULL;
    other.moved = NULL;
    other.bands = (mgk_mirror){0};
    return other;
}

/* Stores full rank for matrix i of the batch. */
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

/*
 * Proves full rank: all singular values exceed the largest threshold by more than storage rounding.
 */
static mgk_status prove(const rank_batch *batch, size_t count)
{
    const mgk_engine_task *task = &batch->work->task;
    mgk_device *device = batch->work->options->device;
    double tau = 0;
    for (size_t t = 0; t < task->threshold_count; t++)
        tau = fmax(tau, task->thresholds[t]);
    for (size_t i = 0; i < count; i++)
        batch->levels[i] = (tau + batch->rows[i].noise_floor) * (1 + 8 * 0x1p-53);
    TRY(device->op->spectral->prove_full_rank(device, count, batch->n_max, batch->orders,
                                              batch->matrices, batch->levels, batch->settled));
    for (size_t i = 0; i < count; i++)
        if (batch->settled[i])
            finish_proven(batch, i);
    return STATUS_OK;
}

/* Counts matrix i of the batch, and stores its rank if it is certain. */
static mgk_status count_one(const rank_batch *batch, const mgk_counter *counter, size_t i)
{
    mgk_rank_work *work = batch->work;
    double *matrix = batch->matrices + i * batch->n_max * batch->n_max;
    bool certain;
    TRY(mgk_engine_certify(counter->engine, &work->task, matrix, &batch->rows[i], counter->counts,
                           &batch->moved[i], &certain));
    TRY(counter->device->op->synchronize(counter->device));
    batch->settled[i] = certain;
    if (!certain)
        return STATUS_OK;
    omp_set_lock(&work->lock);
    mgk_rank_work_store(work, batch->places[i], &batch->rows[i], counter->counts, batch->sigma);
    omp_unset_lock(&work->lock);
    return STATUS_OK;
}

/*
 * Counts matrices, one per thread of the host; a single thread lets BLAS use the others. False
 * after a failure, which its thread has recorded.
 */
static bool count_large(rank_batch *batch, size_t count)
{
    mgk_rank_work *work = batch->work;
    const mgk_counters *counters = &batch->counters;
    bool failed = false;
    mgk_blas.set_num_threads(counters->count == 1 ? work->granted : 1);
#pragma omp parallel for num_threads(counters->count) schedule(dynamic) reduction(|| : failed)
    for (size_t i = 0; i < count; i++) {
        mgk_status status = count_one(batch, &counters->of[omp_get_thread_num()], i);
        if (status == STATUS_OK)
            continue;
        report(batch, i, status);
        failed = true;
    }
    mgk_blas.set_num_threads(1);
    return !failed;
}

/* Moves matrix `from` of the batch to position `to`. */
static mgk_status move(rank_batch *batch, size_t from, size_t to)
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

/* Packs the matrices that need spectra; batch->left is their number. */
static mgk_status pack(rank_batch *batch)
{
    const size_t count = batch->left;
    batch->left = 0;
    for (size_t i = 0; i < count; i++)
        if (!batch->settled[i])
            TRY(move(batch, i, batch->left++));
    return STATUS_OK;
}

/* Stores the ranks that need no singular values, and packs the other matrices. */
static void settle(rank_batch *batch)
{
    const mgk_engine_task *task = &batch->work->task;
    const mgk_device *device = batch->work->options->device;
    const size_t count = batch->left;
    memset(batch->settled, 0, count * sizeof(*batch->settled));
    memset(batch->moved, 0, count * sizeof(*batch->moved));
    if (batch->counters.count > 0 && !count_large(batch, count)) {
        batch->left = 0;
        return;
    }
    if (batch->counters.count == 0 && task->count_only && !task->relative &&
        device->op->spectral->prove_full_rank)
        record(batch, prove(batch, count));
    record(batch, pack(batch));
}

/* Stores matrix i of the remaining ones, from its spectrum. */
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
    /* The bound for a matrix of twice the order; it also covers the two steps. */
    double error = mgk_rank_solver_error(row->sigma_max, 2 * batch->n_max + MGK_SOLVER_CONSTANT) +
                   batch->moved[i];
    mgk_engine_count(&batch->work->task, row, sigma, error, batch->counts);
    mgk_rank_work_store(batch->work, batch->places[i], row, batch->counts, sigma);
    return STATUS_OK;
}

static void finish_all(const rank_batch *batch)
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
 * Fills the batch and settles ranks without spectra. Matrices after the first failure are ignored;
 * those before it are processed, since another may fail first.
 */
static void prepare(rank_batch *batch)
{
    mgk_rank_work *work = batch->work;
    gather(batch);
    batch->left = work->status == STATUS_INTERRUPTED ? 0 : batch->count;
    while (work->status != STATUS_OK && batch->left > 0 &&
           batch->places[batch->left - 1] >= work->failed_row)
        batch->left--;
    if (batch->left > 0)
        settle(batch);
}

/* Computes the spectra of a batch on the device alone. */
static void compute(rank_batch *batch)
{
    const mgk_rank_run_options *options = batch->work->options;
    mgk_device *device = options->device;
    if (batch->left == 0)
        return;
    mgk_status status = (options->bisection ? device->op->spectral->bisected_values
                                            : device->op->spectral->singular_values)(
        device, batch->left, batch->n_max, batch->orders, batch->matrices, batch->sigma);
    if (status == STATUS_OK)
        finish_all(batch);
    else
        mgk_rank_work_record(batch->work, batch->places[0], status);
}

/* The device is one batch ahead of the host. */
static mgk_status run_in_two_steps(rank_batch *first)
{
    mgk_rank_work *work = first->work;
    mgk_bands *bands = NULL;
    rank_batch second = beside(first), *now = first, *before = &second;
    mgk_status status = open_lists(&second);
    if (status == STATUS_OK)
        status = mgk_bands_open(work->threads, work->source->n_max, &bands);
    while (status == STATUS_OK && (!work->end || before->left > 0)) {
        now->left = 0;
        if (!work->end)
            prepare(now);
        if (work->status == STATUS_INTERRUPTED)
            break;
        take_turn(bands, now, before);
        finish_all(before);
        rank_batch *done = before;
        before = now;
        now = done;
    }
    mgk_bands_close(bands);
    close_lists(&second);
    return status;
}

void mgk_rank_by_batches(mgk_rank_work *work)
{
    rank_batch batch;
    mgk_status status = open_batch(work, &batch);
    if (status == STATUS_OK && batch.two_steps)
        status = run_in_two_steps(&batch);
    if (status != STATUS_OK)
        mgk_rank_work_record(work, 0, status);
    while (!work->end) {
        prepare(&batch);
        compute(&batch);
    }
    close_batch(&batch);
}
