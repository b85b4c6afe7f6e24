/* SPDX-License-Identifier: MIT */
/* Draws maps of layers x heads: one measure of every input, or the roles of heads. */
#include <stdio.h>

#include "base/append.h"
#include "base/memory.h"
#include "plot/measures.h"
#include "plots/charts/maps.h"

enum { SCORES = 6, MAPS_MOST = SCORES * MGK_GROUPS_MAX };

/* The maps of a picture. */
typedef struct map_list {
    mgk_map maps[MAPS_MOST]; /* [count] */
    mgk_map_place places[MAPS_MOST + 1];
    double *values[MAPS_MOST];
    char titles[MAPS_MOST][MGK_PLOT_NOTE];
    const char *title_list[MAPS_MOST];
    size_t count;
} map_list;

static void free_maps(map_list *list)
{
    for (size_t i = 0; list && i < list->count; i++)
        mgk_free(list->values[i]);
    mgk_free(list);
}

/* Adds the map of measure m. */
static mgk_status add_map(const mgk_plot_measured *input, size_t m, const char *title,
                          map_list *list)
{
    const size_t layers = input->layer_count, heads = input->head_count;
    double *values;
    TRY(mgk_alloc(layers * heads, sizeof(*values), &values));
    for (size_t i = 0; i < layers * heads; i++)
        values[i] = mgk_plot_mean(input, m, i / heads, i % heads, 0);
    list->values[list->count] = values;
    list->title_list[list->count] = list->titles[list->count];
    snprintf(list->titles[list->count], sizeof(list->titles[0]), "%s", title);
    list->maps[list->count++] = (mgk_map){.values = values,
                                          .rows = layers,
                                          .cols = heads,
                                          .row_numbers = input->layer_numbers,
                                          .col_numbers = input->head_numbers,
                                          .row_name = "layer",
                                          .col_name = "head"};
    return STATUS_OK;
}

mgk_status mgk_plot_heads(mgk_plot *plot)
{
    const mgk_plot_options *o = plot->options;
    const char *name = o->measure ? o->measure : "entropy";
    mgk_status status;
    mgk_plot_measures measures;
    map_list *list = NULL;
    char label[MGK_PLOT_LABEL], note[MGK_PLOT_NOTE];
    const char *const notes[] = {note};
    size_t first = 0;
    CHECK(mgk_plot_read_measures(plot, &measures));
    CHECK(mgk_alloc(1, sizeof(*list), &list));
    for (size_t i = measures.count; i-- > 0;) {
        CHECK(mgk_plot_find_measure(&measures.inputs[i], name, &first));
        CHECK(mgk_plot_expect_level(&measures.inputs[i], first, MGK_MEASURE_HEAD));
    }
    for (size_t i = 0; i < measures.count; i++)
        CHECK(add_map(&measures.inputs[i], mgk_diversity_find(measures.inputs[i].values, name),
                      measures.inputs[i].title, list));
    mgk_plot_measure_label(measures.inputs[0].values->layout.measures[first], label);
    if (!o->colors && mgk_plot_is_signed(measures.inputs[0].values->layout.measures[first]))
        plot->picture.colormap = COLORMAP_COOLWARM;
    mgk_plot_measure_note(&measures, first, note);
    CHECK(mgk_draw_maps(&(mgk_maps){.maps = list->maps,
                                    .titles = list->title_list,
                                    .count = list->count,
                                    .value_name = label,
                                    .notes = notes,
                                    .note_count = 1},
                        &plot->picture, o->output));
out:
    free_maps(list);
    mgk_plot_measures_free(&measures);
    return status;
}

/* ---- roles ----------------------------------------------------------------------------------- */

static const char *const scores[SCORES] = {"previous_token", "next",      "first",
                                           "diagonal",       "induction", "duplicate_token"};

/* The score that no causal model has: if none of the models has it, it needs no word. */
enum { NEXT = 1 };

static bool has_measure(const mgk_plot_measured *input, size_t which, size_t *m)
{
    *m = mgk_diversity_find(input->values, scores[which]);
    return *m < input->values->layout.chosen &&
           input->values->layout.measures[*m]->level == MGK_MEASURE_HEAD;
}

static bool any_has_value(const mgk_plot_measures *measures, size_t which)
{
    size_t m;
    for (size_t i = 0; i < measures->count; i++)
        if (has_measure(&measures->inputs[i], which, &m) &&
            mgk_plot_has_value(&measures->inputs[i], m))
            return true;
    return false;
}

