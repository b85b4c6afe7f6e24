/* SPDX-License-Identifier: MIT */
/* A cluster whose processes are threads of this one: its transport is a post office in memory. */
#ifndef MGK_TESTS_CLUSTER_THREADS_H
#define MGK_TESTS_CLUSTER_THREADS_H

#include "cluster/cluster.h"

enum { TEST_RANKS = 8 };

/* Runs `work` in `size` threads, each with its own cluster; cmocka's assertions belong to the
 * thread that calls this, so `work` leaves its results in `context`. */
void test_run_cluster(int size, void (*work)(mgk_cluster *cluster, void *context), void *context);

#endif
