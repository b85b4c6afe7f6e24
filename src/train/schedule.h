/* The learning rate as a function of the step. */
#ifndef MGK_TRAIN_SCHEDULE_H
#define MGK_TRAIN_SCHEDULE_H

#include <stdint.h>

#include "base/status.h"

typedef enum mgk_decay {
    MGK_DECAY_LINEAR,   /* to 0 one step after the last */
    MGK_DECAY_CONSTANT, /* none */
    MGK_DECAY_COSINE    /* half a cosine, to 0 one step after the last */
} mgk_decay;

/* "linear", "constant" or "cosine"; STATUS_USAGE otherwise. */
mgk_status mgk_decay_from_name(const char *name, mgk_decay *decay);

/*
 * Rate of step 1 … steps: linear over the first `warmup` steps, of which the last has `peak`; the
 * step after it has `peak` again, and from there the decay. The last step still moves: the decay
 * reaches 0 one step after it.
 */
double mgk_schedule_rate(mgk_decay decay, double peak, int64_t warmup, int64_t steps, int64_t step);

#endif
