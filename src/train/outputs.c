#include "train/outputs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static mgk_status check_model(const mgk_train_run *run, const mgk_train_settings *s)
{
    bool own;
    if (s->force || !mgk_exists(s->output))
        return STATUS_OK;
    if (!s->resume)
        return mgk_fail(STATUS_EXISTS, "%s: exists (use `force` to overwrite it)", s->output);
    TRY(mgk_train_run_wrote(run, s->output, &own));
    if (!own)
        return mgk_fail(STATUS_EXISTS,
                        "%s: exists and is not the model of the run to continue (use `force` to "
                        "overwrite it)",
                        s->output);
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
    TRY(check_model(run, settings));
    TRY(mgk_output_check(settings->output, true));
    return mgk_output_check(settings->checkpoint, true);
}
