/*
 * A source of attention matrices. An attention store is one, a running model another, an array
 * file a third; analysis knows only this.
 *
 * Matrices come in groups: heads of one sample and layer. A group is named by `next`, prepared by
 * `prepare`, and its matrices are copied by `take`.
 */
#ifndef MGK_ANALYSIS_SOURCE_H
#define MGK_ANALYSIS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/counting/float_format.h"
#include "base/status.h"
#include "kernels/backend.h"

/* Chosen heads of one sample and layer. All are positions in the source, from 0. */
typedef struct mgk_group {
    size_t sample, layer;
    const int32_t *heads; /* [count], ascending; the source's */
    size_t count;         /* at least 1 */
    size_t n;             /* valid tokens, may be 0; known once the group is prepared */
    size_t place;         /* for the source: where it keeps what it has prepared */
} mgk_group;

/* What a layer's matrices are made from, as its heads use it. */
typedef enum mgk_vectors { MGK_QUERIES, MGK_KEYS, MGK_VALUES } mgk_vectors;

typedef struct mgk_source {
    size_t n_max;            /* no matrix is larger than this */
    size_t count;            /* matrices in all, for progress; 0 where it is not known */
    size_t depth;            /* above 0: matrices come as two factors of so many columns */
    size_t dim, mixtures;    /* D and M of vectors; 0: it has none, or was not asked for them */
    size_t ahead;            /* matrices that it prepares at once at most; 0: any number */
    mgk_float_format format; /* the coarsest format the entries are known to have passed through */
    /* The model's numbers of the positions; NULL: the positions themselves. */
    const int32_t *samples, *layers, *heads;
    /*
     * The device whose memory `take` writes to. The matrices are there once that device has been
     * synchronized, for other devices that are open on the same processor, too; these must be done
     * with them when the next are taken to the same place. NULL: the host's memory, as always where
     * there is a depth.
     */
    mgk_device *device;

    /*
     * All functions fail with a message that names the file, and a failure ends the run. The first
     * two are called by one thread, outside of any parallel region.
     *
     * Names the next group, or sets *end and leaves the group alone. `most`, at least 1, is the
     * number of heads that the caller takes: a longer group comes in slices. Groups are ordered by
     * sample, then layer; heads ascend. Computes nothing, and sets group->n only where that is
     * known without computing.
     */
    mgk_status (*next)(void *state, size_t most, mgk_group *group, bool *end);

    /*
     * Computes what `take` needs for these groups, in the order in which they were named (some may
     * be left out), with all threads of the source, and sets n of each. They hold at most `ahead`
     * matrices together. Groups that were prepared before are lost. After a failure the first
     * *prepared groups can be taken.
     */
    mgk_status (*prepare)(void *state, mgk_group *groups, size_t count, size_t *prepared);

    /*
     * Puts matrix `which` of a prepared group into `data`, whose room is [n_max, n_max], or
     * [2, n_max, depth] where there is a depth. It is [n, n], rows are queries, packed: entry
     * (i, j) is data[i n + j]; with a depth [2, n, d]: L and, behind it, R of A = L R', not
     * negative. May be called by several threads at once, but by one where there is a device.
     */
    mgk_status (*take)(void *state, const mgk_group *group, size_t which, double *data);

    /*
     * Puts the vectors of a prepared group's heads into data: queries or values [count, n, D], keys
     * [count, M, n, D]. By one thread at a time, beside those that take matrices. NULL where there
     * are none.
     */
    mgk_status (*vectors)(void *state, const mgk_group *group, mgk_vectors which, double *data);

    void *state; /* first argument of the functions; belongs to whoever made the source */
} mgk_source;

#endif
