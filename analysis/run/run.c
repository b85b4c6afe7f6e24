#include "analysis/run/run.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analysis/run/work.h"
#include "base/memory.h"
#include "kernels/blas.h"

void mgk_rank_work_record(mgk_rank_work *work, size_t row, mgk_status status)
{
    work->end = true;
    if (work->status != STATUS_OK && row >= work->failed_row)
        return;
    work->status = status;
    work->failed_row = row;
    snprintf(work->message, sizeof(work->message), "%s", mgk_fail_message());
}

/* Passes over the matrices that come next in the source and are known. */
static mgk_status pass_known(mgk_rank_work *work)
{
    mgk_rank_table *table = work->table;
    const mgk_source *source = work->source;
    size_t before = work->done;
    while (work->known && table->row_count < source->count && work->known[table->row_count]) {
        const mgk_rank_row *row = &table->rows[table->row_count];
        mgk_matrix matrix = {.n = row->n};
        TRY(source->next(source->state, &matrix, &work->end));
        if (work->end || matrix.sample != row->sample || matrix.layer != row->layer ||
            matrix.head != row->head || matrix.n != row->n)
            return mgk_fail(STATUS_FORMAT,
                            "matrix %zu of the interrupted run is another one (--force starts "
                            "anew)",
                            table->row_count);
        table->row_count++;
        work->done++;
    }
    if (work->done > before)
        mgk_rank_work_tell(work);
    return STATUS_OK;
}

static mgk_status pull(mgk_rank_work *work, mgk_matrix *matrix)
{
    const volatile sig_atomic_t *cancel = work->options->cancel;
    if (cancel && *cancel)
        return mgk_fail(STATUS_INTERRUPTED, "interrupted after %zu matrices", work->done);
    TRY(pass_known(work));
    TRY(work->source->next(work->source->state, matrix, &work->end));
    if (work->end)
        return STATUS_OK;
    if (matrix->n > work->source->n_max)
        return mgk_fail(STATUS_SHAPE, "a matrix of %zu rows, expected at most %zu", matrix->n,
                        work->source->n_max);
    return mgk_rank_table_append(work->table);
}

bool mgk_rank_work_pull(mgk_rank_work *work, mgk_matrix *matrix, size_t *row)
{
    if (work->end)
        return false;
    mgk_status status = pull(work, matrix);
    if (status != STATUS_OK)
        mgk_rank_work_record(work, work->table->row_count, status);
    else if (!work->end)
        *row = work->table->row_count - 1;
    return !work->end;
}

mgk_status mgk_rank_work_fail(mgk_status status, const mgk_rank_row *row)
{
    return mgk_fail(status, "sample %zu, layer %zu, head %zu: %s", row->sample, row->layer,
                    row->head, mgk_fail_message());
}

mgk_rank_row mgk_rank_work_row(const mgk_matrix *matrix)
{
    return (mgk_rank_row){.sample = matrix->sample, .layer = matrix->layer, .head = matrix->head};
}

mgk_status mgk_rank_work_check_rows(const mgk_rank_work *work, const mgk_rank_row *row, size_t n,
                                    size_t zero_row)
{
    if (zero_row == n || work->options->allow_zero_rows)
        return STATUS_OK;
    mgk_fail(STATUS_UNSUPPORTED,
             "row %zu is all zeros, as those of padded queries are: leave padding out, or count "
             "such rows by --allow-zero-rows",
             zero_row);
    return mgk_rank_work_fail(STATUS_UNSUPPORTED, row);
}

mgk_status mgk_rank_work_measure(const mgk_rank_work *work, const mgk_matrix *matrix,
                                 double *scratch, mgk_rank_row *row)
{
    *row = mgk_rank_work_row(matrix);
    TRY(mgk_rank_work_check_rows(work, row, matrix->n, mgk_rank_zero_row(matrix->n, matrix->data)));
    mgk_status status =
        mgk_rank_measure_entries(matrix->n, matrix->data, work->source->format, scratch, row);
    return status == STATUS_OK ? STATUS_OK : mgk_rank_work_fail(status, row);
}

void mgk_rank_work_tell(const mgk_rank_work *work)
{
    if (work->options->progress)
        work->options->progress(work->options->progress_state, work->done, work->source->count);
}

