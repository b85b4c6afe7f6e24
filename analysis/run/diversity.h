/* SPDX-License-Identifier: MIT */
/* Measures of attention diversity of every sample of a source, in one walk over its groups. */
#ifndef MGK_ANALYSIS_DIVERSITY_RUN_H
#define MGK_ANALYSIS_DIVERSITY_RUN_H

#include <signal.h>

#include "analysis/run/part.h"
#include "analysis/run/record.h"
#include "analysis/run/source.h"

typedef struct mgk_diversity_run_options {
    const mgk_record_layout *layout; /* of the source's layers and heads */
    double threshold;                /* of ranks, above 0 */
    bool relative;                   /* it is a multiple of each matrix's sigma_1 */
    bool allow_zero_rows; /* leave rows of zeros out of measures; otherwise they end the run */
    int threads;          /* 0: OpenMP's default */
    /* Bytes for matrices in progress and the workspaces of threads; 0: no limit. With
     * `memory_is_most` it is an error if the least that works takes more. */
    size_t memory;
    bool memory_is_most;
    size_t held;     /* bytes that the source takes besides, which messages count with `memory` */
    size_t finished; /* the first samples of the source, which are not computed */
    const mgk_run_part *part; /* other processes compute other samples; NULL: all are computed */

    /* If *cancel becomes non-zero, the run ends soon with STATUS_INTERRUPTED; NULL: never. */
    const volatile sig_atomic_t *cancel;

    /* Receives the record of each sample, in the order of the source; `sample` is its position. A
     * failure ends the run. */
    mgk_status (*receive)(void *state, size_t sample, double *record);
    /* Called by the calling thread with the number of finished matrices. NULL: not called. */
    void (*progress)(void *state, size_t done);
    /* Called before the first matrix if `memory` allows fewer threads than wanted. NULL: not
     * called. */
    void (*limited)(void *state, int threads, int wanted);
    void *state;
} mgk_diversity_run_options;

/*
 * Measures all matrices of the source, which are on the host; measures of pairs, of outputs and of
 * neighbouring layers need whole groups. Values do not depend on the number of threads. BLAS uses
 * one thread in the whole process meanwhile.
 *
 * Memory: some matrices, at least those of one group where measures need whole groups, and those of
 * all layers of a sample across layers; a workspace for each thread; the records of some samples.
 * It does not grow with the number of samples.
 *
 * STATUS_NUMERIC: an entry is not finite; STATUS_UNSUPPORTED: a row of zeros: the message names
 * sample, layer and head. STATUS_MEMORY. STATUS_INTERRUPTED. The errors of the source and of
 * `receive`.
 */
mgk_status mgk_diversity_run(const mgk_source *source, const mgk_diversity_run_options *options);

/* The importance that a measure is, a bit of MGK_IMPORTANCE_BIT; 0: none. */
unsigned mgk_measure_importance(const mgk_measure *measure);

/* Whether the measures need whole groups of heads. */
bool mgk_measures_need_groups(const mgk_measure *const *measures, size_t count);

/* The union of what the measures need, and those that they are made of. */
unsigned mgk_measures_needs(const mgk_measure *const *measures, size_t count);

/* The vectors that such needs name: a bit set of MGK_VECTORS_BIT. */
unsigned mgk_measures_vectors(unsigned needs);

#endif
