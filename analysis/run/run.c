/* SPDX-License-Identifier: MIT */
#include "analysis/run/run.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/run/rank_journal.h"
#include "analysis/run/work.h"
#include "base/cores.h"
#include "base/memory.h"
#include "kernels/blas.h"

static mgk_status check_options(const mgk_rank_run_options *options)
{
    for (size_t t = 0; t < options->threshold_count; t++)
        if (!(options->thresholds[t] > 0) || !isfinite(options->thresholds[t]))
            return mgk_fail(STATUS_USAGE, "threshold %g, expected a number above 0",
                            options->thresholds[t]);
    if (options->bisection && !(options->device && options->device->op->spectral->bisected_values))
        return mgk_fail(STATUS_USAGE, "method \"bisection\": expected a GPU (`device` cuda)");
    /* In files, a repeated threshold marks the next matrix. */
    for (size_t t = 1; t < options->threshold_count && t < MGK_THRESHOLDS_MAX; t++)
        for (size_t before = 0; before < t; before++)
            if (options->thresholds[before] == options->thresholds[t])
                return mgk_fail(STATUS_USAGE, "threshold %g is there twice",
                                options->thresholds[t]);
    return STATUS_OK;
}

/*
 * Sets `granted`, the threads that may multiply concurrently, and `threads`, those with matrices.
 */
static mgk_status count_threads(mgk_rank_work *work)
{
    const int wanted = work->options->threads > 0 ? work->options->threads : mgk_default_threads();
    const size_t matrices = work->source->count;
    TRY(mgk_blas_open());
    TRY(mgk_blas_reserve(wanted, &work->granted));
    work->threads =
        matrices > 0 && matrices < (size_t)work->granted ? (int)matrices : work->granted;
    return STATUS_OK;
}

/* Whether a device computes spectra, in batches: factors are cheaper on the host than the transfer.
 */
static bool uses_batches(const mgk_source *source, const mgk_rank_run_options *options)
{
    const mgk_device *device = options->device;
    return device && device->accelerator && source->depth == 0 && !source->cross;
}

static void name_method(const mgk_source *source, const mgk_rank_run_options *options,
                        mgk_rank_settings *settings)
{
    snprintf(settings->method, sizeof(settings->method), "%s",
             source->depth > 0                ? mgk_rank_method_names[MGK_METHOD_FACTORS]
             : options->count_only            ? "count"
             : !uses_batches(source, options) ? mgk_rank_method_names[MGK_METHOD_SVD]
             : options->bisection             ? mgk_rank_method_names[MGK_METHOD_BISECTION]
                                              : mgk_rank_method_names[MGK_METHOD_AUGMENTED]);
    settings->relative = options->relative;
}

/*
 * Matrices, and the parts of a model's products, already fill the cores: BLAS threads of every
 * worker would compete for the cores and for OpenBLAS's single thread pool.
 */
static void compute(mgk_rank_work *work)
{
    int blas_threads = mgk_blas.get_num_threads();
    mgk_blas.set_num_threads(1);
    omp_init_lock(&work->lock);
    if (uses_batches(work->source, work->options))
        mgk_rank_by_batches(work);
    else
        mgk_rank_by_threads(work);
    mgk_rank_work_close_rounds(work);
    omp_destroy_lock(&work->lock);
    mgk_blas.set_num_threads(blas_threads);
}

static mgk_status read_journal(const mgk_source *source, const mgk_rank_run_options *options,
                               mgk_rank_table *table, bool **known)
{
    return options->journal
               ? mgk_rank_journal_read(options->journal, options->input, source, table, known)
               : STATUS_OK;
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
    bool *own = NULL;
    *table = (mgk_rank_table){0};
    TRY(check_options(options));
    TRY(count_threads(&work));
    mgk_status status = mgk_rank_table_make(options->threshold_count, options->thresholds,
                                            options->keep_spectra ? source->n_max : 0, table);
    if (status == STATUS_OK)
        status = options->part ? mgk_rank_table_reserve(table, source->count)
                               : read_journal(source, options, table, &own);
    work.known = options->part ? options->known : own;
    if (status == STATUS_OK) {
        name_method(source, options, &table->settings);
        compute(&work);
        if (work.status != STATUS_OK)
            status = mgk_fail(work.status, "%s", work.message);
    }
    if (status != STATUS_OK)
        mgk_rank_table_free(table);
    mgk_free(own);
    return status;
}

mgk_status mgk_rank_read(const mgk_source *source, const mgk_rank_run_options *options,
                         mgk_rank_table *table)
{
    bool *known = NULL;
    mgk_status status;
    *table = (mgk_rank_table){0};
    CHECK(mgk_rank_table_make(options->threshold_count, options->thresholds,
                              options->keep_spectra ? source->n_max : 0, table));
    CHECK(mgk_rank_journal_read(options->journal, options->input, source, table, &known));
    for (size_t i = 0; i < source->count && status == STATUS_OK; i++)
        if (!known || !known[i])
            status = mgk_fail(STATUS_FORMAT, "the journal lacks matrix %zu", i);
    table->row_count = source->count;
    name_method(source, options, &table->settings);
out:
    if (status != STATUS_OK)
        mgk_rank_table_free(table);
    mgk_free(known);
    return status;
}
