/* SPDX-License-Identifier: MIT */
/*
 * Work that the processes of a cluster share: units 0 to count − 1, samples mostly. A process takes
 * the next few whenever it has none, in ascending order; so a faster one takes more, and long units
 * are balanced. What the work yields is delivered to rank 0. A thread of rank 0 hands out and
 * receives meanwhile.
 */
#ifndef MGK_CLUSTER_SHARE_H
#define MGK_CLUSTER_SHARE_H

#include "cluster/cluster.h"

typedef struct mgk_share mgk_share;

typedef struct mgk_share_options {
    size_t first, count; /* units first to count − 1; known to rank 0 */
    size_t most;         /* units taken at a time at most; at least 1 */
    /* Rank 0: receives each delivery, by one thread at a time. A failure ends the work. */
    mgk_status (*receive)(void *state, const void *bytes, size_t size);
    /* Rank 0, by the thread that ends the share: called while it waits for the others. NULL: not
     * called. */
    void (*wait)(void *state);
    void *state;
} mgk_share_options;

/* Collective: begins to share, in all processes or in none. STATUS_MEMORY. */
mgk_status mgk_share_begin(mgk_cluster *cluster, const mgk_share_options *options, mgk_share **out);

/* Takes units *begin to *end − 1; *begin = *end: none is left, or a process has failed. By one
 * thread at a time. */
mgk_status mgk_share_take(mgk_share *share, size_t *begin, size_t *end);

/* *out: a process has failed, so that the units at hand are in vain. Cheap: another process than
 * rank 0 learns of it a tenth of a second late, and then knows it. By the threads that take, one at
 * a time. */
mgk_status mgk_share_stopped(mgk_share *share, bool *out);

/* Delivers bytes [size] to rank 0; any thread. */
mgk_status mgk_share_deliver(mgk_share *share, const void *bytes, size_t size);

/* Rank 0: the number of deliveries so far. */
size_t mgk_share_delivered(mgk_share *share);

/* Collective: waits until all have ended, releases the share, and agrees on the status: `own`, that
 * of this process's work. After a failure of one, the others take no more. */
mgk_status mgk_share_end(mgk_share *share, mgk_status own);

#endif
