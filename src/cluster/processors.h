/* SPDX-License-Identifier: MIT */
/* The processors of a machine, shared by its processes. */
#ifndef MGK_CLUSTER_PROCESSORS_H
#define MGK_CLUSTER_PROCESSORS_H

#include "cluster/cluster.h"

/*
 * Collective: makes the default number of threads that of the processors that this process may use,
 * divided by those that use them, too: mpirun binds processes to some of them, or to none. Does
 * nothing where OMP_NUM_THREADS is set.
 */
mgk_status mgk_processors_share(const mgk_cluster *cluster);

#endif
