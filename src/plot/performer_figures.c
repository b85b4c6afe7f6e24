/* SPDX-License-Identifier: MIT */
/* Draws figures 2 and 4 of the Performers' paper, whose numbers need no file. */
#include <math.h>
#include <stdio.h>

#include "base/arena.h"
#include "plot/measures.h"
#include "plot/performer.h"
#include "plots/charts/curve_grid.h"
#include "plots/figures/performer.h"
#include "run/job.h"

/* ---- 2: trigonometric and positive estimates of the softmax kernel --------------------------- */

/* Half of the domain [-pi, pi] x [-2, 2], in cells; the rest is symmetric. Values are those in the
 * middle of cells, since the errors of one or the other map vanish at angles 0 and pi. */
enum { ANGLES = 64, LENGTHS = 48, SLICE = 160 };
static const double longest = 2, slice_length = 1;

static void middles(double end, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = end * ((double)i + 0.5) / (double)count;
}

static mgk_status fill_kernel(mgk_device *device, const mgk_job *job, double *ratio,
                              mgk_performer2_input *out)
{
    double angles[SLICE], lengths[LENGTHS], trigonometric[SLICE], positive[SLICE];
    middles(acos(-1), ANGLES, angles);
    middles(longest, LENGTHS, lengths);
    for (size_t l = 0; l < LENGTHS; l++) {
        if (mgk_job_stopped(job))
            return mgk_fail(STATUS_INTERRUPTED, "interrupted");
        TRY(mgk_performer_kernel_errors(device, lengths[l], angles, ANGLES, trigonometric,
                                        positive));
        for (size_t a = 0; a < ANGLES; a++)
            ratio[l * ANGLES + a] = trigonometric[a] / positive[a];
    }
    middles(acos(-1), SLICE, out->slice_angles);
    return mgk_performer_kernel_errors(device, slice_length, out->slice_angles, SLICE,
                                       out->trigonometric, out->positive);
}

static mgk_status draw_kernel(mgk_plot *plot)
{
    mgk_status status;
    mgk_device *device = NULL;
    mgk_arena arena = {0};
    double *ratio;
    mgk_performer2_input input = {.angles = ANGLES,
                                  .lengths = LENGTHS,
                                  .longest = longest,
                                  .slice_count = SLICE,
                                  .slice_length = slice_length};
    CHECK(mgk_arena_alloc(&arena, ANGLES * LENGTHS, sizeof(double), &ratio));
    CHECK(mgk_arena_alloc(&arena, SLICE, sizeof(double), &input.slice_angles));
    CHECK(mgk_arena_alloc(&arena, SLICE, sizeof(double), &input.trigonometric));
    CHECK(mgk_arena_alloc(&arena, SLICE, sizeof(double), &input.positive));
    CHECK(mgk_performer_open(&plot->options->job, &device));
    CHECK(fill_kernel(device, &plot->options->job, ratio, &input));
    input.ratio = ratio;
    mgk_plot_set_title(plot, "Estimates of the softmax kernel exp(x·y) by random features", "");
    CHECK(mgk_performer2(&input, &plot->picture, plot->options->output));
out:
    mgk_device_close(device);
    mgk_arena_free(&arena);
    return status;
}

/* ---- 4: error of the output against the number of random vectors ----------------------------- */

enum { TOKENS = 4096, DIM = 16, DRAWS = 15, FEWEST = 16, SIZES = 7, LINES = 4, PANELS = 2 };

/* Of queries and keys, in each panel: q / d^(1/4), the kernel's x, has a length of about 1, or 2.
 * Where errors of trigonometric features are large, see figure 2, depends on it. */
static const double deviations[PANELS] = {0.5, 1};
static const char *const panel_titles[PANELS][1] = {
    {"queries and keys about 2 long; divided by ⁴√D: 1"},
    {"queries and keys about 4 long; divided by ⁴√D: 2"}};

/* A line of a panel: median and quartiles over draws. */
typedef struct error_line {
    double lower[SIZES], median[SIZES], upper[SIZES];
} error_line;

typedef struct error_panel {
    double vectors[SIZES];
    error_line lines[LINES];
    double square[SIZES]; /* of the exact output, mean; one number */
    mgk_curve curves[LINES + 1];
} error_panel;

static const struct {
    const char *label;
    int map, draw;
} lines[LINES] = {
    {"positive, orthogonal", MGK_CHOICE_POSITIVE, MGK_DRAW_ORTHOGONAL},
    {"positive, iid", MGK_CHOICE_POSITIVE, MGK_DRAW_IID},
    {"trigonometric, orthogonal", MGK_CHOICE_TRIGONOMETRIC, MGK_DRAW_ORTHOGONAL},
    {"trigonometric, iid", MGK_CHOICE_TRIGONOMETRIC, MGK_DRAW_IID},
};

