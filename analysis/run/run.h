/* Ranks of every matrix a source hands out: one matrix a thread, or in batches on a device. */
#ifndef MGK_ANALYSIS_RANK_RUN_H
#define MGK_ANALYSIS_RANK_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "analysis/run/journal.h"
#include "analysis/run/source.h"
#include "analysis/table/rank_table.h"
#include "kernels/backend.h"

typedef struct mgk_rank_run_options {
    size_t threshold_count;
    const double *thresholds; /* [threshold_count], each above 0; the caller's */
    bool relative;            /* thresholds are multiples of each matrix's sigma_1 */
    bool keep_spectra;        /* fill in table.spectra, [R, n_max of the source] */
    /*
     * Ranks are all that is wanted. Singular values are computed only where counting them cannot
     * decide, for relative thresholds and for spectra that are kept; otherwise what is made from
     * all of them is NaN, and sigma_max, stable_rank and `nearest` are found by themselves
     * (landmarks.h), but not of small matrices on a device. Which matrices are computed may differ
     * from run to run, their ranks do not.
     */
    bool count_only;
    bool allow_zero_rows; /* rows of zeros count as any others; otherwise they end the run */
    bool bisection;       /* the device's own kernels compute spectra (kernels/backend.h) */
    int threads;          /* 0: as many as OpenMP gives */
    /*
     * Bytes that the threads of the host may take for the matrices under way: each takes several
     * times a matrix, so that there are fewer threads where matrices are large. 0: any number. With
     * `memory_is_most` a single thread that takes more is an error, otherwise it works alone.
     */
    size_t memory;
    bool memory_is_most;
    mgk_device *device; /* if an accelerator, it computes spectra; NULL: the threads do */

    /*
     * Gets each matrix that is finished; those of input number `input` that it holds already are
     * not computed again, for which the source's count is needed. NULL: none.
     */
    mgk_journal *journal;
    size_t input;

    /* The run ends with STATUS_INTERRUPTED soon after *cancel is not 0; NULL: never. */
    const volatile sig_atomic_t *cancel;

    /*
     * Called after each matrix, by one thread at a time, with the number done and the
     * source's count (0 unknown); also while a batch is gathered. NULL: not called.
     */
    void (*progress)(void *progress_state, size_t done, size_t count);
    /* Called by the calling thread before the first matrix, where `memory` allows fewer threads
     * than would count. NULL: not called. */
    void (*limited)(void *progress_state, int threads, int wanted);
    void *progress_state;
} mgk_rank_run_options;

/*
 * Pulls matrices from the source until it ends and measures each: *table holds them in
 * the order of the source, whatever the number of threads, and is the caller's to free;
 * settings.method and settings.relative are filled in. A source of matrices on a device needs an
 * accelerator. Memory: a few matrices a thread, or with an accelerator a batch of up to 1 GiB there
 * (of matrices that take two steps two for each thread, if that is more) and, where the source
 * fills the host's memory, as much in it; and the table. Matrices that come as factors are counted
 * by their singular values on the host, whatever the options say. BLAS runs single-threaded in the
 * whole process meanwhile, but for a single matrix, and for what is left to the host where a device
 * counts large ones.
 * On failure the table is empty. STATUS_USAGE: a threshold is not above 0, or repeated, or
 * bisection without a device that has it; STATUS_MEMORY; STATUS_NUMERIC, and STATUS_UNSUPPORTED for
 * a row of zeros: the message names sample, layer and head; whatever the source and the journal
 * say.
 */
mgk_status mgk_rank_run(const mgk_source *source, const mgk_rank_run_options *options,
                        mgk_rank_table *table);

#endif
