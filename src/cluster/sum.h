/* SPDX-License-Identifier: MIT */
/*
 * Sums over the processes of a cluster that do not depend on how messages travel: each process
 * receives one of equal parts of all arrays, adds them in the order of ranks, in float64, and sends
 * the sum to all. So all have the same bits.
 */
#ifndef MGK_CLUSTER_SUM_H
#define MGK_CLUSTER_SUM_H

#include "cluster/cluster.h"

typedef struct mgk_summation mgk_summation;

/* Prepares sums; not collective. Release with mgk_summation_free. STATUS_MEMORY. */
mgk_status mgk_summation_create(const mgk_cluster *cluster, mgk_summation **out);
void mgk_summation_free(mgk_summation *summation); /* NULL is accepted */

/* Collective: replaces values [count], on the host, of float32 (`element` 4) or float64 (8), by
 * their sums over all processes, which have as many. */
mgk_status mgk_summation_run(mgk_summation *summation, size_t element, size_t count, void *values);

#endif
