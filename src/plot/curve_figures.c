/* SPDX-License-Identifier: MIT */
/*
 * Draws the published figures of training: above the loss, below the accuracy on held-out data or,
 * of language models, their perplexity; at the left models with exponential scores, at the right
 * linear ones.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "plot/runs.h"
#include "plots/charts/curve_grid.h"

enum { COLUMNS = 2, ROWS = 2 };

/* The curves of both rows in both columns. */
typedef struct figure {
    mgk_curve curves[COLUMNS][ROWS][MGK_GROUPS_MAX];
    size_t counts[COLUMNS];
    mgk_legend_entry legend[MGK_GROUPS_MAX];
    bool language_models;
} figure;

/* Whether the name of a log has one of the words "linear", "mlk" and "smlk". */
static bool is_linear(const char *path)
{
    static const char *const words[] = {"linear", "mlk", "smlk"};
    const char *name = mgk_file_name(path);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        for (const char *at = strstr(name, words[i]); at; at = strstr(at + 1, words[i])) {
            const bool begins = at == name || !isalpha((unsigned char)at[-1]);
            if (begins && !isalpha((unsigned char)at[strlen(words[i])]))
                return true;
        }
    return false;
}

static mgk_curve curve_of(const mgk_log_points *points, size_t group, bool band, bool markers)
{
    return (mgk_curve){.x = points->x,
                       .y = points->y,
                       .lower = band ? points->lower : NULL,
                       .upper = band ? points->upper : NULL,
                       .count = points->count,
                       .series = group,
                       .markers = markers};
}

/* Accuracies are drawn in percent, as the paper's are. */
static void make_percent(mgk_log_points *points)
{
    double *const arrays[] = {points->y, points->lower, points->upper};
    for (size_t a = 0; a < sizeof(arrays) / sizeof(arrays[0]); a++)
        for (size_t i = 0; i < points->count; i++)
            arrays[a][i] *= 100;
}

static mgk_status add_group(mgk_runs *runs, size_t g, figure *out)
{
    mgk_log_losses *of = &runs->means[g];
    const size_t column = is_linear(mgk_runs_path(runs, g)) ? 1 : 0, at = out->counts[column]++;
    mgk_log_points *quality = out->language_models ? &of->perplexity : &of->accuracy;
    const bool band = runs->groups < runs->count;
    if ((of->bits > 0) != out->language_models)
        return mgk_fail(
            STATUS_USAGE, "%s is the log of a %s, and %s of a %s: expected logs of one task",
            mgk_runs_path(runs, 0), out->language_models ? "language model" : "classifier",
            mgk_runs_path(runs, g), of->bits > 0 ? "language model" : "classifier");
    if (quality->count == 0)
        return mgk_fail(STATUS_FORMAT, "%s: no evaluation on held-out data",
                        mgk_runs_path(runs, g));
    if (!out->language_models)
        make_percent(quality);
    out->curves[column][0][at] = curve_of(&of->train, g, band, false);
    out->curves[column][1][at] = curve_of(quality, g, band, true);
    out->legend[g] = (mgk_legend_entry){mgk_runs_title(runs, g), mgk_series_color(g),
                                        (mgk_legend_key)(KEY_MARKER + g)};
    return STATUS_OK;
}

static mgk_status draw(figure *f, size_t groups, mgk_plot *plot)
{
    const char *const names[] = {"softmax and MGK", "linear and MLK"};
    const char *titles[COLUMNS] = {""};
    char means[32] = "";
    const char *const notes[ROWS] = {means, ""};
    mgk_curves plots[ROWS * COLUMNS];
    size_t columns = 0, used = 0;
    for (size_t c = 0; c < COLUMNS; c++)
        columns += f->counts[c] > 0;
    if (plot->options->smooth > 1)
        snprintf(means, sizeof(means), "means of %d points", plot->options->smooth);
    for (size_t c = 0; c < COLUMNS; c++) {
        if (f->counts[c] == 0)
            continue;
        if (columns > 1)
            titles[used] = names[c];
        for (size_t r = 0; r < ROWS; r++)
            plots[r * columns + used] =
                (mgk_curves){.curves = f->curves[c][r],
                             .count = f->counts[c],
                             .x_label = "training step",
                             .y_label = r == 0               ? "training loss (nats)"
                                        : f->language_models ? "held-out perplexity"
                                                             : "held-out accuracy (%)",
                             .log_y = r == 1 && f->language_models};
        used++;
    }
    const mgk_curve_grid grid = {.plots = plots,
                                 .rows = ROWS,
                                 .columns = columns,
                                 .row_notes = notes,
                                 .column_titles = titles};
    return mgk_draw_curve_grids(&grid, 1, f->legend, groups, &plot->picture, plot->options->output);
}

mgk_status mgk_plot_curve_figure(mgk_plot *plot)
{
    mgk_status status;
    mgk_runs runs;
    figure f = {.counts = {0}};
    CHECK(mgk_runs_read(plot->options, true, &runs));
    f.language_models = runs.means[0].bits > 0;
    for (size_t g = 0; g < runs.groups; g++)
        CHECK(add_group(&runs, g, &f));
    CHECK(draw(&f, runs.groups, plot));
out:
    mgk_runs_free(&runs);
    return status;
}
