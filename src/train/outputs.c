#include "train/outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static bool same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* After hours of training it would be too late to learn that a folder is missing. */
static mgk_status check_writable(const char *path)
{
    mgk_output output;
    TRY(mgk_output_open(path, true, &output));
    mgk_output_discard(&output);
    return STATUS_OK;
}

static mgk_status check_model(const mgk_train_run *run, const mgk_train_settings *s)
{
    if (!s->force && !s->resume && exists(s->output))
        return mgk_fail(STATUS_EXISTS, "%s: exists (use --force to overwrite it)", s->output);
    if (!s->force && s->resume && exists(s->output) && !mgk_run_wrote(run, s->output))
        return mgk_fail(STATUS_EXISTS,
                        "%s: exists and is not the model of the run to continue (use --force to "
                        "overwrite it)",
                        s->output);
    return check_writable(s->output);
}

static mgk_status check_state(const mgk_train_settings *s)
{
    bool continued = s->resume && same_file(s->resume, s->checkpoint);
    if (!s->force && !continued && exists(s->checkpoint))
        return mgk_fail(STATUS_EXISTS,
                        "%s: the state of an earlier run exists (use --resume to continue it or "
                        "--force to overwrite it)",
                        s->checkpoint);
    return check_writable(s->checkpoint);
}

mgk_status mgk_outputs_check(const mgk_train_run *run, const mgk_train_settings *settings)
{
    TRY(check_model(run, settings));
    return check_state(settings);
}
