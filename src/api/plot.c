/* SPDX-License-Identifier: MIT */
/* mgk_plot_picture: draws one picture from files. */
#include "plot/plot.h"

#include "api/api.h"
#include "base/file.h"
#include "plot/options.h"
#include "plots/canvas/canvas.h"
#include "run/arguments.h"
#include "run/files.h"
#include "run/job.h"

void mgk_plot_options_init(mgk_plot_options *options, size_t size)
{
    const mgk_plot_options defaults = {.kind = MGK_PLOT_ATTENTION, .sample = -1};
    mgk_api_init(options, size, &defaults, sizeof(defaults));
}

static bool is_performer(const mgk_plot_options *o, int figure)
{
    return o->kind == MGK_PLOT_PERFORMER && o->figure == figure;
}

static bool is_signed(const mgk_plot_options *o)
{
    return is_performer(o, 2) || o->kind == MGK_PLOT_WEIGHTS || o->kind == MGK_PLOT_KEYS ||
           (o->kind == MGK_PLOT_FIGURE && (o->figure == 11 || o->figure == 12));
}

/* Pictures from files of mgk-diversity. */
static bool is_of_measures(const mgk_plot_options *o)
{
    return o->kind >= MGK_PLOT_HEADS && o->kind <= MGK_PLOT_MIXTURE;
}

static mgk_status set_picture(const mgk_plot_options *o, mgk_picture_options *picture)
{
    *picture = is_signed(o) ? mgk_picture_signed_defaults() : mgk_picture_defaults();
    if (o->colors)
        TRY(mgk_colormap_parse(o->colors, &picture->colormap));
    if (o->scale)
        TRY(mgk_scaling_parse(o->scale, &picture->scaling));
    if (o->pooling)
        TRY(mgk_pooling_parse(o->pooling, &picture->pooling));
    if (o->panel < 0)
        return mgk_fail(STATUS_USAGE, "panels of %d pixels: expected at least 1", o->panel);
    if (!o->scale && (is_of_measures(o) || is_performer(o, 13)))
        picture->scaling = SCALING_LINEAR;
    picture->panel = (size_t)o->panel;
    picture->title = o->title;
    picture->force = o->job.force;
    picture->range_per_panel = o->separate;
    /* The published figures count from 1. */
    picture->count_from = o->from_one || o->kind == MGK_PLOT_FIGURE;
    return STATUS_OK;
}

static void set_texts(mgk_plot *plot)
{
    const mgk_plot_options *o = plot->options;
    size_t count = 0;
    plot->texts[count++] = (mgk_text_pair){"Software", "mgk " MGK_VERSION};
    if (o->job.command)
        plot->texts[count++] = (mgk_text_pair){"Command", o->job.command};
    if (o->title)
        plot->texts[count++] = (mgk_text_pair){"Title", o->title};
    plot->picture.texts = plot->texts;
    plot->picture.text_count = count;
}

static mgk_status check_options(const mgk_plot_options *o)
{
    TRY(mgk_check_names("inputs", o->inputs, o->input_count));
    TRY(mgk_check_names("names", o->names, o->name_count));
    TRY(mgk_plot_check_options(o));
    if (o->labels_file && o->matrix && !o->words)
        return mgk_fail(STATUS_USAGE, "one matrix alone has no room for labels");
    if ((o->first != 0 || o->last != 0) && (o->first < 0 || o->last <= o->first))
        return mgk_fail(STATUS_USAGE, "range %d:%d: expected A:B with 0 <= A < B", o->first,
                        o->last);
    if (o->tokens < 0)
        return mgk_fail(STATUS_USAGE, "%d tokens: expected at least 1", o->tokens);
    return STATUS_OK;
}

/* Any input but a table may be a model. */
static mgk_status claim_files(const mgk_plot_options *o, mgk_claims *claims)
{
    const bool logs = o->kind == MGK_PLOT_FIGURE &&
                      (o->figure == 1 || o->figure == 4 || o->figure == 9 || o->figure == 10);
    bool tables =
        logs || o->kind == MGK_PLOT_RANKS || o->kind == MGK_PLOT_CURVES || is_of_measures(o);
    for (size_t i = 0; i < o->input_count; i++)
        TRY(tables ? mgk_claims_add_input(claims, o->inputs[i])
                   : mgk_files_model(claims, o->inputs[i]));
    TRY(mgk_files_list(claims, &o->labels_file, o->labels_file != NULL));
    TRY(mgk_files_list(claims, &o->mask, o->mask != NULL));
    TRY(mgk_claims_add_output(claims, o->output));
    TRY(mgk_files_lock(claims, &o->job));
    return mgk_output_check(o->output, o->job.force);
}

static mgk_status draw_kind(mgk_plot *plot)
{
    const mgk_plot_options *o = plot->options;
    switch (o->kind) {
    case MGK_PLOT_ATTENTION:
        return o->columns > 0 ? mgk_plot_sheet(plot) : mgk_plot_heatmaps(plot);
    case MGK_PLOT_WEIGHTS:
    case MGK_PLOT_KEYS:
        return mgk_plot_heatmaps(plot);
    case MGK_PLOT_RANKS:
        return o->sweep ? mgk_plot_sweeps(plot) : mgk_plot_histograms(plot);
    case MGK_PLOT_CURVES:
        return mgk_plot_curves(plot);
    case MGK_PLOT_COST:
        return mgk_plot_cost(plot);
    case MGK_PLOT_FIGURE:
        return mgk_plot_figure(plot);
    case MGK_PLOT_HEADS:
        return mgk_plot_heads(plot);
    case MGK_PLOT_DEPTH:
        return mgk_plot_depth(plot);
    case MGK_PLOT_PAIRS:
        return mgk_plot_pairs(plot);
    case MGK_PLOT_ROLES:
        return mgk_plot_roles(plot);
    case MGK_PLOT_COMPARE:
        return mgk_plot_compare(plot);
    case MGK_PLOT_PRUNE:
        return mgk_plot_prune(plot);
    case MGK_PLOT_MAP:
        return mgk_plot_map(plot);
    case MGK_PLOT_MIXTURE:
        return mgk_plot_mixture(plot);
    case MGK_PLOT_PERFORMER:
        return mgk_plot_performer(plot);
    }
    return mgk_fail(STATUS_USAGE, "no such kind of picture");
}

mgk_status mgk_api_draw_svg(const mgk_plot_options *options, const mgk_diversity_set *const *sets,
                            FILE *svg)
{
    mgk_plot plot = {.options = options, .sets = sets};
    TRY(set_picture(options, &plot.picture));
    plot.picture.svg = svg;
    return draw_kind(&plot);
}

static mgk_status draw(const mgk_plot_options *o)
{
    mgk_plot plot = {.options = o};
    mgk_claims claims = {0};
    TRY(check_options(o));
    TRY(mgk_job_check(&o->job));
    TRY(set_picture(o, &plot.picture));
    set_texts(&plot);
    TRY(mgk_text_check_room());
    mgk_status status = claim_files(o, &claims);
    if (status == STATUS_OK)
        status = draw_kind(&plot);
    mgk_plot_close(&plot);
    mgk_claims_release(&claims);
    return status;
}

mgk_result mgk_plot_picture(const mgk_plot_options *options)
{
    mgk_plot_options o = mgk_plot_options_default();
    mgk_status status = mgk_api_take(options, sizeof(o), &o);
    if (status == STATUS_OK)
        status = draw(&o);
    return mgk_api_result(status);
}
