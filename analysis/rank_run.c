#include "analysis/rank_run.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernels/spectrum.h"
#include "base/memory.h"

/* What the threads of one run share. `lock` guards everything below it. */
typedef struct rank_run {
    const mgk_source *source;
    const mgk_rank_run_options *options;
    omp_lock_t lock;
    mgk_rank_table *table;
    size_t done;
    bool end;           /* no more matrices: the source ended, or something failed */
    mgk_status status;  /* of the failure that came first in the order of the source */
    size_t failed_row;  /* where it happened; SIZE_MAX: nowhere */
    char message[1024]; /* copied here, because messages belong to threads */
} rank_run;

/* What one thread owns. */
typedef struct rank_worker {
    mgk_matrix matrix;
    size_t row_index; /* of the matrix, in the table */
    double *sigma;    /* [n_max] */
    mgk_spectrum *spectrum;
} rank_worker;

/* Under the lock. Threads may fail in any order; the earliest row is reported. */
static void record_failure(rank_run *run, size_t row, mgk_status status)
{
    run->end = true;
    if (run->status != STATUS_OK && row >= run->failed_row)
        return;
    run->status = status;
    run->failed_row = row;
    snprintf(run->message, sizeof(run->message), "%s", mgk_fail_message());
}

static mgk_status pull_locked(rank_run *run, mgk_matrix *matrix)
{
    const volatile sig_atomic_t *cancel = run->options->cancel;
    if (cancel && *cancel)
        return mgk_fail(STATUS_INTERRUPTED, "interrupted after %zu matrices", run->done);
    TRY(run->source->next(run->source->state, matrix, &run->end));
    if (run->end)
        return STATUS_OK;
    if (matrix->n > run->source->n_max)
        return mgk_fail(STATUS_SHAPE, "a matrix of %zu rows, expected at most %zu", matrix->n,
                        run->source->n_max);
    return mgk_rank_table_append(run->table);
}

/* Fetches this worker's next matrix; false when there is none. */
static bool pull(rank_run *run, rank_worker *worker)
{
    omp_set_lock(&run->lock);
    if (!run->end) {
        worker->row_index = run->table->row_count;
        mgk_status status = pull_locked(run, &worker->matrix);
        if (status != STATUS_OK)
            record_failure(run, worker->row_index, status);
    }
    bool got = !run->end;
    omp_unset_lock(&run->lock);
    return got;
}

/* Everything about the matrix that needs no lock. */
static mgk_status measure(const rank_run *run, rank_worker *worker, mgk_rank_row *row)
{
    const mgk_matrix *matrix = &worker->matrix;
    *row = (mgk_rank_row){.sample = matrix->sample, .layer = matrix->layer, .head = matrix->head};
    mgk_status status =
        mgk_rank_measure_entries(matrix->n, matrix->data, run->source->grid, worker->sigma, row);
    if (status == STATUS_OK)
        status = mgk_spectrum_compute(worker->spectrum, matrix->n, matrix->data, worker->sigma);
    if (status != STATUS_OK)
        return mgk_fail(status, "sample %zu, layer %zu, head %zu: %s", matrix->sample,
                        matrix->layer, matrix->head, mgk_fail_message());
    mgk_rank_measure_spectrum(matrix->n, worker->sigma, row);
    return STATUS_OK;
}

/* Under the lock: appending moves the arrays. */
static void store_locked(rank_run *run, const rank_worker *worker, const mgk_rank_row *row)
{
    mgk_rank_table *table = run->table;
    size_t thresholds = table->threshold_count, r = worker->row_index;
    table->rows[r] = *row;
    for (size_t t = 0; t < thresholds; t++) {
        double tau = table->thresholds[t] * (run->options->relative ? row->sigma_max : 1);
        table->counts[r * thresholds + t] =
            mgk_rank_count_at(row->n, worker->sigma, tau, mgk_rank_error(row));
    }
    if (table->n_max > 0)
        memcpy(table->spectra + r * table->n_max, worker->sigma, row->n * sizeof(double));
    run->done++;
    if (run->options->progress)
        run->options->progress(run->options->progress_state, run->done, run->source->count);
}

static mgk_status open_worker(size_t n_max, rank_worker *worker)
{
    size_t entries;
    TRY(mgk_multiply(n_max, n_max, &entries));
    TRY(mgk_spectrum_open(n_max, &worker->spectrum));
    TRY(mgk_alloc(n_max, sizeof(double), &worker->sigma));
    return mgk_alloc(entries, sizeof(double), &worker->matrix.data);
}

static void close_worker(rank_worker *worker)
{
    mgk_spectrum_close(worker->spectrum);
    mgk_free(worker->sigma);
    mgk_free(worker->matrix.data);
}

/* One thread: matrices until there are no more. */
static void work(rank_run *run)
{
    rank_worker worker = {.row_index = SIZE_MAX};
    mgk_rank_row row;
    mgk_status status = open_worker(run->source->n_max, &worker);
    while (status == STATUS_OK && pull(run, &worker)) {
        status = measure(run, &worker, &row);
        if (status != STATUS_OK)
            break;
        omp_set_lock(&run->lock);
        store_locked(run, &worker, &row);
        omp_unset_lock(&run->lock);
    }
    if (status != STATUS_OK) {
        omp_set_lock(&run->lock);
        record_failure(run, worker.row_index, status);
        omp_unset_lock(&run->lock);
    }
    close_worker(&worker);
}

static mgk_status check_options(const mgk_rank_run_options *options)
{
    for (size_t t = 0; t < options->threshold_count; t++)
        if (!(options->thresholds[t] > 0) || !isfinite(options->thresholds[t]))
            return mgk_fail(STATUS_USAGE, "threshold %g, expected a number above 0",
                            options->thresholds[t]);
    /* In files, a threshold that comes again begins the next matrix. */
    for (size_t t = 1; t < options->threshold_count && t < MGK_THRESHOLDS_MAX; t++)
        for (size_t before = 0; before < t; before++)
            if (options->thresholds[before] == options->thresholds[t])
                return mgk_fail(STATUS_USAGE, "threshold %g is there twice",
                                options->thresholds[t]);
    return STATUS_OK;
}

mgk_status mgk_rank_run(const mgk_source *source, const mgk_rank_run_options *options,
                        mgk_rank_table *table)
{
    rank_run run = {.source = source, .options = options, .table = table, .failed_row = SIZE_MAX};
    *table = (mgk_rank_table){0};
    TRY(check_options(options));
    mgk_status status = mgk_rank_table_make(options->threshold_count, options->thresholds,
                                            options->keep_spectra ? source->n_max : 0, table);
    if (status != STATUS_OK) {
        mgk_rank_table_free(table);
        return status;
    }
    table->settings.relative = options->relative;
    snprintf(table->settings.method, sizeof(table->settings.method), "svd");

    /*
     * The matrices already fill the cores. BLAS threads of every worker would compete for
     * the same cores and for the one pool that OpenBLAS has.
     */
    int blas_threads = openblas_get_num_threads();
    int threads = options->threads > 0 ? options->threads : omp_get_max_threads();
    if (source->count > 0 && source->count < (size_t)threads)
        threads = (int)source->count;
    openblas_set_num_threads(1);
    omp_init_lock(&run.lock);
#pragma omp parallel num_threads(threads)
    work(&run);
    omp_destroy_lock(&run.lock);
    openblas_set_num_threads(blas_threads);

    if (run.status != STATUS_OK) {
        mgk_rank_table_free(table);
        return mgk_fail(run.status, "%s", run.message);
    }
    return STATUS_OK;
}
