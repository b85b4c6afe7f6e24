/* SPDX-License-Identifier: MIT */
#include "train/outputs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "train/kept.h"

static mgk_status check_overwriting(const mgk_train_run *run, const mgk_train_settings *s,
                                    const char *path)
{
    bool own;
    if (s->force || !mgk_exists(path))
        return STATUS_OK;
    if (!s->resume)
        return mgk_fail(STATUS_EXISTS, "%s: exists (use `force` to overwrite it)", path);
    TRY(mgk_train_run_wrote(run, path, &own));
    if (!own)
        return mgk_fail(STATUS_EXISTS,
                        "%s: exists and is not the model of the run to continue (use `force` to "
                        "overwrite it)",
                        path);
    return STATUS_OK;
}

static mgk_status check_model(const mgk_train_run *run, const mgk_train_settings *s,
                              const char *path)
{
    TRY(check_overwriting(run, s, path));
    return mgk_output_check(path, true);
}

/* Checks the models that the run will keep; a resumed one has kept those before. */
static mgk_status check_kept(const mgk_train_run *run, const mgk_train_settings *s)
{
    for (int64_t step = mgk_kept_after(s, s->resume ? run->step : -1); step >= 0;
         step = mgk_kept_after(s, step)) {
        char *path;
        TRY(mgk_kept_path(s, step, &path));
        mgk_status status = check_model(run, s, path);
        mgk_free(path);
        TRY(status);
    }
    return STATUS_OK;
}

static mgk_status check_state(const mgk_train_settings *s)
{
    bool continued = s->resume && mgk_is_same_file(s->resume, s->checkpoint);
    if (!s->force && !continued && mgk_exists(s->checkpoint))
        return mgk_fail(
            STATUS_EXISTS,
            "%s: the state of an interrupted run: continue it by `resume` %s, or lose it "
            "by `force`",
            s->checkpoint, s->checkpoint);
    return STATUS_OK;
}

mgk_status mgk_outputs_finish(const mgk_train_settings *settings)
{
    if (unlink(settings->checkpoint) == 0 || errno == ENOENT)
        return STATUS_OK;
    return mgk_fail(STATUS_IO, "%s: cannot remove the state of the finished run: %s",
                    settings->checkpoint, strerror(errno));
}

/*
 * Checks before training, since a missing folder after hours would be too late. The state is
 * checked before the model: a user who only hears of the model would use `force`, and lose the
 * state of an interrupted run.
 */
mgk_status mgk_outputs_check(const mgk_train_run *run, const mgk_train_settings *settings)
{
    TRY(check_state(settings));
    TRY(check_model(run, settings, settings->output));
    TRY(check_kept(run, settings));
    return mgk_output_check(settings->checkpoint, true);
}