/* Under the lock, for appending moves the arrays. */
void mgk_rank_work_store(mgk_rank_work *work, size_t r, const mgk_rank_row *row,
                         const mgk_rank_count *counts, const double *sigma)
{
    mgk_rank_table *table = work->table;
    const size_t thresholds = table->threshold_count;
    table->rows[r] = *row;
    memcpy(table->counts + r * thresholds, counts, thresholds * sizeof(*counts));
    if (table->n_max > 0)
        memcpy(table->spectra + r * table->n_max, sigma, row->n * sizeof(double));
    if (work->options->journal) {
        mgk_status status =
            mgk_journal_append(work->options->journal, work->options->input, table, r);
        if (status != STATUS_OK)
            mgk_rank_work_record(work, r, status);
    }
    work->done++;
    mgk_rank_work_tell(work);
}

static mgk_status check_options(const mgk_rank_run_options *options)
{
    for (size_t t = 0; t < options->threshold_count; t++)
        if (!(options->thresholds[t] > 0) || !isfinite(options->thresholds[t]))
            return mgk_fail(STATUS_USAGE, "threshold %g, expected a number above 0",
                            options->thresholds[t]);
    if (options->bisection && !(options->device && options->device->op->bisected_values))
        return mgk_fail(STATUS_USAGE, "method \"bisection\": expected a GPU (--device cuda)");
    /* In files, a threshold that comes again begins the next matrix. */
    for (size_t t = 1; t < options->threshold_count && t < MGK_THRESHOLDS_MAX; t++)
        for (size_t before = 0; before < t; before++)
            if (options->thresholds[before] == options->thresholds[t])
                return mgk_fail(STATUS_USAGE, "threshold %g is there twice",
                                options->thresholds[t]);
    return STATUS_OK;
}

/*
 * Threads of the host that may multiply at once, `granted`, and those of them that the matrices
 * keep busy.
 */
static mgk_status count_threads(mgk_rank_work *work)
{
    const int wanted = work->options->threads > 0 ? work->options->threads : omp_get_max_threads();
    const size_t matrices = work->source->count;
    TRY(mgk_blas_open());
    TRY(mgk_blas_reserve(wanted, &work->granted));
    work->threads =
        matrices > 0 && matrices < (size_t)work->granted ? (int)matrices : work->granted;
    return STATUS_OK;
}

/*
 * Several matrices fill the cores by themselves: BLAS threads of every worker would compete for the
 * same cores and for the one pool that OpenBLAS has. The products of a single one are divided.
 */
static void compute(mgk_rank_work *work)
{
    const mgk_device *device = work->options->device;
    const bool factors = work->source->depth > 0; /* take less than sending them to a device */
    const bool batches = device && device->accelerator && !factors;
    int blas_threads = mgk_blas.get_num_threads();
    mgk_blas.set_num_threads(work->source->count == 1 ? work->granted : 1);
    omp_init_lock(&work->lock);
    snprintf(work->table->settings.method, sizeof(work->table->settings.method), "%s",
             factors                     ? mgk_rank_method_name(MGK_METHOD_FACTORS)
             : work->options->count_only ? "count"
             : work->options->bisection  ? mgk_rank_method_name(MGK_METHOD_BISECTION)
             : batches                   ? mgk_rank_method_name(MGK_METHOD_AUGMENTED)
                                         : mgk_rank_method_name(MGK_METHOD_SVD));
    if (batches)
        mgk_rank_by_batches(work);
    else
        mgk_rank_by_threads(work);
    omp_destroy_lock(&work->lock);
    mgk_blas.set_num_threads(blas_threads);
}

mgk_status mgk_rank_run(const mgk_source *source, const mgk_rank_run_options *options,
                        mgk_rank_table *table)
{
    mgk_rank_work work = {.source = source,
                          .options = options,
                          .task = {.threshold_count = options->threshold_count,
                                   .thresholds = options->thresholds,
                                   .relative = options->relative,
                                   .count_only = options->count_only && !options->keep_spectra},
                          .table = table,
                          .failed_row = SIZE_MAX};
    *table = (mgk_rank_table){0};
    TRY(check_options(options));
    TRY(count_threads(&work));
    mgk_status status = mgk_rank_table_make(options->threshold_count, options->thresholds,
                                            options->keep_spectra ? source->n_max : 0, table);
    if (status == STATUS_OK && options->journal)
        status = mgk_journal_read(options->journal, options->input, source, table, &work.known);
    if (status == STATUS_OK) {
        table->settings.relative = options->relative;
        compute(&work);
        if (work.status != STATUS_OK)
            status = mgk_fail(work.status, "%s", work.message);
    }
    if (status != STATUS_OK)
        mgk_rank_table_free(table);
    mgk_free(work.known);
    return status;
}
