/* SPDX-License-Identifier: MIT */
/* A run over some samples of a source, while other processes take the others. */
#ifndef MGK_ANALYSIS_PART_H
#define MGK_ANALYSIS_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct mgk_run_part {
    /* Sets *taken if this run computes the sample, by position, and *over if it computes no more.
     * Asked in ascending order, possibly several times, when the matrices of the sample are named.
     */
    mgk_status (*takes)(void *state, size_t sample, bool *taken, bool *over);
    void *state;
    /* Matrices named ahead at most: what is named is taken, and others cannot compute it. */
    size_t ahead;
} mgk_run_part;

#endif
