/* SPDX-License-Identifier: MIT */
#include "train/schedule.h"

#include <math.h>

#include "base/names.h"

static const double pi = 3.14159265358979323846;

mgk_status mgk_decay_from_name(const char *name, mgk_decay *decay)
{
    static const char *const names[] = {"linear",        "constant",  "cosine",
                                        "cosine-from-0", "one-cycle", "one-cycle-cosine"};
    int index = 0;
    TRY(mgk_names_choose("schedule", name, names, sizeof(names) / sizeof(names[0]), &index));
    *decay = (mgk_decay)index;
    return STATUS_OK;
}

/* Whether β₁ changes with the rate. */
static bool cycles(mgk_decay decay)
{
    return decay == MGK_DECAY_ONE_CYCLE || decay == MGK_DECAY_ONE_CYCLE_COSINE;
}

static double between(mgk_decay decay, double from, double to, double progress)
{
    if (decay == MGK_DECAY_ONE_CYCLE)
        return from + (to - from) * progress;
    return to + (from - to) * 0.5 * (1 + cos(pi * progress));
}

/* A value that goes from `first` in step 1 to `middle` in step `warmup` and to `last` in the last
 * one. A warm-up of no step or of one has no way up: the first step comes after it, or is its end.
 */
static double cycle(mgk_decay decay, const double values[3], int64_t warmup, int64_t steps,
                    int64_t step)
{
    if (step <= warmup && warmup > 1)
        return between(decay, values[0], values[1], (double)(step - 1) / (double)(warmup - 1));
    return between(decay, values[1], values[2], (double)(step - warmup) / (double)(steps - warmup));
}

static double from_0(double peak, int64_t warmup, int64_t steps, int64_t step)
{
    const int64_t done = step - 1;
    if (done > 0 && done < warmup)
        return peak * (double)done / (double)warmup;
    return peak * 0.5 * (1 + cos(pi * (double)done / (double)steps));
}

double mgk_schedule_rate(mgk_decay decay, double peak, int64_t warmup, int64_t steps, int64_t step)
{
    const double cycled[3] = {peak / 25, peak, peak / 25 / 1e4};
    if (cycles(decay))
        return cycle(decay, cycled, warmup, steps, step);
    if (decay == MGK_DECAY_COSINE_FROM_0)
        return from_0(peak, warmup, steps, step);
    if (step <= warmup)
        return peak * (double)step / (double)warmup;
    double progress = (double)(step - 1 - warmup) / (double)(steps - warmup);
    if (decay == MGK_DECAY_LINEAR)
        return peak * (1 - progress);
    return decay == MGK_DECAY_COSINE ? peak * 0.5 * (1 + cos(pi * progress)) : peak;
}

double mgk_schedule_beta1(mgk_decay decay, double beta1, int64_t warmup, int64_t steps,
                          int64_t step)
{
    static const double cycled[3] = {0.95, 0.85, 0.95};
    return cycles(decay) ? cycle(decay, cycled, warmup, steps, step) : beta1;
}
