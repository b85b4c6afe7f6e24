/* SPDX-License-Identifier: MIT */
/* Draws which keys of mixtures are used: the share of each key, and how far keys are apart. */
#include <math.h>
#include <string.h>

#include "plot/measures.h"
#include "plots/charts/mixtures.h"

static const char use[] = "key_use";

/* The measures of the maps beside the bars. */
static const char *const beside[MGK_MIXTURE_MAPS] = {"key_separation", "key_weight_cosine"};

/* What is drawn. */
typedef struct mixture_list {
    mgk_key_mixture models[MGK_GROUPS_MAX];
    const char *names[MGK_MIXTURE_MAPS]; /* of the measures of maps, [map_count] */
    size_t map_count;
    mgk_arena arena; /* of values */
} mixture_list;

/* The position of a measure of heads, with components or without; layout.chosen: none. */
static size_t find(const mgk_plot_measured *input, const char *name, bool components)
{
    const mgk_record_layout *layout = &input->values->layout;
    const size_t m = mgk_diversity_find(input->values, name);
    const bool suits = m < layout->chosen && layout->measures[m]->level == MGK_MEASURE_HEAD &&
                       (components || !layout->measures[m]->components);
    return suits ? m : layout->chosen;
}

/* The shares of a cell: all of them, or none. STATUS_FORMAT: a share beyond 0 to 1. */
static mgk_status take_shares(const mgk_plot_measured *input, size_t m, size_t cell, size_t keys,
                              double *shares)
{
    const mgk_diversity_values *v = input->values;
    const size_t layer = (size_t)input->layers[cell / input->head_count],
                 head = (size_t)input->heads[cell % input->head_count];
    bool known = true;
    for (size_t k = 0; k < keys; k++) {
        shares[k] =
            mgk_diversity_mean(&v->means, mgk_diversity_place(v, m, layer) + head * keys + k);
        known = known && !isnan(shares[k]);
        if (shares[k] < 0 || shares[k] > 1 + 1e-9)
            return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is %g, expected 0 to 1", input->path, use,
                            shares[k]);
    }
    for (size_t k = 0; k < keys && !known; k++)
        shares[k] = NAN;
    return STATUS_OK;
}

static mgk_status add_model(const mgk_plot_measured *input, mgk_arena *arena, mgk_key_mixture *out)
{
    const size_t m = find(input, use, true), cells = input->layer_count * input->head_count;
    double *shares;
    if (m == input->values->layout.chosen || !mgk_plot_has_value(input, m))
        return mgk_fail(STATUS_FORMAT,
                        "%s: \"%s\" has no \"%s\", which is a measure of mixtures of keys",
                        input->path, input->title, use);
    const size_t keys =
        input->values->layout.measures[m]->components ? input->values->layout.mixtures : 1;
    TRY(mgk_arena_alloc(arena, cells, keys * sizeof(*shares), &shares));
    for (size_t i = 0; i < cells; i++)
        TRY(take_shares(input, m, i, keys, shares + i * keys));
    *out = (mgk_key_mixture){.title = input->title,
                             .layers = input->layer_count,
                             .heads = input->head_count,
                             .keys = keys,
                             .layer_numbers = input->layer_numbers,
                             .head_numbers = input->head_numbers,
                             .shares = shares};
    return STATUS_OK;
}

/* Whether all inputs have the measure, and one of them a value. */
static bool is_drawn(const mgk_plot_measures *measures, const char *name)
{
    bool any = false;
    for (size_t i = 0; i < measures->count; i++) {
        const size_t m = find(&measures->inputs[i], name, false);
        if (m == measures->inputs[i].values->layout.chosen)
            return false;
        any = any || mgk_plot_has_value(&measures->inputs[i], m);
    }
    return any;
}

static mgk_status add_map(const mgk_plot_measures *measures, const char *name, mixture_list *list)
{
    for (size_t i = 0; i < measures->count; i++) {
        const mgk_plot_measured *input = &measures->inputs[i];
        const size_t m = find(input, name, false), heads = input->head_count;
        double *values;
        TRY(mgk_arena_alloc(&list->arena, input->layer_count * heads, sizeof(*values), &values));
        for (size_t c = 0; c < input->layer_count * heads; c++)
            values[c] = mgk_plot_mean(input, m, c / heads, c % heads, 0);
        list->models[i].maps[list->map_count] = values;
    }
    list->names[list->map_count++] = name;
    return STATUS_OK;
}

static mgk_status add_all(const mgk_plot_measures *measures, mixture_list *list)
{
    for (size_t i = 0; i < measures->count; i++)
        TRY(add_model(&measures->inputs[i], &list->arena, &list->models[i]));
    for (size_t k = 0; k < MGK_MIXTURE_MAPS; k++)
        if (is_drawn(measures, beside[k]))
            TRY(add_map(measures, beside[k], list));
    return STATUS_OK;
}

static mgk_status draw_mixtures(const mgk_plot *plot, const mgk_plot_measures *measures,
                                const mixture_list *list)
{
    const mgk_diversity_values *first = measures->inputs[0].values;
    char labels[MGK_MIXTURE_MAPS][MGK_PLOT_LABEL], texts[1 + MGK_MIXTURE_MAPS][MGK_PLOT_NOTE];
    const char *notes[1 + MGK_MIXTURE_MAPS] = {texts[0]};
    mgk_key_mixtures mixtures = {.models = list->models,
                                 .count = measures->count,
                                 .share_name = "share of pairs that each key wins",
                                 .map_count = list->map_count,
                                 .notes = notes,
                                 .note_count = 1 + list->map_count};
    mgk_plot_measure_note(measures, mgk_diversity_find(first, use), texts[0]);
    for (size_t k = 0; k < list->map_count; k++) {
        const size_t m = mgk_diversity_find(first, list->names[k]);
        mgk_plot_measure_label(first->layout.measures[m], labels[k]);
        mgk_plot_measure_note(measures, m, texts[1 + k]);
        mixtures.map_names[k] = labels[k];
        mixtures.map_signed[k] = mgk_plot_is_signed(first->layout.measures[m]);
        notes[1 + k] = texts[1 + k];
    }
    return mgk_draw_mixtures(&mixtures, &plot->picture, plot->options->output);
}

mgk_status mgk_plot_mixture(mgk_plot *plot)
{
    mgk_plot_measures measures;
    mixture_list list = {.map_count = 0};
    mgk_status status = mgk_plot_read_measures(plot, &measures);
    if (status == STATUS_OK && measures.count > 1) /* one alone is refused by its name */
        status = mgk_plot_skip_missing(use, &measures);
    if (status == STATUS_OK)
        status = add_all(&measures, &list);
    if (status == STATUS_OK)
        status = draw_mixtures(plot, &measures, &list);
    mgk_arena_free(&list.arena);
    mgk_plot_measures_free(&measures);
    return status;
}
