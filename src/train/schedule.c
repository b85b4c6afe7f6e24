/* SPDX-License-Identifier: MIT */
#include "train/schedule.h"

#include <math.h>
#include <string.h>

mgk_status mgk_decay_from_name(const char *name, mgk_decay *decay)
{
    static const char *const names[] = {"linear", "constant", "cosine"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *decay = (mgk_decay)i;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_USAGE, "schedule \"%s\": expected linear, constant or cosine", name);
}

double mgk_schedule_rate(mgk_decay decay, double peak, int64_t warmup, int64_t steps, int64_t step)
{
    const double pi = 3.14159265358979323846;
    if (step <= warmup)
        return peak * (double)step / (double)warmup;
    double progress = (double)(step - 1 - warmup) / (double)(steps - warmup);
    switch (decay) {
    case MGK_DECAY_LINEAR:
        return peak * (1 - progress);
    case MGK_DECAY_COSINE:
        return peak * 0.5 * (1 + cos(pi * progress));
    case MGK_DECAY_CONSTANT:
        break;
    }
    return peak;
}
