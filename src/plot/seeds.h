/* SPDX-License-Identifier: MIT */
/* Runs that differ in their seed alone, told by the names of their files. */
#ifndef MGK_PLOT_SEEDS_H
#define MGK_PLOT_SEEDS_H

#include <stddef.h>

#include "base/status.h"

/*
 * Copies a path without the words "seed" that a number follows, with or without one of "-_=."
 * before it, and without the separator in front of them: "runs/mgk-seed3.csv" and
 * "runs/mgk_seed-12.csv" become "runs/mgk.csv", "seed3/mgk.csv" becomes "/mgk.csv". Release with
 * mgk_free.
 */
mgk_status mgk_seeds_strip(const char *path, char **out);

/*
 * Numbers the groups of paths that are the same without their seeds, in the order in which they
 * come: group [count] receives the number of each path, names [count] the path of each group
 * without seeds, which the caller releases with mgk_free. *groups is their number.
 */
mgk_status mgk_seeds_group(const char *const *paths, size_t count, size_t *group, char **names,
                           size_t *groups);

#endif