static mgk_status measure_line(const mgk_performer_problem *problem, const mgk_job *job, size_t l,
                               error_panel *out)
{
    error_line *line = &out->lines[l];
    for (size_t i = 0; i < SIZES; i++) {
        double errors[DRAWS], quartiles[3];
        const int vectors = FEWEST << i;
        if (mgk_job_stopped(job))
            return mgk_fail(STATUS_INTERRUPTED, "interrupted");
        TRY(mgk_performer_output_errors(problem, lines[l].map, lines[l].draw, vectors, errors));
        mgk_plot_sort_quartiles(errors, DRAWS, quartiles);
        out->vectors[i] = vectors;
        line->lower[i] = quartiles[0];
        line->median[i] = quartiles[1];
        line->upper[i] = quartiles[2];
    }
    out->curves[l + 1] = (mgk_curve){.x = out->vectors,
                                     .y = line->median,
                                     .lower = line->lower,
                                     .upper = line->upper,
                                     .count = SIZES,
                                     .series = l,
                                     .markers = true};
    return STATUS_OK;
}

static double mean_square(const mgk_performer_problem *problem)
{
    const size_t count = (size_t)TOKENS * DRAWS * DIM;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += problem->exact[i] * problem->exact[i];
    return sum / (double)count;
}

static mgk_status measure_panel(mgk_device *device, const mgk_job *job, double deviation,
                                error_panel *out)
{
    mgk_status status;
    mgk_performer_problem problem;
    TRY(mgk_performer_problem_open(device, DRAWS, TOKENS, DIM, deviation, job->seed, &problem));
    for (size_t l = 0; l < LINES; l++)
        CHECK(measure_line(&problem, job, l, out));
    for (size_t i = 0; i < SIZES; i++)
        out->square[i] = mean_square(&problem);
    /* The first curve, below all others. */
    out->curves[0] = (mgk_curve){.x = out->vectors,
                                 .y = out->square,
                                 .count = SIZES,
                                 .color = &mgk_key_color,
                                 .faint = true};
out:
    mgk_performer_problem_close(&problem);
    return status;
}

static mgk_status draw_panels(mgk_plot *plot, const error_panel panels[PANELS])
{
    static const char *const no_note[] = {""};
    mgk_legend_entry legend[LINES + 2];
    mgk_curves plots[PANELS];
    mgk_curve_grid grids[PANELS];
    for (size_t l = 0; l < LINES; l++)
        legend[l] = (mgk_legend_entry){lines[l].label, mgk_series_color(l),
                                       (mgk_legend_key)(KEY_MARKER + l)};
    legend[LINES] = (mgk_legend_entry){"median and quartiles of 15 draws", mgk_key_color, KEY_BAND};
    legend[LINES + 1] =
        (mgk_legend_entry){"mean square of the exact output", mgk_key_color, KEY_FAINT};
    for (size_t i = 0; i < PANELS; i++) {
        plots[i] = (mgk_curves){.curves = panels[i].curves,
                                .count = LINES + 1,
                                .x_label = "random vectors in a head",
                                .y_label = "mean squared error",
                                .log_x = true,
                                .log_y = true};
        grids[i] = (mgk_curve_grid){&plots[i], 1, 1, no_note, panel_titles[i]};
    }
    mgk_plot_set_title(plot, "Errors of a Performer's output, 4096 tokens, D = 16", "");
    return mgk_draw_curve_grids(grids, PANELS, legend, LINES + 2, &plot->picture,
                                plot->options->output);
}

static mgk_status draw_errors(mgk_plot *plot)
{
    mgk_status status;
    const mgk_job *job = &plot->options->job;
    mgk_device *device = NULL;
    error_panel panels[PANELS];
    CHECK(mgk_performer_open(job, &device));
    for (size_t i = 0; i < PANELS; i++)
        CHECK(measure_panel(device, job, deviations[i], &panels[i]));
    CHECK(draw_panels(plot, panels));
out:
    mgk_device_close(device);
    return status;
}

mgk_status mgk_plot_performer(mgk_plot *plot)
{
    switch (plot->options->figure) {
    case 2:
        return draw_kernel(plot);
    case 4:
        return draw_errors(plot);
    case 10:
        return mgk_performer_layers(plot);
    case 11:
        return mgk_performer_heads(plot);
    case 13:
        return mgk_performer_tokens(plot);
    case 14:
        return mgk_performer_errors(plot);
    default:
        return mgk_fail(STATUS_USAGE, "performer %d: expected 2, 4, 10, 11, 13 or 14",
                        plot->options->figure);
    }
}
