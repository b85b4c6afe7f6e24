/* SPDX-License-Identifier: MIT */
/* Ranks of every matrix of a source: one matrix per thread, or in batches on a device. */
#ifndef MGK_ANALYSIS_RANK_RUN_H
#define MGK_ANALYSIS_RANK_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "analysis/run/journal.h"
#include "analysis/run/part.h"
#include "analysis/run/source.h"
#include "analysis/table/rank_table.h"
#include "kernels/backend.h"

typedef struct mgk_rank_run_options {
    size_t threshold_count;
    const double *thresholds; /* [threshold_count], each above 0; owned by the caller */
    bool relative;            /* thresholds are multiples of each matrix's sigma_1 */
    bool keep_spectra;        /* fill table.spectra, [R, n_max of the source] */
    /*
     * Only ranks are requested. Singular values are computed only where counting cannot decide, for
     * relative thresholds, and for spectra that are kept. Otherwise measures of all singular values
     * are NaN; sigma_max, stable_rank and `nearest` are computed separately (landmarks.h), but not
     * for small matrices on a device. The choice of these matrices may differ between runs; ranks
     * do not.
     */
    bool count_only;
    bool allow_zero_rows; /* accept rows of zeros; otherwise they end the run */
    bool bisection;       /* the device's own kernels compute the spectra (kernels/backend.h) */
    int threads;          /* 0: OpenMP's default */
    /*
     * Bytes for the matrices in progress on the host's threads. Each thread takes several matrices,
     * so large matrices mean fewer threads. 0: no limit. With `memory_is_most` it is an error if a
     * single thread takes more; otherwise one thread works alone.
     */
    size_t memory;
    bool memory_is_most;
    mgk_device *device; /* an accelerator computes the spectra; else (or NULL) the threads do */

    /*
     * Receives each finished matrix. Matrices of input number `input` that it already holds are not
     * computed again; this needs source->count. NULL: no journal.
     */
    mgk_journal *journal;
    size_t input;

    /*
     * Other processes compute other matrices of the source; NULL: this run computes all. Then the
     * table is not complete: what the run has computed is in the journal, which holds nothing
     * before.
     */
    const mgk_run_part *part;
    const bool *known; /* [count of the source], matrices that no process computes; NULL: none */

    /* If *cancel becomes non-zero, the run ends soon with STATUS_INTERRUPTED; NULL: never. */
    const volatile sig_atomic_t *cancel;

    /*
     * Called after each matrix, by one thread at a time, with the number of finished matrices and
     * the source's count (0: unknown); also while a batch is gathered. NULL: not called.
     */
    void (*progress)(void *progress_state, size_t done, size_t count);
    /*
     * Called by the calling thread before the first matrix if `memory` allows fewer threads than
     * wanted. NULL: not called.
     */
    void (*limited)(void *progress_state, int threads, int wanted);
    void *progress_state;
} mgk_rank_run_options;

/*
 * Measures all matrices of the source. *table holds them in the order of the source for any number
 * of threads, with settings.method and settings.relative; release it with mgk_rank_table_free. A
 * source of matrices on a device needs an accelerator.
 *
 * Memory: the table, and a few matrices per thread; or with an accelerator a batch of up to 1 GiB
 * on the device (for two steps, and where threads count large matrices, two matrices per thread, if
 * that is more), and as much on the host if the source writes there. Matrices with factors are
 * always counted from their singular values, on the host. Meanwhile BLAS uses one thread in the
 * whole process, except for a single matrix, and where a single thread counts large matrices of a
 * device.
 *
 * On failure the table is empty. STATUS_USAGE: a threshold is not above 0, or repeated, or
 * bisection without a device that has it; STATUS_MEMORY; STATUS_NUMERIC, and STATUS_UNSUPPORTED for
 * a row of zeros: the message names sample, layer and head; and the errors of the source and the
 * journal.
 */
mgk_status mgk_rank_run(const mgk_source *source, const mgk_rank_run_options *options,
                        mgk_rank_table *table);

/*
 * The table of runs that have put all matrices of the source into the options' journal, as
 * mgk_rank_run would return it. STATUS_FORMAT: the journal lacks one, or has another one;
 * STATUS_MEMORY; STATUS_IO.
 */
mgk_status mgk_rank_read(const mgk_source *source, const mgk_rank_run_options *options,
                         mgk_rank_table *table);

#endif
