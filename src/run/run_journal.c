/* SPDX-License-Identifier: MIT */
#include "run/run_journal.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static mgk_status name_journal(const char *output, char **path)
{
    const size_t room = strlen(output) + sizeof(MGK_JOURNAL_ENDING);
    TRY(mgk_alloc(room, 1, path));
    snprintf(*path, room, "%s" MGK_JOURNAL_ENDING, output);
    return STATUS_OK;
}

mgk_status mgk_run_journal_claim(const char *output, mgk_claims *claims)
{
    char *path;
    TRY(name_journal(output, &path));
    mgk_status status = mgk_claims_add_output(claims, path);
    mgk_free(path);
    return status;
}

mgk_status mgk_run_journal_open(const char *output, const mgk_job *job, bool resume,
                                const char *settings, size_t line_bytes, mgk_journal **out)
{
    const mgk_journal_start start = resume       ? MGK_JOURNAL_RESUME
                                    : job->force ? MGK_JOURNAL_REPLACE
                                                 : MGK_JOURNAL_REFUSE;
    char *path;
    *out = NULL;
    TRY(name_journal(output, &path));
    mgk_status status = settings ? mgk_journal_open(path, start, settings, line_bytes, out)
                                 : mgk_fail(STATUS_MEMORY, "%s: no memory", path);
    mgk_free(path);
    return status;
}

mgk_status mgk_run_journal_close(mgk_journal *journal, bool resumable, mgk_status status)
{
    const bool keep = resumable && status != STATUS_OK && status != STATUS_NUMERIC;
    const bool left = mgk_journal_close(journal, keep);
    if (left && status == STATUS_INTERRUPTED)
        mgk_fail(status, "%s; continue with `resume`", mgk_fail_message());
    return status;
}
