/* SPDX-License-Identifier: MIT */
/* Hierarchical clustering of heads by their distances. */
#ifndef MGK_ANALYSIS_LINKAGE_H
#define MGK_ANALYSIS_LINKAGE_H

#include <stddef.h>

#include "base/status.h"

/* Cluster number n + k joins two earlier clusters; those below n are single heads. */
typedef struct mgk_merge {
    size_t first, second; /* the first holds the head with the lowest number of both */
    double height;        /* mean distance between the heads of the one and of the other */
} mgk_merge;

/*
 * Average linkage (Sokal and Michener 1958) of n >= 1 heads with distances [n, n], symmetric and
 * finite: merges [n - 1], and order [n], the heads as the tree lists them, in which no lines cross.
 * Takes n^2 steps and memory. STATUS_MEMORY.
 */
mgk_status mgk_average_linkage(size_t n, const double *distances, mgk_merge *merges, size_t *order);

#endif
