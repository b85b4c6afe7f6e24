/* SPDX-License-Identifier: MIT */
/* The learning rate as a function of the step. */
#ifndef MGK_TRAIN_SCHEDULE_H
#define MGK_TRAIN_SCHEDULE_H

#include <stdint.h>

#include "base/status.h"

typedef enum mgk_decay {
    MGK_DECAY_LINEAR,   /* to 0 one step after the last */
    MGK_DECAY_CONSTANT, /* no decay */
    MGK_DECAY_COSINE    /* half a cosine, to 0 one step after the last */
} mgk_decay;

/* Finds "linear", "constant" or "cosine"; STATUS_USAGE for other names. */
mgk_status mgk_decay_from_name(const char *name, mgk_decay *decay);

/*
 * The rate of step 1 … steps: it rises linearly to `peak` over the first `warmup` steps, is `peak`
 * again in the next step, and decays from there. The decay reaches 0 one step after the last, so
 * the last step still has an effect.
 */
double mgk_schedule_rate(mgk_decay decay, double peak, int64_t warmup, int64_t steps, int64_t step);

#endif
