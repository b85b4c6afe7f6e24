/*
 * A matrix source: where analysis gets its matrices from. The attention store is
 * one, a running model another, an array file a third; analysis knows only this.
 */
#ifndef MGK_ANALYSIS_SOURCE_H
#define MGK_ANALYSIS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/counting/float_format.h"
#include "base/status.h"
#include "kernels/backend.h"

/* One attention matrix: the valid block, without padding. */
typedef struct mgk_matrix {
    size_t sample, layer, head;
    size_t n; /* valid tokens; may be 0 */
    /* [n, n], rows are queries, packed: entry (i, j) is data[i n + j]. From a source with a depth d
       [2, n, d] instead: L and, behind it, R of A = L R', not negative. */
    double *data;
} mgk_matrix;

typedef struct mgk_source {
    size_t n_max;            /* no matrix is larger than this */
    size_t count;            /* matrices in all, for progress; 0 where it is not known */
    size_t depth;            /* above 0: matrices come as two factors of so many columns */
    mgk_float_format format; /* the coarsest format the entries are known to have passed through */
    /*
     * Whose memory matrices are put into. Once that device has been synchronized they are there,
     * for other devices that are open on the same processor, too; until `next` is called, these
     * must be done with what they do there. NULL: the host's memory, as always where there is a
     * depth.
     */
    mgk_device *device;

    /*
     * Fills in the next matrix, or sets *end and leaves the matrix alone.
     * `matrix->data` is the caller's, has room for [n_max, n_max] (see `device`) or [2, n_max,
     * depth], and may be overwritten by the caller afterwards; where it is NULL the matrix is
     * passed over: sample, layer and head are told, n where that takes no computing, and nothing
     * else. Called by one thread at a time, but not always by the same one. A failure ends the run;
     * its message names the file.
     */
    mgk_status (*next)(void *state, mgk_matrix *matrix, bool *end);

    void *state; /* first argument of `next`; belongs to whoever made the source */
} mgk_source;

#endif
