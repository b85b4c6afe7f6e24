/* The learning rate as a function of the step. */
#ifndef MGK_TRAIN_SCHEDULE_H
#define MGK_TRAIN_SCHEDULE_H

#include <stdint.h>

#include "base/status.h"

typedef enum mgk_decay {
    MGK_DECAY_LINEAR,   /* to 0 at the last step */
    MGK_DECAY_CONSTANT, /* none */
    MGK_DECAY_COSINE    /* half a cosine, to 0 at the last step */
} mgk_decay;

/* "linear", "constant" or "cosine"; STATUS_USAGE otherwise. */
mgk_status mgk_decay_from_name(const char *name, mgk_decay *decay);

/*
 * Rate of step 1 … steps: linear from 0 over the first `warmup` steps to `peak`, then the decay.
 * The last step still moves: decay reaches 0 one step after it.
 */
double mgk_schedule_rate(mgk_decay decay, double peak, int64_t warmup, int64_t steps, int64_t step);

#endif
