/* SPDX-License-Identifier: MIT */
/* Draws all heads as points: near each other where their attention is alike. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/measures/registry.h"
#include "analysis/measures/scaling.h"
#include "base/memory.h"
#include "base/number.h"
#include "plot/measures.h"
#include "plots/charts/scatter.h"

enum { NAME = 32 };

/* The heads of one input, [layer_count, head_count]. */
typedef struct head_points {
    double *points; /* [count, 2] */
    size_t *groups; /* [count] */
    char (*names)[NAME];
    const char **labels; /* [count], pointers into names */
    size_t *series;      /* [count], 1: of the second of two inputs that were taken as one */
    char title[3 * MGK_PLOT_TITLE + 96];
} head_points;

/* The layers of all inputs. */
typedef struct layer_names {
    int32_t *numbers; /* [count], ascending */
    char (*names)[NAME];
    const char **pointers;
    size_t count;
} layer_names;

/* ---- layers ---------------------------------------------------------------------------------- */

static bool is_second(const mgk_plot_measured *input, int32_t layer)
{
    const int32_t from = input->values->second_layers_from;
    return from > 0 && layer >= from;
}

/* The number of a layer in its own input. */
static int32_t own_number(const mgk_plot_measured *input, int32_t layer)
{
    return layer - (is_second(input, layer) ? input->values->second_layers_from : 0);
}

static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static mgk_status name_layers(const mgk_plot_measures *measures, layer_names *out)
{
    size_t all = 0, count = 0;
    for (size_t i = 0; i < measures->count; i++)
        all += measures->inputs[i].layer_count;
    TRY(mgk_alloc(all, sizeof(*out->numbers), &out->numbers));
    TRY(mgk_alloc(all, sizeof(*out->names), &out->names));
    TRY(mgk_alloc(all, sizeof(*out->pointers), &out->pointers));
    for (size_t i = 0; i < measures->count; i++)
        for (size_t l = 0; l < measures->inputs[i].layer_count; l++)
            out->numbers[count++] =
                own_number(&measures->inputs[i], measures->inputs[i].layer_numbers[l]);
    qsort(out->numbers, all, sizeof(*out->numbers), ascending);
    for (size_t i = 0; i < all; i++)
        if (i == 0 || out->numbers[i] != out->numbers[out->count - 1])
            out->numbers[out->count++] = out->numbers[i];
    for (size_t i = 0; i < out->count; i++) {
        snprintf(out->names[i], NAME, "layer %ld",
                 (long)out->numbers[i] + measures->inputs->count_from);
        out->pointers[i] = out->names[i];
    }
    return STATUS_OK;
}

static size_t find_layer(const layer_names *layers, int32_t number)
{
    const int32_t *found =
        bsearch(&number, layers->numbers, layers->count, sizeof(number), ascending);
    return (size_t)(found - layers->numbers);
}

/* ---- points ---------------------------------------------------------------------------------- */

/* The numbers in the file, wherever the picture begins to count. */
static long layer_number(const mgk_plot_measured *input, size_t layer)
{
    return input->values->layers[input->layers[layer]];
}

static long head_number(const mgk_plot_measured *input, size_t head)
{
    return input->values->heads[input->heads[head]];
}

/* The distance of heads i and j of an input, as `pairs` draws it. STATUS_FORMAT: there is none. */
static mgk_status find_distance(const mgk_plot_measured *input, size_t m, bool similarity, size_t i,
                                size_t j, double *out)
{
    const size_t heads = input->head_count;
    const double value = mgk_plot_mean_across(input, m, i / heads, i % heads, j / heads, j % heads);
    *out = similarity ? 1 - value : value;
    if (!isnan(value))
        return STATUS_OK;
    return mgk_fail(
        STATUS_FORMAT,
        "%s: \"%s\" has no value for head %ld of layer %ld and head %ld of layer %ld of "
        "\"%s\"",
        input->path, input->values->layout.measures[m]->name, head_number(input, i % heads),
        layer_number(input, i / heads), head_number(input, j % heads),
        layer_number(input, j / heads), input->title);
}

/*
 * Places the heads. Their distances are the square roots of those that `pairs` draws, which are so
 * the squared distances: the square root of js is a metric (Endres and Schindelin 2003), and that
 * of points in some space (Fuglede and Topsoe 2004), also for means over queries and samples.
 */
static mgk_status place_heads(const mgk_plot_measured *input, size_t m, bool similarity,
                              double *points, double *shares)
{
    const size_t count = input->layer_count * input->head_count;
    double *squares;
    size_t area;
    TRY(mgk_multiply(count, count, &area));
    TRY(mgk_alloc(area, sizeof(double), &squares));
    mgk_status status = STATUS_OK;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i && status == STATUS_OK; j++) {
            status = find_distance(input, m, similarity, i, j, &squares[i * count + j]);
            squares[j * count + i] = squares[i * count + j];
        }
    if (status == STATUS_OK)
        status = mgk_classical_scaling(count, squares, points, shares);
    mgk_free(squares);
    return status;
}

