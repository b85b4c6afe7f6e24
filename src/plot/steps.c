/* SPDX-License-Identifier: MIT */
/*
 * Draws measures against the step of training, from measured models of one or several runs: a
 * column for each run, a row for each measure, a line for each layer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "plot/measures.h"
#include "plots/charts/curve_grid.h"

enum { RUNS_MOST = 6, MEASURES_MOST = 8, MEASURE_NAME = 64, LEGEND_MOST = 8 };

/* A measured model. */
typedef struct checkpoint {
    const mgk_plot_measured *input;
    const char *name;   /* of the input; its first `length` bytes are those of its run */
    size_t length, run; /* number of the run, in the order of the inputs */
} checkpoint;

/* The models of a run, by steps. */
typedef struct training_run {
    const checkpoint *checkpoints; /* [count] */
    size_t count;
    char title[2 * MGK_PLOT_TITLE];
} training_run;

typedef struct steps_picture {
    const mgk_plot_options *options;
    mgk_plot_measures measures;
    mgk_arena arena;         /* of all arrays */
    checkpoint *checkpoints; /* [measures.count], run by run */
    training_run runs[RUNS_MOST];
    size_t run_count;
    char names[MEASURES_MOST][MEASURE_NAME]; /* of measures, */
    char labels[MEASURES_MOST][MGK_PLOT_LABEL];
    const char *notes[MEASURES_MOST]; /* and what their bands span; [measure_count] */
    size_t measure_count;
    int32_t *layers; /* numbers of the layers of all runs, ascending, [layer_count] */
    size_t layer_count;
} steps_picture;

/* ---- runs ------------------------------------------------------------------------------------ */

/* The last component of a path of so many bytes. */
static const char *last_component(const char *path, size_t length)
{
    const char *at = path + length;
    while (at > path && at[-1] != '/')
        at--;
    return at;
}

/* The length of a path without "checkpoint-500", a folder of transformers' Trainer or a store of
 * it, and what follows; 0: there is none. */
static size_t folder_length(const char *name)
{
    static const char mark[] = "checkpoint-";
    for (size_t end = strlen(name); end > 0;) {
        const char *at = last_component(name, end), *digits = at + sizeof(mark) - 1;
        const size_t before = (size_t)(at - name);
        if (strncmp(at, mark, sizeof(mark) - 1) == 0) {
            const char after = digits[strspn(digits, "0123456789")];
            if (*digits >= '0' && *digits <= '9' && (after == '/' || after == '.' || !after))
                return before > 1 ? before - 1 : sizeof(mark) - 2;
        }
        end = before > 0 ? before - 1 : 0;
    }
    return 0;
}

/* The length of a name without ".step-000500" and what follows, or without its ending: all models
 * of a run have this beginning. */
static size_t run_length(const char *name)
{
    static const char mark[] = ".step-";
    const size_t folder = folder_length(name);
    const char *file = mgk_file_name(name), *end = strrchr(file, '.');
    for (const char *at = strstr(file, mark); at; at = strstr(at + 1, mark)) {
        const char digit = at[sizeof(mark) - 1];
        if (digit >= '0' && digit <= '9')
            end = at;
    }
    return folder > 0 ? folder : end && end > file ? (size_t)(end - name) : strlen(name);
}

