/* SPDX-License-Identifier: MIT */
/* Measures the samples of an input, by one process or by several. */
#ifndef MGK_DIVERSITY_TOGETHER_H
#define MGK_DIVERSITY_TOGETHER_H

#include "analysis/run/diversity.h"
#include "run/sources.h"

/*
 * Runs mgk_diversity_run on the input, whose name failures tell. The processes of a cluster call it
 * together, with the options that one process has, `progress` and `limited` among them, and without
 * `part`: each measures some of the samples on its `device`. Rank 0 receives the records of all in
 * the order of the samples, and its progress counts the matrices of all.
 */
mgk_status mgk_diversity_measure(mgk_cluster *cluster, const mgk_source_input *input,
                                 const mgk_device *device,
                                 const mgk_diversity_run_options *options);

#endif
