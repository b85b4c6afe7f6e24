/* SPDX-License-Identifier: MIT */
/* Draws the distances between the heads of each layer, in the order of their clusters. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measures/linkage.h"
#include "analysis/measures/registry.h"
#include "base/append.h"
#include "base/memory.h"
#include "base/number.h"
#include "plot/measures.h"
#include "plots/charts/maps.h"

/* The map of one layer, and its tree. */
typedef struct layer_map {
    double *distances, *ordered; /* [H, H], in the order of heads, and of clusters */
    mgk_merge *merges;           /* [H − 1] */
    mgk_tree_node *nodes;
    size_t *order, *rows; /* [H]: the head of each row, the row of each head */
    int32_t *numbers;     /* [H], of the rows */
    char title[3 * MGK_PLOT_TITLE];
} layer_map;

/* The layers of all inputs, [count]. */
typedef struct layer_list {
    layer_map *layers;
    mgk_map *maps;
    mgk_map_place *places;
    mgk_dendrogram *trees;
    const char **titles;
    size_t count;
    size_t unordered; /* layers with a pair without value */
} layer_list;

/* Colours tell smaller distances apart only beside larger ones. */
static const double far = 0.1;

static void free_layers(layer_list *list)
{
    for (size_t i = 0; list->layers && i < list->count; i++) {
        layer_map *l = &list->layers[i];
        mgk_free(l->distances);
        mgk_free(l->ordered);
        mgk_free(l->merges);
        mgk_free(l->nodes);
        mgk_free(l->order);
        mgk_free(l->rows);
        mgk_free(l->numbers);
    }
    mgk_free(list->layers);
    mgk_free(list->maps);
    mgk_free(list->places);
    mgk_free(list->trees);
    mgk_free(list->titles);
}

static mgk_status allocate(size_t heads, layer_map *out)
{
    TRY(mgk_alloc(heads * heads, sizeof(double), &out->distances));
    TRY(mgk_alloc(heads * heads, sizeof(double), &out->ordered));
    TRY(mgk_alloc(heads, sizeof(*out->merges), &out->merges));
    TRY(mgk_alloc(heads, sizeof(*out->nodes), &out->nodes));
    TRY(mgk_alloc(heads, sizeof(*out->order), &out->order));
    TRY(mgk_alloc(heads, sizeof(*out->rows), &out->rows));
    return mgk_alloc(heads, sizeof(*out->numbers), &out->numbers);
}

/* Fills in the distances; false: a pair has none. */
static bool measure_distances(const mgk_plot_measured *input, size_t m, size_t layer,
                              bool similarity, layer_map *out)
{
    const size_t heads = input->head_count;
    bool complete = true;
    for (size_t h = 0; h < heads; h++)
        for (size_t g = 0; g < heads; g++) {
            const double value = h == g ? similarity : mgk_plot_mean(input, m, layer, h, g);
            out->distances[h * heads + g] = similarity ? 1 - value : value;
            complete = complete && !isnan(value);
        }
    return complete;
}

/* Orders the heads by clusters, or leaves them in their order if a pair has no distance. */
static mgk_status order_heads(size_t heads, bool complete, layer_map *out)
{
    for (size_t i = 0; i < heads; i++)
        out->order[i] = i;
    if (complete)
        TRY(mgk_average_linkage(heads, out->distances, out->merges, out->order));
    for (size_t i = 0; i < heads; i++)
        out->rows[out->order[i]] = i;
    for (size_t i = 0; i + 1 < heads; i++)
        out->nodes[i] = (mgk_tree_node){out->merges[i].first, out->merges[i].second,
                                        fmax(out->merges[i].height, 0)};
    for (size_t i = 0; i < heads * heads; i++)
        out->ordered[i] = out->distances[out->order[i / heads] * heads + out->order[i % heads]];
    return STATUS_OK;
}

/* The layer, `named` with the input, and which one it is of two that were measured as one. */
static void write_title(const mgk_plot_measured *input, size_t layer, bool named, char *out,
                        size_t size)
{
    const int32_t from = input->values->second_layers_from, number = input->layer_numbers[layer];
    const bool second = from > 0 && number >= from;
    *out = '\0';
    if (named)
        mgk_append(out, size, "%s, ", input->title);
    if (from > 0)
        mgk_append(out, size, "%s, ", second ? "the second" : "the first");
    mgk_append(out, size, "layer %ld", (long)(number - (second ? from : 0)) + input->count_from);
}

