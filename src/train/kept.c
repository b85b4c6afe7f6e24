/* SPDX-License-Identifier: MIT */
#include "train/kept.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* Each has a lock while the run lasts, and a process may open about 1000 files. */
enum { KEPT_MOST = 256 };

mgk_status mgk_kept_check(const mgk_train_settings *s)
{
    if (s->keep_every < 1 || (s->steps - 1) / s->keep_every <= KEPT_MOST - 2)
        return STATUS_OK;
    return mgk_fail(STATUS_USAGE,
                    "models of every %lld of %lld steps to keep: expected at most %d models",
                    (long long)s->keep_every, (long long)s->steps, KEPT_MOST);
}

int64_t mgk_kept_after(const mgk_train_settings *s, int64_t step)
{
    if (s->keep_every < 1 || step >= s->steps)
        return -1;
    if (step < 0)
        return 0;
    const int64_t ahead = s->keep_every - step % s->keep_every;
    return ahead < s->steps - step ? step + ahead : s->steps;
}

bool mgk_kept(const mgk_train_settings *settings, int64_t step)
{
    return mgk_kept_after(settings, step - 1) == step;
}

mgk_status mgk_kept_path(const mgk_train_settings *s, int64_t step, char **out)
{
    static const char usual[] = ".safetensors";
    const size_t length = strlen(s->output), tail = sizeof(usual) - 1;
    const bool ends = length > tail && strcmp(s->output + length - tail, usual) == 0;
    const size_t stem = ends ? length - tail : length, room = length + 64;
    const int digits = snprintf(NULL, 0, "%lld", (long long)s->steps);
    TRY(mgk_alloc(room, 1, out));
    snprintf(*out, room, "%.*s.step-%0*lld%s", (int)stem, s->output, digits > 6 ? digits : 6,
             (long long)step, s->output + stem);
    return STATUS_OK;
}