static void write_title(const mgk_plot_measured *input, const double *shares, size_t size,
                        char *out)
{
    const char *both = input->values->second_layers_from > 0 ? " (squares: the second)" : "";
    if (isnan(shares[0]))
        snprintf(out, size, "%s%s: all heads are equal", input->title, both);
    else
        snprintf(out, size, "%s%s: %.0f %% and %.0f %% of the variance", input->title, both,
                 100 * shares[0], 100 * shares[1]);
}

static mgk_status make_points(const mgk_plot_measured *input, size_t m, bool similarity,
                              const layer_names *layers, head_points *out)
{
    const size_t heads = input->head_count, count = input->layer_count * heads;
    double shares[MGK_SCALING_AXES];
    TRY(mgk_alloc(count, MGK_SCALING_AXES * sizeof(double), &out->points));
    TRY(mgk_alloc(count, sizeof(*out->groups), &out->groups));
    TRY(mgk_alloc(count, sizeof(*out->names), &out->names));
    TRY(mgk_alloc(count, sizeof(*out->labels), &out->labels));
    TRY(mgk_alloc(count, sizeof(*out->series), &out->series));
    TRY(place_heads(input, m, similarity, out->points, shares));
    for (size_t i = 0; i < count; i++) {
        const int32_t number = input->layer_numbers[i / heads], layer = own_number(input, number);
        out->groups[i] = find_layer(layers, layer);
        out->series[i] = is_second(input, number);
        snprintf(out->names[i], NAME, "%ld.%ld", (long)layer + input->count_from,
                 (long)input->head_numbers[i % heads] + input->count_from);
        out->labels[i] = out->names[i];
    }
    write_title(input, shares, sizeof(out->title), out->title);
    return STATUS_OK;
}

/* ---- the picture ----------------------------------------------------------------------------- */

/* Finds the measure of pairs in an input that has it across layers. */
static mgk_status find_across(const mgk_plot_measured *input, const char *name, size_t *m)
{
    const size_t count = input->layer_count * input->head_count;
    if (count < 2)
        return mgk_fail(STATUS_SHAPE, "%s: %zu %s of \"%s\", expected at least 2 for a map",
                        input->path, count, MGK_NOUN(count, "head", "heads"), input->title);
    TRY(mgk_plot_find_name(input, name, m));
    TRY(mgk_plot_expect_level(input, *m, MGK_MEASURE_PAIR));
    if (input->values->layout.across || input->layer_count == 1)
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT,
                    "%s: no pairs of heads of different layers of \"%s\" (option across-layers of "
                    "mgk-diversity)",
                    input->path, input->title);
}

static mgk_status draw_map(const mgk_plot *plot, const mgk_plot_measures *measures,
                           const char *name, layer_names *layers, head_points *heads)
{
    const mgk_measure *known = mgk_measure_find(name);
    const bool similarity = known && known->similarity;
    mgk_scatter_panel panels[MGK_GROUPS_MAX];
    char heading[MGK_PLOT_NOTE + 128], samples[MGK_PLOT_NOTE];
    size_t m;
    TRY(name_layers(measures, layers));
    for (size_t i = measures->count; i-- > 0;) {
        const mgk_plot_measured *input = &measures->inputs[i];
        TRY(find_across(input, name, &m));
        TRY(make_points(input, m, similarity, layers, &heads[i]));
        panels[i] = (mgk_scatter_panel){.title = heads[i].title,
                                        .points = heads[i].points,
                                        .groups = heads[i].groups,
                                        .labels = heads[i].labels,
                                        .series = heads[i].series,
                                        .count = input->layer_count * input->head_count};
    }
    mgk_plot_samples_note(measures, m, samples);
    snprintf(heading, sizeof(heading),
             similarity ? "distance \u221a(1 \u2212 %.60s), %s" : "distance \u221a%.60s, %s", name,
             samples);
    return mgk_draw_scatter(&(mgk_scatter){.panels = panels,
                                           .count = measures->count,
                                           .group_names = layers->pointers,
                                           .group_count = layers->count,
                                           .heading = heading,
                                           .x_label = "first axis",
                                           .y_label = "second axis"},
                            &plot->picture, plot->options->output);
}

mgk_status mgk_plot_map(mgk_plot *plot)
{
    const mgk_plot_options *o = plot->options;
    mgk_plot_measures measures;
    layer_names layers = {.numbers = NULL};
    head_points heads[MGK_GROUPS_MAX] = {{.points = NULL}};
    mgk_status status = mgk_plot_read_measures(plot, &measures);
    if (status == STATUS_OK)
        status = draw_map(plot, &measures, o->measure ? o->measure : "js", &layers, heads);
    for (size_t i = 0; i < MGK_GROUPS_MAX; i++) {
        mgk_free(heads[i].points);
        mgk_free(heads[i].groups);
        mgk_free(heads[i].names);
        mgk_free(heads[i].labels);
        mgk_free(heads[i].series);
    }
    mgk_free(layers.numbers);
    mgk_free(layers.names);
    mgk_free(layers.pointers);
    mgk_plot_measures_free(&measures);
    return status;
}
