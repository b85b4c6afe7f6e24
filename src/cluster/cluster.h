/* SPDX-License-Identifier: MIT */
/*
 * Processes that share a job: each calls the same functions with the same options. What one of them
 * cannot do fails in all, so that none waits for another in vain. A NULL cluster is this process
 * alone.
 */
#ifndef MGK_CLUSTER_CLUSTER_H
#define MGK_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "cluster/transport.h"

typedef struct mgk_cluster {
    mgk_transport *transport;
    struct mgk_verdict *verdicts; /* [size], of mgk_cluster_agree */
    unsigned *flags;              /* [size], of mgk_cluster_or */
} mgk_cluster;

/* Joins the processes that were started with this one; *out is NULL if it is alone. STATUS_DEVICE:
 * see mgk_launched_join. Leave with mgk_cluster_leave. */
mgk_status mgk_cluster_join(mgk_cluster **out);

/* Makes the arrays of a cluster of so many processes, in any case released with
 * mgk_cluster_release. STATUS_MEMORY. */
mgk_status mgk_cluster_prepare(mgk_cluster *cluster, int size);
void mgk_cluster_release(mgk_cluster *cluster);

/* Collective. NULL is accepted. */
void mgk_cluster_leave(mgk_cluster *cluster);

/* 0 to size − 1. Rank 0 reads and writes what exists once: outputs, their locks, the terminal. */
static inline int mgk_cluster_rank_of(const mgk_cluster *cluster)
{
    return cluster ? cluster->transport->rank : 0;
}

static inline int mgk_cluster_size_of(const mgk_cluster *cluster)
{
    return cluster ? cluster->transport->size : 1;
}

/* The processes of this machine, among which its memory is divided. */
static inline int mgk_cluster_neighbours(const mgk_cluster *cluster)
{
    return cluster ? cluster->transport->local_size : 1;
}

/* The number of this process among them. */
static inline int mgk_cluster_place(const mgk_cluster *cluster)
{
    return cluster ? cluster->transport->local_rank : 0;
}

static inline bool mgk_cluster_leads(const mgk_cluster *cluster)
{
    return mgk_cluster_rank_of(cluster) == 0;
}

/* Collective: STATUS_OK if all processes pass it; otherwise one of their failures in all of them,
 * with its rank and machine, unless all say the same. */
mgk_status mgk_cluster_agree(const mgk_cluster *cluster, mgk_status own);

/* Collective: *any is the union of the flags of all processes. */
mgk_status mgk_cluster_or(const mgk_cluster *cluster, unsigned own, unsigned *any);

/* Collective: STATUS_USAGE in all if a process has another hash of what it reads than rank 0,
 * `other` in the message: "another model". */
mgk_status mgk_cluster_compare(const mgk_cluster *cluster, const char *other, uint64_t hash);

/* Collective: all [processes, size] receives `own` [size] of each. */
mgk_status mgk_cluster_gather(const mgk_cluster *cluster, const void *own, size_t size, void *all);

/* Collective: bytes [size] of rank 0 replace those of the others. */
mgk_status mgk_cluster_broadcast(const mgk_cluster *cluster, void *bytes, size_t size);

/* Collective: the largest value of the processes replaces each of values [count]; NaN is larger
 * than numbers. STATUS_MEMORY. */
mgk_status mgk_cluster_maximum(const mgk_cluster *cluster, double *values, size_t count);

#endif
