/* SPDX-License-Identifier: MIT */
/* The losses and accuracies in logs of mgk-train, of one run or of several that differ in their
 * seed. */
#ifndef MGK_PLOT_LOGS_H
#define MGK_PLOT_LOGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Points (step, loss or another quantity) of one run; of several at the steps that all have. Zeroed
 * is empty. */
typedef struct mgk_log_points {
    double *x, *y;         /* [count]; y is the mean */
    double *lower, *upper; /* [count]: the mean less, and plus, the standard deviation of runs */
    size_t count, rooms[4];
} mgk_log_points;

/* The losses of a log, in nats, and what else is held out. Zeroed is empty; release with
 * mgk_log_losses_free. */
typedef struct mgk_log_losses {
    mgk_log_points train, held_out;
    mgk_log_points accuracy, perplexity;
    double bits; /* per byte, of a nat of a target, by the log's evaluations; 0: not known, as of
                    classifiers */
} mgk_log_losses;

mgk_status mgk_log_losses_read(const char *path, mgk_log_losses *out);
void mgk_log_losses_free(mgk_log_losses *losses);

/* Makes losses in nats of a target, as they were read, bits per byte, which must be known. */
void mgk_log_losses_in_bits(mgk_log_losses *losses);

/* Makes training losses, and the bounds of several runs, means of `window` >= 1 points that lie one
 * beside the other, as many before as after, of an even number one more after; of fewer at the
 * ends.
 */
mgk_status mgk_log_losses_smooth(mgk_log_losses *losses, size_t window);

/*
 * The mean of those logs [count] whose group is `chosen`, and the standard deviation (of n − 1); of
 * a single log what it has. STATUS_SHAPE: they have no step in common.
 */
mgk_status mgk_log_losses_mean(const mgk_log_losses *logs, const size_t *group, size_t count,
                               size_t chosen, mgk_log_losses *out);

#endif
