/* SPDX-License-Identifier: MIT */
/*
 * Threads of the host that count large matrices of one device at the same time. Counting a matrix
 * takes turns between the device and the host, so a single one would leave each idle while the
 * other works. Each counter has an open device of its own: its work runs concurrently with the
 * others'.
 */
#ifndef MGK_ANALYSIS_COUNTERS_H
#define MGK_ANALYSIS_COUNTERS_H

#include "analysis/counting/engine.h"
#include "kernels/backend.h"

/* The state of one thread. */
typedef struct mgk_counter {
    mgk_device *device;
    mgk_engine *engine;
    mgk_rank_count *counts; /* [thresholds], of one matrix */
} mgk_counter;

typedef struct mgk_counters {
    int count; /* at least 1 */
    mgk_counter *of;
} mgk_counters;

/*
 * At most `most` counters, for matrices up to n_max: fewer if together they would take more than
 * half of the device's free memory, or more than `memory` bytes of the host (0: no limit). The
 * first uses `device` itself, the others open the same processor again. The device has
 * shifted_inertia. STATUS_SHAPE, STATUS_MEMORY, STATUS_DEVICE. Close with mgk_counters_close before
 * the device.
 */
mgk_status mgk_counters_open(mgk_device *device, int most, size_t n_max, size_t thresholds,
                             size_t memory, mgk_counters *out);
void mgk_counters_close(mgk_counters *counters); /* zeros are accepted */

#endif
