/* SPDX-License-Identifier: MIT */
#include "run/target.h"

#include <string.h>

void mgk_target_shift(const mgk_config *config, int32_t *ids, int32_t *next, int32_t *length)
{
    const size_t n = (size_t)*length;
    if (n == 0)
        return;
    const int32_t last = ids[n - 1], start = config->start < 0 ? last : config->start;
    const bool begun = config->start >= 0 && ids[0] == start && n > 1;
    if (next)
        memcpy(next, ids + begun, (n - begun) * sizeof(*ids));
    if (begun) {
        ids[n - 1] = -1;
        if (next)
            next[n - 1] = -1;
        --*length;
        return;
    }
    memmove(ids + 1, ids, (n - 1) * sizeof(*ids));
    ids[0] = start;
}
