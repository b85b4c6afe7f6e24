/* SPDX-License-Identifier: MIT */
/* One call of mgk_measure_diversity: its inputs, and what is known of them so far. */
#ifndef MGK_DIVERSITY_MEASURING_H
#define MGK_DIVERSITY_MEASURING_H

#include <signal.h>

#include "base/claims.h"
#include "diversity/diversity.h"

typedef struct mgk_measuring {
    const mgk_diversity_options *options;
    mgk_device *device;         /* the host: measures are computed there */
    const mgk_measure **chosen; /* [chosen_count] */
    size_t chosen_count;
    mgk_job silent;             /* that of the options, without reports */
    mgk_source_options sources; /* of several models the one that is opened */
    mgk_source_input open;      /* the one input that is open; zeroed: none */
    mgk_source_input joined[2]; /* descriptions of two inputs as one; zeroed: they are not */
    char *both;                 /* their name */
    mgk_measured *measured;     /* the inputs were measured before; NULL: they were not */
    mgk_source_input *inputs;   /* [count], descriptions */
    mgk_diversity_part *parts;  /* [count] */
    mgk_diversity_comparison *comparisons; /* [count − 1]; NULL: none */
    mgk_diversity_facts *facts;            /* [count] */
    size_t count, current;                 /* part number `current` is being measured */
    mgk_journal *journal;                  /* NULL without an output */
    mgk_claims claims;
    mgk_warnings warnings;
    size_t before, done, total;    /* matrices: of finished inputs, of the current one, of all */
    volatile sig_atomic_t stopped; /* the watcher asked to stop */
    size_t resumed; /* samples of the current input that an interrupted run has finished */
} mgk_measuring;

/* Reports a note. */
void mgk_measuring_tell(const mgk_measuring *m, const char *note);

/* Reports what the table repeats. */
void mgk_measuring_warn(mgk_measuring *m, const char *note);

/* ---- inputs.c -------------------------------------------------------------------------------- */

/* Counts the inputs, and describes each; the only one stays open. STATUS_USAGE: options that
 * contradict each other or the inputs; STATUS_MEMORY; the errors of opening and reading them. */
mgk_status mgk_measuring_find_inputs(mgk_measuring *m);

/* Opens an input for work, unless it is open. Its remarks have been reported. Fails if the input
 * has changed. */
mgk_status mgk_measuring_open_again(mgk_measuring *m, size_t i);

/* Closes and releases all that the inputs have; a zeroed `m` is accepted. */
void mgk_measuring_close_inputs(mgk_measuring *m);

/* ---- differences.c --------------------------------------------------------------------------- */

/* Compares all inputs, which are measured, with the first, if the options ask for it.
 * STATUS_INTERRUPTED; STATUS_MEMORY. */
mgk_status mgk_measuring_compare(mgk_measuring *m);

#endif
