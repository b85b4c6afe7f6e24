/* SPDX-License-Identifier: MIT */
/* The learning rate as a function of the step, and β₁ where it changes with the rate. */
#ifndef MGK_TRAIN_SCHEDULE_H
#define MGK_TRAIN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef enum mgk_decay {
    MGK_DECAY_LINEAR,   /* to 0 one step after the last */
    MGK_DECAY_CONSTANT, /* no decay */
    MGK_DECAY_COSINE,   /* half a cosine, to 0 one step after the last */
    /*
     * The paper's language models (Nguyen et al. 2022): step 1 has the peak, steps 2, 3, … of the
     * warm-up 1/W, 2/W, … of it, and half a cosine over all steps, of which the warm-up hides the
     * first ones.
     */
    MGK_DECAY_COSINE_FROM_0,
    /*
     * OneCycleLR of PyTorch (Smith and Topin 2019): from 1/25 of the peak in step 1 to the peak in
     * the last step W of the warm-up, then to 1/250,000 of the peak in the last step; β₁ goes from
     * 0.95 to 0.85 and back. Both by lines, or by half cosines.
     */
    MGK_DECAY_ONE_CYCLE,
    MGK_DECAY_ONE_CYCLE_COSINE
} mgk_decay;

/* Finds "linear", "constant", "cosine", "cosine-from-0", "one-cycle" or "one-cycle-cosine";
 * STATUS_USAGE for other names. */
mgk_status mgk_decay_from_name(const char *name, mgk_decay *decay);

/*
 * The rate of step 1 … steps: it rises linearly to `peak` over the first `warmup` steps, is `peak`
 * again in the next step, and decays from there. The decay reaches 0 one step after the last, so
 * the last step still has an effect. Published schedules differ as said above.
 */
double mgk_schedule_rate(mgk_decay decay, double peak, int64_t warmup, int64_t steps, int64_t step);

/* β₁ of step 1 … steps: `beta1`, unless the schedule has its own. */
double mgk_schedule_beta1(mgk_decay decay, double beta1, int64_t warmup, int64_t steps,
                          int64_t step);

#endif
