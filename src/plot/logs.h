/* SPDX-License-Identifier: MIT */
/* The losses or accuracies in logs of mgk-train, of one run or of several that differ in their
 * seed. */
#ifndef MGK_PLOT_LOGS_H
#define MGK_PLOT_LOGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Points (step, value) of one run; of several at the steps that all have. Zeroed is empty. */
typedef struct mgk_log_points {
    double *x, *y;         /* [count]; y is the mean */
    double *lower, *upper; /* [count]: the mean less, and plus, the standard deviation of runs */
    size_t count, rooms[4];
} mgk_log_points;

/* The losses of a log, in nats of a target, or its accuracies, which are of held-out data alone.
 * Zeroed is empty; release with mgk_log_curves_free. */
typedef struct mgk_log_curves {
    mgk_log_points train, held_out;
    double bits; /* per byte that are a nat of a target, as in the log's evaluations; 0: unknown */
} mgk_log_curves;

mgk_status mgk_log_curves_read(const char *path, bool accuracy, mgk_log_curves *out);

/* Makes losses in nats of a target, as they were read, bits per byte, which must be known. */
void mgk_log_curves_in_bits(mgk_log_curves *losses);
void mgk_log_curves_free(mgk_log_curves *losses);

/*
 * The mean of those logs [count] whose group is `chosen`, and the standard deviation (of n − 1); of
 * a single log what it has. STATUS_SHAPE: they have no step in common.
 */
mgk_status mgk_log_curves_mean(const mgk_log_curves *logs, const size_t *group, size_t count,
                               size_t chosen, mgk_log_curves *out);

#endif