/* The note about scores that are not drawn: of one input, and for one reason. */
static void add_missing(const char *score, const char *reason, char note[MGK_PLOT_NOTE])
{
    mgk_append(note, MGK_PLOT_NOTE, "%s%s", *note ? ", " : reason, score);
}

/* Adds the map of a score, or a word about why it is missing; notes [2]: the file lacks scores, and
 * scores have no value. */
static mgk_status add_score(const mgk_plot_measures *measures, size_t i, size_t which, bool named,
                            map_list *list, char notes[2][MGK_PLOT_NOTE])
{
    const mgk_plot_measured *input = &measures->inputs[i];
    const char *score = scores[which], *name = measures->count > 1 ? input->title : "";
    static const char *const reasons[] = {"not drawn because the file lacks them: ",
                                          "not drawn because no head has a value: "};
    size_t m;
    const bool found = has_measure(input, which, &m);
    char title[MGK_PLOT_NOTE];
    snprintf(title, sizeof(title), "%s%s", name, *name ? ": " : "");
    if (!found || !mgk_plot_has_value(input, m)) {
        mgk_append(title, sizeof(title), "%s", reasons[found]);
        add_missing(score, title, notes[found]);
        return STATUS_OK;
    }
    mgk_append(title, sizeof(title), "%s", score);
    return add_map(input, m, named ? title : score, list);
}

/*
 * The scores of uniform attention, a_ij = 1/V_i over the V_i keys that query i sees. With a causal
 * mask V_i = i + 1, and the sum of 1/i from 1 to N is about ln N + 0.58. Tables do not say N.
 */
static const char uniform_note[] =
    "uniform attention over N tokens scores 1/N, previous_token (N - 1)/N^2; with a causal mask "
    "about (ln N + 0.58)/N, previous_token 1/N less; for induction and duplicate_token it depends "
    "on the tokens";

/* Adds the scores of all inputs, `named` with the input; those that none has take no place. */
static mgk_status add_scores(const mgk_plot_measures *measures, bool named, map_list *list,
                             char (*notes)[2][MGK_PLOT_NOTE])
{
    size_t item = 0;
    for (size_t s = 0; s < SCORES; s++) {
        const bool drawn = any_has_value(measures, s);
        for (size_t i = 0; i < measures->count && (drawn || s != NEXT); i++) {
            list->places[list->count] = (mgk_map_place){i, item};
            TRY(add_score(measures, i, s, named, list, notes[i]));
        }
        item += drawn;
    }
    return STATUS_OK;
}

static mgk_status draw_roles(const mgk_plot *plot, const mgk_plot_measures *measures,
                             map_list *list)
{
    char notes[MGK_GROUPS_MAX][2][MGK_PLOT_NOTE] = {{""}};
    const char *lines[2 * MGK_GROUPS_MAX + 1];
    const char *models[MGK_GROUPS_MAX];
    size_t count = 0, drawn = 0;
    for (size_t s = 0; s < SCORES; s++)
        drawn += any_has_value(measures, s);
    for (size_t i = 0; i < measures->count; i++)
        models[i] = measures->inputs[i].title;
    TRY(add_scores(measures, drawn < 2, list, notes));
    for (size_t i = 0; i < 2 * measures->count; i++)
        if (notes[i / 2][i % 2][0])
            lines[count++] = notes[i / 2][i % 2];
    if (list->count == 0)
        return mgk_fail(STATUS_FORMAT, "%s: %s%s%s", measures->inputs[0].path, lines[0],
                        count > 1 ? "; " : "", count > 1 ? lines[1] : "");
    lines[count++] = uniform_note;
    return mgk_draw_maps(&(mgk_maps){.maps = list->maps,
                                     .places = list->places,
                                     .titles = list->title_list,
                                     .models = models,
                                     .count = list->count,
                                     .value_name = "share of attention",
                                     .least = 0,
                                     .most = 0.1,
                                     .notes = lines,
                                     .note_count = count},
                         &plot->picture, plot->options->output);
}

mgk_status mgk_plot_roles(mgk_plot *plot)
{
    mgk_status status;
    mgk_plot_measures measures;
    map_list *list = NULL;
    CHECK(mgk_plot_read_measures(plot, &measures));
    CHECK(mgk_alloc(1, sizeof(*list), &list));
    mgk_plot_name_only(plot, &measures);
    CHECK(draw_roles(plot, &measures, list));
out:
    free_maps(list);
    mgk_plot_measures_free(&measures);
    return status;
}
