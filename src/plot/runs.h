/* SPDX-License-Identifier: MIT */
/* Training logs as curves: each by itself, or the mean of those that differ in their seed. */
#ifndef MGK_PLOT_RUNS_H
#define MGK_PLOT_RUNS_H

#include "plot/logs.h"
#include "plot/plot.h"

/* Zeroed is empty; release with mgk_runs_free. */
typedef struct mgk_runs {
    const mgk_plot_options *options;
    size_t count;         /* of logs */
    mgk_log_losses *logs; /* [count] */
    size_t *group;        /* [count], the number of each log's group */
    char **names;         /* [count], those of groups are paths without seeds; NULL: their logs' */
    size_t groups;        /* at most MGK_GROUPS_MAX */
    mgk_log_losses means[MGK_GROUPS_MAX];
    char titles[MGK_GROUPS_MAX][MGK_PLOT_TITLE + 24];
} mgk_runs;

/*
 * Reads the inputs of a picture. With `seeds` those that differ in their seed are a group, else
 * each is one. Training losses are smoothed. STATUS_USAGE: too many groups, names for another
 * number of them, or a negative `smooth`; STATUS_SHAPE: logs of a group have no step in common.
 */
mgk_status mgk_runs_read(const mgk_plot_options *options, bool seeds, mgk_runs *out);
void mgk_runs_free(mgk_runs *runs);

/* The path of a group's log, without seeds where it has several. */
const char *mgk_runs_path(const mgk_runs *runs, size_t group);

/* The title of a group, with the number of its seeds. */
const char *mgk_runs_title(mgk_runs *runs, size_t group);

#endif
