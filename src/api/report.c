/* SPDX-License-Identifier: MIT */
/* mgk_write_report: a page about measures and matrices. */
#include "report/report.h"

#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "base/file.h"
#include "plots/canvas/canvas.h"
#include "run/arguments.h"
#include "run/files.h"
#include "run/job.h"

void mgk_report_options_init(mgk_report_options *options, size_t size)
{
    const mgk_report_options defaults = {.samples = 0};
    mgk_api_init(options, size, &defaults, sizeof(defaults));
}

static mgk_status check_options(const mgk_report_options *o)
{
    if (o->input_count == 0 || !o->output)
        return mgk_fail(STATUS_USAGE, "an input and an output file are needed");
    TRY(mgk_check_names("inputs", o->inputs, o->input_count));
    const char *ending = strrchr(mgk_file_name(o->output), '.');
    if (!ending || (strcasecmp(ending, ".html") != 0 && strcasecmp(ending, ".htm") != 0))
        return mgk_fail(STATUS_USAGE, "%s: expected a name ending in .html", o->output);
    if (o->samples < 0)
        return mgk_fail(STATUS_USAGE, "%d samples: expected at least 1", o->samples);
    if (o->tokens < 0)
        return mgk_fail(STATUS_USAGE, "%d tokens: expected at least 1", o->tokens);
    return mgk_job_check(&o->job);
}

static mgk_status claim_files(const mgk_report_options *o, mgk_claims *claims)
{
    TRY(mgk_files_list(claims, o->inputs, o->input_count));
    TRY(mgk_claims_add_output(claims, o->output));
    TRY(mgk_files_lock(claims, &o->job));
    return mgk_output_check(o->output, o->job.force);
}

static mgk_status write_report(const mgk_report_options *options)
{
    mgk_report_options o = mgk_report_options_default();
    mgk_claims claims = {0};
    TRY(mgk_api_take(options, sizeof(o), &o));
    TRY(check_options(&o));
    TRY(mgk_text_check_room());
    mgk_status status = claim_files(&o, &claims);
    if (status == STATUS_OK)
        status = mgk_report_write(&o, mgk_api_draw_svg);
    mgk_claims_release(&claims);
    return status;
}

mgk_result mgk_write_report(const mgk_report_options *options)
{
    return mgk_api_result(write_report(options));
}
