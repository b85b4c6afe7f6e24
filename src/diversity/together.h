/* SPDX-License-Identifier: MIT */
/* Measures the samples of an input, by one process or by several. */
#ifndef MGK_DIVERSITY_TOGETHER_H
#define MGK_DIVERSITY_TOGETHER_H

#include "analysis/run/diversity.h"
#include "run/sources.h"

/*
 * Runs mgk_diversity_run on the input, whose name failures tell. A cluster does it together:
 * collective, with the options of one process, `progress` and `limited` among them, and no `part`;
 * each process measures some of the
 * samples on its `device`, and rank 0 receives the records of all, in the order of the samples. Its
 * progress counts the matrices of all.
 */
mgk_status mgk_diversity_measure(mgk_cluster *cluster, const mgk_source_input *input,
                                 const mgk_device *device,
                                 const mgk_diversity_run_options *options);

#endif