/* Adds layer number `layer` of an input, by its place among the chosen ones. */
static mgk_status add_layer(const mgk_plot_measured *input, size_t m, size_t layer, bool similarity,
                            bool named, layer_list *list)
{
    const size_t heads = input->head_count, i = list->count++;
    layer_map *out = &list->layers[i];
    TRY(allocate(heads, out));
    const bool complete = measure_distances(input, m, layer, similarity, out);
    list->unordered += !complete;
    TRY(order_heads(heads, complete, out));
    for (size_t h = 0; h < heads; h++)
        out->numbers[h] = input->head_numbers[out->order[h]];
    write_title(input, layer, named, out->title, sizeof(out->title));
    list->titles[i] = out->title;
    list->trees[i] = (mgk_dendrogram){complete ? out->nodes : NULL, out->rows, heads};
    list->maps[i] = (mgk_map){.values = out->ordered,
                              .rows = heads,
                              .cols = heads,
                              .row_numbers = out->numbers,
                              .col_numbers = out->numbers,
                              .row_name = "head",
                              .col_name = "head",
                              .ordered = true,
                              .self = true};
    return STATUS_OK;
}

/* Finds the measure in an input. */
static mgk_status find_pairs(const mgk_plot_measured *input, const char *name, size_t *m)
{
    if (input->head_count < 2)
        return mgk_fail(STATUS_SHAPE, "%s: %zu %s of \"%s\", expected at least 2 for pairs",
                        input->path, input->head_count,
                        MGK_NOUN(input->head_count, "head", "heads"), input->title);
    TRY(mgk_plot_find_measure(input, name, m));
    return mgk_plot_expect_level(input, *m, MGK_MEASURE_PAIR);
}

static mgk_status add_layers(const mgk_plot_measures *measures, const char *name, bool similarity,
                             layer_list *list)
{
    size_t count = 0, most = 0, m;
    for (size_t i = 0; i < measures->count; i++) {
        const size_t layers = measures->inputs[i].layer_count;
        TRY(find_pairs(&measures->inputs[i], name, &m));
        count += layers;
        most = layers > most ? layers : most;
    }
    const bool named = measures->count > 1 && most == 1; /* else rows have headings */
    TRY(mgk_alloc(count, sizeof(*list->layers), &list->layers));
    TRY(mgk_alloc(count, sizeof(*list->maps), &list->maps));
    TRY(mgk_alloc(count, sizeof(*list->places), &list->places));
    TRY(mgk_alloc(count, sizeof(*list->trees), &list->trees));
    TRY(mgk_alloc(count, sizeof(*list->titles), &list->titles));
    for (size_t i = 0; i < measures->count; i++) {
        TRY(find_pairs(&measures->inputs[i], name, &m));
        for (size_t l = 0; l < measures->inputs[i].layer_count; l++) {
            list->places[list->count] = (mgk_map_place){i, l};
            TRY(add_layer(&measures->inputs[i], m, l, similarity, named, list));
        }
    }
    return STATUS_OK;
}

static mgk_status draw_pairs(const mgk_plot *plot, const mgk_plot_measures *measures,
                             const char *name, bool similarity, layer_list *list)
{
    const char *models[MGK_GROUPS_MAX];
    char label[MGK_PLOT_LABEL], value[MGK_PLOT_LABEL + 16], note[MGK_PLOT_NOTE], gaps[160];
    const char *const notes[] = {
        note,
        "heads in the order of average linkage; a tree shows the distance at which groups join",
        gaps};
    const size_t m = mgk_diversity_find(measures->inputs[0].values, name);
    mgk_plot_measure_label(measures->inputs[0].values->layout.measures[m], label);
    snprintf(value, sizeof(value), similarity ? "distance, 1 \u2212 %s" : "distance, %s", label);
    mgk_plot_measure_note(measures, m, note);
    for (size_t i = 0; i < measures->count; i++)
        models[i] = measures->inputs[i].title;
    snprintf(gaps, sizeof(gaps), "%zu %s no tree, because a pair has no value", list->unordered,
             MGK_NOUN(list->unordered, "layer has", "layers have"));
    return mgk_draw_maps(&(mgk_maps){.maps = list->maps,
                                     .places = list->places,
                                     .titles = list->titles,
                                     .models = models,
                                     .trees = list->trees,
                                     .count = list->count,
                                     .least = 0,
                                     .most = far,
                                     .value_name = value,
                                     .notes = notes,
                                     .note_count = list->unordered > 0 ? 3 : 2},
                         &plot->picture, plot->options->output);
}

mgk_status mgk_plot_pairs(mgk_plot *plot)
{
    const mgk_plot_options *o = plot->options;
    const char *name = o->measure ? o->measure : "js";
    const mgk_measure *known = mgk_measure_find(name);
    mgk_status status;
    mgk_plot_measures measures;
    layer_list list = {.layers = NULL};
    CHECK(mgk_plot_read_measures(plot, &measures));
    CHECK(add_layers(&measures, name, known && known->similarity, &list));
    mgk_plot_name_only(plot, &measures);
    CHECK(draw_pairs(plot, &measures, name, known && known->similarity, &list));
out:
    free_layers(&list);
    mgk_plot_measures_free(&measures);
    return status;
}