static bool is_same_run(const checkpoint *a, const checkpoint *b)
{
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

/* A run is found by its name, whatever file holds its measures. */
static mgk_status add_checkpoint(steps_picture *p, size_t i)
{
    mgk_plot_measured *input = &p->measures.inputs[i];
    checkpoint *c = &p->checkpoints[i];
    c->input = input;
    c->name = *input->values->name ? input->values->name : input->path;
    mgk_utf8_copy(mgk_file_name(c->name), SIZE_MAX, input->title, sizeof(input->title));
    c->length = run_length(c->name);
    c->run = p->run_count;
    for (size_t before = 0; before < i && c->run == p->run_count; before++)
        if (is_same_run(c, &p->checkpoints[before]))
            c->run = p->checkpoints[before].run;
    if (c->run == RUNS_MOST)
        return mgk_fail(STATUS_USAGE, "%s: \"%s\" is of run %d, expected at most %d runs",
                        input->path, c->name, RUNS_MOST + 1, RUNS_MOST);
    p->run_count += c->run == p->run_count;
    if (input->values->training_step >= 0)
        return STATUS_OK;
    return input->set->settings
               ? mgk_fail(STATUS_FORMAT,
                          "%s: the training step of \"%s\" is not known: measure models of "
                          "mgk-train (option keep), folders \"checkpoint-500\" of transformers, or "
                          "stores of such models",
                          input->path, c->name)
               : mgk_fail(STATUS_FORMAT,
                          "%s: the table does not say training steps, as no CSV does: let "
                          "mgk-diversity write .h5 or .json",
                          input->path);
}

static int by_run_and_step(const void *a, const void *b)
{
    const checkpoint *x = a, *y = b;
    const int64_t s = x->input->values->training_step, t = y->input->values->training_step;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return s != t ? (s > t) - (s < t) : (x->input > y->input) - (x->input < y->input);
}

/* Neighbours of one run have other steps and the same layers. */
static mgk_status check_neighbours(const checkpoint *a, const checkpoint *b)
{
    const mgk_plot_measured *x = a->input, *y = b->input;
    if (x->values->training_step == y->values->training_step)
        return mgk_fail(STATUS_FORMAT,
                        "%s: \"%s\" and \"%s\" are one run, but both of step %" PRId64, y->path,
                        a->name, b->name, y->values->training_step);
    if (x->layer_count != y->layer_count ||
        memcmp(x->layer_numbers, y->layer_numbers, x->layer_count * sizeof(*x->layer_numbers)) != 0)
        return mgk_fail(STATUS_SHAPE, "%s: \"%s\" has other layers than \"%s\" of the same run",
                        y->path, b->name, a->name);
    return STATUS_OK;
}

/* The name of a run's file, with the folder where another run has the same. */
static void set_title(steps_picture *p, size_t r)
{
    training_run *run = &p->runs[r];
    const checkpoint *c = run->checkpoints;
    const char *file = last_component(c->name, c->length);
    const size_t length = c->length - (size_t)(file - c->name);
    bool unique = true;
    for (size_t i = 0; i < p->run_count; i++) {
        const checkpoint *other = p->runs[i].checkpoints;
        const char *name = last_component(other->name, other->length);
        unique = unique && (i == r || other->length - (size_t)(name - other->name) != length ||
                            memcmp(name, file, length) != 0);
    }
    mgk_utf8_copy(unique ? file : c->name, unique ? length : c->length, run->title,
                  sizeof(run->title));
    if (r < p->options->name_count)
        mgk_utf8_copy(p->options->names[r], SIZE_MAX, run->title, sizeof(run->title));
}

static mgk_status find_runs(steps_picture *p)
{
    const size_t count = p->measures.count;
    TRY(mgk_arena_alloc(&p->arena, count, sizeof(*p->checkpoints), &p->checkpoints));
    for (size_t i = 0; i < count; i++)
        TRY(add_checkpoint(p, i));
    qsort(p->checkpoints, count, sizeof(*p->checkpoints), by_run_and_step);
    for (size_t i = 0; i < count; i++) {
        training_run *run = &p->runs[p->checkpoints[i].run];
        if (run->count++ == 0)
            run->checkpoints = &p->checkpoints[i];
        else
            TRY(check_neighbours(&p->checkpoints[i - 1], &p->checkpoints[i]));
    }
    TRY(mgk_plot_check_names(p->options, p->run_count));
    for (size_t r = 0; r < p->run_count; r++)
        set_title(p, r);
    return STATUS_OK;
}

/* ---- measures -------------------------------------------------------------------------------- */

/* Reads "entropy,js". */
static mgk_status list_measures(steps_picture *p)
{
    const char *next = p->options->measure ? p->options->measure : "entropy";
    for (bool more = true; more;) {
        const size_t length = strcspn(next, ",");
        if (length == 0 || length >= MEASURE_NAME || p->measure_count == MEASURES_MOST)
            return mgk_fail(STATUS_USAGE,
                            "`measure`: expected 1 to %d names with commas between them, got "
                            "\"%.200s\"",
                            MEASURES_MOST, p->options->measure);
        memcpy(p->names[p->measure_count++], next, length);
        more = next[length] == ',';
        next += length + 1;
    }
    return STATUS_OK;
}

/* Checks that all models have a measure, and that one of them has a value of it. */
static mgk_status find_measure(steps_picture *p, size_t row)
{
    const char *name = p->names[row];
    const mgk_plot_measured *last = NULL;
    bool some = false;
    size_t m;
    for (size_t i = 0; i < p->measures.count; i++) {
        last = p->checkpoints[i].input;
        m = mgk_diversity_find(last->values, name);
        if (m == last->values->layout.chosen)
            return mgk_plot_find_measure(last, name, &m);
        some = some || mgk_plot_has_value(last, m);
    }
    if (!some)
        return mgk_plot_find_measure(last, name, &m);
    const mgk_measure *measure = last->values->layout.measures[m];
    mgk_plot_measure_label(measure, p->labels[row]);
    p->notes[row] = mgk_plot_spread(&p->measures, measure);
    return STATUS_OK;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static mgk_status list_layers(steps_picture *p)
{
    size_t all = 0, kept = 0;
    for (size_t r = 0; r < p->run_count; r++)
        all += p->runs[r].checkpoints->input->layer_count;
    TRY(mgk_arena_alloc(&p->arena, all, sizeof(*p->layers), &p->layers));
    all = 0;
    for (size_t r = 0; r < p->run_count; r++) {
        const mgk_plot_measured *input = p->runs[r].checkpoints->input;
        for (size_t l = 0; l < input->layer_count; l++)
            p->layers[all++] = input->layer_numbers[l];
    }
    qsort(p->layers, all, sizeof(*p->layers), ascending);
    for (size_t i = 0; i < all; i++)
        if (i == 0 || p->layers[i] != p->layers[i - 1])
            p->layers[kept++] = p->layers[i];
    p->layer_count = kept;
    return STATUS_OK;
}

/* Dark for the first layer; the brightest colours are too faint on paper. */
static mgk_rgb color_of(const steps_picture *p, int32_t layer)
{
    const double brightest = 0.9, deepest = p->layers[p->layer_count - 1];
    return mgk_colormap_at(COLORMAP_VIRIDIS, deepest > 0 ? brightest * layer / deepest : 0);
}

/* Some layers, the first and the last included. */
static size_t make_legend(const steps_picture *p, char (*texts)[32], mgk_legend_entry *out)
{
    const size_t count = p->layer_count < LEGEND_MOST ? p->layer_count : LEGEND_MOST;
    for (size_t i = 0; i < count; i++) {
        const int32_t layer = p->layers[count > 1 ? i * (p->layer_count - 1) / (count - 1) : 0];
        snprintf(texts[i], sizeof(texts[i]), "layer %ld",
                 (long)layer + p->measures.inputs->count_from);
        out[i] = (mgk_legend_entry){texts[i], color_of(p, layer), KEY_PATCH};
    }
    return count;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The line of a layer, by its place, over the steps of a run. */
static mgk_status make_line(steps_picture *p, const training_run *run, const char *name,
                            size_t layer, mgk_curve *out)
{
    enum { STEP, LOWER, MEDIAN, UPPER, ARRAYS };
    double *arrays[ARRAYS];
    mgk_rgb *color;
    for (int i = 0; i < ARRAYS; i++)
        TRY(mgk_arena_alloc(&p->arena, run->count, sizeof(double), &arrays[i]));
    TRY(mgk_arena_alloc(&p->arena, 1, sizeof(*color), &color));
    *color = color_of(p, run->checkpoints->input->layer_numbers[layer]);
    for (size_t i = 0; i < run->count; i++) {
        const mgk_plot_measured *input = run->checkpoints[i].input;
        const size_t m = mgk_diversity_find(input->values, name);
        double quartiles[3];
        TRY(mgk_plot_quartiles(input, m, layer, quartiles));
        arrays[STEP][i] = (double)input->values->training_step;
        for (int q = 0; q < 3; q++)
            arrays[LOWER + q][i] = quartiles[q];
    }
    *out = (mgk_curve){.x = arrays[STEP],
                       .y = arrays[MEDIAN],
                       .lower = arrays[LOWER],
                       .upper = arrays[UPPER],
                       .count = run->count,
                       .color = color,
                       .markers = true};
    return STATUS_OK;
}

static mgk_status make_plot(steps_picture *p, size_t row, const training_run *run, mgk_curves *out)
{
    const size_t layers = run->checkpoints->input->layer_count;
    mgk_curve *curves;
    TRY(mgk_arena_alloc(&p->arena, layers, sizeof(*curves), &curves));
    for (size_t l = 0; l < layers; l++)
        TRY(make_line(p, run, p->names[row], l, &curves[l]));
    *out = (mgk_curves){
        .curves = curves, .count = layers, .x_label = "training step", .y_label = p->labels[row]};
    return STATUS_OK;
}

static mgk_status draw(steps_picture *p, const mgk_plot *plot)
{
    const size_t rows = p->measure_count, columns = p->run_count;
    const char *titles[RUNS_MOST];
    char texts[LEGEND_MOST][32];
    mgk_legend_entry legend[LEGEND_MOST];
    mgk_curves plots[MEASURES_MOST * RUNS_MOST];
    for (size_t c = 0; c < columns; c++) {
        titles[c] = p->runs[c].title;
        for (size_t r = 0; r < rows; r++)
            TRY(make_plot(p, r, &p->runs[c], &plots[r * columns + c]));
    }
    const mgk_curve_grid grid = {.plots = plots,
                                 .rows = rows,
                                 .columns = columns,
                                 .row_notes = p->notes,
                                 .column_titles = titles};
    const size_t entries = make_legend(p, texts, legend);
    return mgk_draw_curve_grids(&grid, 1, legend, entries, &plot->picture, p->options->output);
}

static mgk_status draw_steps(steps_picture *p, mgk_plot *plot)
{
    TRY(mgk_plot_read_inputs(plot, &p->measures));
    TRY(find_runs(p));
    TRY(list_measures(p));
    for (size_t row = 0; row < p->measure_count; row++)
        TRY(find_measure(p, row));
    TRY(list_layers(p));
    return draw(p, plot);
}

mgk_status mgk_plot_steps(mgk_plot *plot)
{
    steps_picture p = {.options = plot->options};
    mgk_status status = draw_steps(&p, plot);
    mgk_plot_measures_free(&p.measures);
    mgk_arena_free(&p.arena);
    return status;
}
