/* SPDX-License-Identifier: MIT */
#include "plot/runs.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "plot/seeds.h"

void mgk_runs_free(mgk_runs *runs)
{
    for (size_t i = 0; runs->logs && i < runs->count; i++)
        mgk_log_losses_free(&runs->logs[i]);
    for (size_t i = 0; runs->names && i < runs->count; i++)
        mgk_free(runs->names[i]);
    for (size_t g = 0; g < MGK_GROUPS_MAX; g++)
        mgk_log_losses_free(&runs->means[g]);
    mgk_free(runs->logs);
    mgk_free(runs->group);
    mgk_free(runs->names);
}

static mgk_status group_logs(bool seeds, mgk_runs *runs)
{
    TRY(mgk_alloc(runs->count, sizeof(*runs->group), &runs->group));
    runs->groups = runs->count;
    for (size_t i = 0; i < runs->count; i++)
        runs->group[i] = i;
    if (!seeds)
        return STATUS_OK;
    TRY(mgk_alloc(runs->count, sizeof(*runs->names), &runs->names));
    return mgk_seeds_group(runs->options->inputs, runs->count, runs->group, runs->names,
                           &runs->groups);
}

mgk_status mgk_runs_read(const mgk_plot_options *options, bool seeds, mgk_runs *out)
{
    *out = (mgk_runs){.options = options, .count = options->input_count};
    if (options->smooth < 0)
        return mgk_fail(STATUS_USAGE, "`smooth` %d: expected 0 or more", options->smooth);
    TRY(group_logs(seeds, out));
    TRY(mgk_plot_check_names(options, out->groups));
    TRY(mgk_alloc(out->count, sizeof(*out->logs), &out->logs));
    for (size_t i = 0; i < out->count; i++)
        TRY(mgk_log_losses_read(options->inputs[i], &out->logs[i]));
    for (size_t g = 0; g < out->groups; g++) {
        mgk_status status =
            mgk_log_losses_mean(out->logs, out->group, out->count, g, &out->means[g]);
        if (status != STATUS_OK)
            return mgk_fail_prefix(status, mgk_runs_path(out, g));
        const size_t points = out->means[g].train.count;
        if (points > 0 && (size_t)options->smooth > points)
            return mgk_fail(STATUS_USAGE, "%s: %zu training %s, fewer than `smooth` %d",
                            mgk_runs_path(out, g), points, MGK_NOUN(points, "loss", "losses"),
                            options->smooth);
        if (options->smooth > 0)
            TRY(mgk_log_losses_smooth(&out->means[g], (size_t)options->smooth));
    }
    return STATUS_OK;
}

const char *mgk_runs_path(const mgk_runs *runs, size_t group)
{
    return runs->names ? runs->names[group] : runs->options->inputs[group];
}

const char *mgk_runs_title(mgk_runs *runs, size_t group)
{
    char title[MGK_PLOT_TITLE], *out = runs->titles[group];
    size_t seeds = 0;
    for (size_t i = 0; i < runs->count; i++)
        seeds += runs->group[i] == group;
    mgk_plot_file_title(mgk_runs_path(runs, group), title);
    const char *name = mgk_plot_name(runs->options, group, title);
    if (seeds == 1)
        return name == title ? strcpy(out, title) : name;
    snprintf(out, sizeof(runs->titles[group]), "%.60s, %zu seeds", name, seeds);
    return out;
}
