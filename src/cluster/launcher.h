/* SPDX-License-Identifier: MIT */
/* How mpirun and srun tell a process that it is one of several. */
#ifndef MGK_CLUSTER_LAUNCHER_H
#define MGK_CLUSTER_LAUNCHER_H

#include <stdbool.h>

#include "cluster/transport.h"

/*
 * Whether the environment says that several processes were started together, and which of them this
 * one is. MGK_CLUSTER=off in the environment: false, for programs that a process of another MPI
 * program starts.
 */
bool mgk_launched(int *rank, int *size);

/* Loads libmgk_mpi and joins the processes. STATUS_USAGE: another MGK_CLUSTER. STATUS_DEVICE: the
 * library cannot be loaded, or its MPI knows another number of processes than the environment. */
mgk_status mgk_launched_join(mgk_transport **out);

#endif
