/* SPDX-License-Identifier: MIT */
#include "plot/measures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/number.h"
#include "base/utf8.h"
#include "run/diversity_file.h"

/* ---- inputs ---------------------------------------------------------------------------------- */

static mgk_status choose(const mgk_plot_options *o, mgk_plot_measured *input)
{
    const mgk_record_layout *layout = &input->values->layout;
    TRY(mgk_plot_choose(input->path, "layer", o->layers, o->layer_count, input->values->layers,
                        layout->layers, &input->layers, &input->layer_numbers,
                        &input->layer_count));
    return mgk_plot_choose(input->path, "head", o->heads, o->head_count, input->values->heads,
                           layout->heads, &input->heads, &input->head_numbers, &input->head_count);
}

static mgk_status add_set(const mgk_plot *plot, const char *path, const mgk_diversity_set *set,
                          mgk_plot_measures *out)
{
    for (size_t i = 0; i < set->count; i++) {
        TRY(mgk_grow(out->count, sizeof(*out->inputs), &out->room, &out->inputs));
        mgk_plot_measured *input = &out->inputs[out->count++];
        *input = (mgk_plot_measured){.values = &set->inputs[i],
                                     .set = set,
                                     .path = path,
                                     .count_from = plot->picture.count_from};
        TRY(choose(plot->options, input));
    }
    return STATUS_OK;
}

/* Writes the name of an input's file, or its path if another input has a file of that name: of a
 * long path the end, where paths differ. */
static void write_file(const mgk_plot_measures *measures, const mgk_plot_measured *input,
                       char out[MGK_PLOT_TITLE])
{
    const char *file = mgk_file_name(input->path);
    bool same = false;
    for (size_t k = 0; k < measures->count; k++) {
        const char *other = measures->inputs[k].path;
        same = same || (strcmp(other, input->path) != 0 && strcmp(mgk_file_name(other), file) == 0);
    }
    if (same)
        mgk_plot_path_end(input->path, out);
    else
        mgk_utf8_copy(file, SIZE_MAX, out, MGK_PLOT_TITLE);
}

/* The name of what was measured. Where two are the same, the file tells them apart, or, in one
 * file, the step of training or the number of the input. */
static void set_title(const mgk_plot_measures *measures, char (*names)[MGK_PLOT_TITLE], size_t i,
                      mgk_plot_measured *input)
{
    const int64_t step = input->values->training_step;
    bool elsewhere = false, here = false, same_step = step < 0;
    size_t number = 1; /* of the input in its file */
    for (size_t k = 0; k < measures->count; k++) {
        const bool same_file = strcmp(measures->inputs[k].path, input->path) == 0;
        const bool same = k != i && strcmp(names[k], names[i]) == 0;
        here = here || (same && same_file);
        same_step =
            same_step || (same && same_file && measures->inputs[k].values->training_step == step);
        elsewhere = elsewhere || (same && !same_file);
        number += k < i && same_file;
    }
    char file[MGK_PLOT_TITLE] = "", count[32] = "";
    if (elsewhere)
        write_file(measures, input, file);
    if (here && !same_step)
        snprintf(count, sizeof(count), ", step %lld", (long long)step);
    else if (here)
        snprintf(count, sizeof(count), ", input %zu", number);
    snprintf(input->title, sizeof(input->title), "%.63s%s%.63s%s", file, elsewhere ? ": " : "",
             names[i], count);
}

/* What was measured: a model, or, where that is not known or several inputs are of one model, a
 * file. */
static void name_input(const mgk_plot_measures *measures, size_t i, char out[MGK_PLOT_TITLE])
{
    const mgk_plot_measured *input = &measures->inputs[i];
    const char *model = input->values->model;
    bool known = *model != '\0';
    for (size_t k = 0; k < measures->count && known; k++)
        known = k == i || strcmp(measures->inputs[k].values->model, model) != 0;
    const char *name = known ? model : *input->values->name ? input->values->name : input->path;
    if (input->values->second_layers_from > 0)
        mgk_plot_joined_title(name, out);
    else
        mgk_plot_file_title(name, out);
}

static void set_titles(const mgk_plot_options *o, mgk_plot_measures *measures)
{
    char names[MGK_GROUPS_MAX][MGK_PLOT_TITLE];
    for (size_t i = 0; i < measures->count; i++)
        name_input(measures, i, names[i]);
    for (size_t i = 0; i < measures->count; i++)
        if (i < o->name_count)
            mgk_utf8_copy(o->names[i], SIZE_MAX, measures->inputs[i].title,
                          sizeof(measures->inputs[i].title));
        else
            set_title(measures, names, i, &measures->inputs[i]);
}

void mgk_plot_name_only(mgk_plot *plot, const mgk_plot_measures *measures)
{
    if (measures->count == 1)
        mgk_plot_set_title(plot, measures->inputs[0].title, "");
}

static void free_input(mgk_plot_measured *input)
{
    mgk_free(input->layers);
    mgk_free(input->layer_numbers);
    mgk_free(input->heads);
    mgk_free(input->head_numbers);
}

mgk_status mgk_plot_skip_missing(const char *name, mgk_plot_measures *measures)
{
    const size_t all = measures->count;
    measures->count = 0;
    for (size_t i = 0; i < all; i++) {
        mgk_plot_measured *input = &measures->inputs[i];
        const size_t m = mgk_diversity_find(input->values, name);
        if (m < input->values->layout.chosen && mgk_plot_has_value(input, m))
            measures->inputs[measures->count++] = *input;
        else
            free_input(input);
    }
    return measures->count > 0 ? STATUS_OK
                               : mgk_fail(STATUS_FORMAT, "no input has a value of \"%s\"", name);
}

mgk_status mgk_plot_read_sets(mgk_plot *plot)
{
    const mgk_plot_options *o = plot->options;
    mgk_plot_sets *own = &plot->own;
    if (plot->sets)
        return STATUS_OK;
    TRY(mgk_alloc(o->input_count, sizeof(*own->sets), &own->sets));
    TRY(mgk_alloc(o->input_count, sizeof(*own->list), &own->list));
    for (size_t i = 0; i < o->input_count; i++) {
        TRY(mgk_diversity_file_read(o->inputs[i], &own->sets[i]));
        own->list[i] = &own->sets[own->count++];
    }
    plot->sets = own->list;
    return STATUS_OK;
}

void mgk_plot_close(mgk_plot *plot)
{
    for (size_t i = 0; i < plot->own.count; i++)
        mgk_diversity_set_free(&plot->own.sets[i]);
    mgk_free(plot->own.sets);
    mgk_free(plot->own.list);
}

mgk_status mgk_plot_read_inputs(mgk_plot *plot, mgk_plot_measures *out)
{
    const mgk_plot_options *o = plot->options;
    *out = (mgk_plot_measures){.inputs = NULL};
    TRY(mgk_plot_read_sets(plot));
    for (size_t i = 0; i < o->input_count; i++)
        TRY(add_set(plot, o->inputs[i], plot->sets[i], out));
    return STATUS_OK;
}

mgk_status mgk_plot_read_measures(mgk_plot *plot, mgk_plot_measures *out)
{
    const mgk_plot_options *options = plot->options;
    TRY(mgk_plot_read_inputs(plot, out));
    TRY(mgk_plot_check_names(options, out->count));
    set_titles(options, out);
    return options->skip_missing ? mgk_plot_skip_missing(options->measure, out) : STATUS_OK;
}

void mgk_plot_measures_free(mgk_plot_measures *measures)
{
    for (size_t i = 0; i < measures->count; i++)
        free_input(&measures->inputs[i]);
    mgk_free(measures->inputs);
}

/* ---- measures -------------------------------------------------------------------------------- */

double mgk_plot_mean(const mgk_plot_measured *input, size_t m, size_t layer, size_t head,
                     size_t other)
{
    const mgk_diversity_values *v = input->values;
    const mgk_measure *measure = v->layout.measures[m];
    size_t i = mgk_diversity_place(v, m, (size_t)input->layers[layer]);
    if (measure->level == MGK_MEASURE_PAIR)
        i += (size_t)input->heads[head] * v->layout.heads + (size_t)input->heads[other];
    else if (measure->level == MGK_MEASURE_HEAD)
        i += (size_t)input->heads[head] * (measure->components ? v->layout.mixtures : 1);
    return mgk_diversity_mean(&v->means, i);
}

double mgk_plot_mean_across(const mgk_plot_measured *input, size_t m, size_t layer, size_t head,
                            size_t other_layer, size_t other)
{
    const mgk_diversity_values *v = input->values;
    const size_t heads = v->layout.heads;
    if (layer == other_layer)
        return mgk_plot_mean(input, m, layer, head, other);
    const size_t h = (size_t)input->layers[layer] * heads + (size_t)input->heads[head],
                 g = (size_t)input->layers[other_layer] * heads + (size_t)input->heads[other];
    return mgk_diversity_mean(&v->means,
                              mgk_record_across(&v->layout, m) + h * v->layout.layers * heads + g);
}

bool mgk_plot_has_value(const mgk_plot_measured *input, size_t m)
{
    const mgk_measure_level level = input->values->layout.measures[m]->level;
    const size_t heads = level == MGK_MEASURE_LAYER ? 1 : input->head_count,
                 others = level == MGK_MEASURE_PAIR ? input->head_count : 1;
    for (size_t l = 0; l < input->layer_count; l++)
        for (size_t i = 0; i < heads * others; i++)
            if ((level != MGK_MEASURE_PAIR || i / others != i % others) &&
                !isnan(mgk_plot_mean(input, m, l, i / others, i % others)))
                return true;
    return false;
}

mgk_status mgk_plot_find_measure(const mgk_plot_measured *input, const char *name, size_t *m)
{
    TRY(mgk_plot_find_name(input, name, m));
    return mgk_plot_has_value(input, *m)
               ? STATUS_OK
               : mgk_fail(STATUS_FORMAT, "%s: \"%s\" has no value for \"%s\"", input->path, name,
                          input->title);
}

mgk_status mgk_plot_find_name(const mgk_plot_measured *input, const char *name, size_t *m)
{
    const mgk_record_layout *layout = &input->values->layout;
    const char *names[MGK_MEASURES_MOST];
    char hint[MGK_NAMES_HINT];
    *m = mgk_diversity_find(input->values, name);
    if (*m < layout->chosen)
        return STATUS_OK;
    for (size_t i = 0; i < layout->chosen; i++)
        names[i] = layout->measures[i]->name;
    mgk_names_hint(name, names, layout->chosen, hint);
    return mgk_fail(STATUS_FORMAT, "%s: no measure \"%.60s\" of \"%s\"; %s", input->path, name,
                    input->title, hint);
}

mgk_status mgk_plot_expect_level(const mgk_plot_measured *input, size_t m, mgk_measure_level level)
{
    static const char *const pictures[MGK_MEASURE_LEVELS] = {[MGK_MEASURE_HEAD] = "heads and depth",
                                                             [MGK_MEASURE_PAIR] =
                                                                 "pairs, map and depth",
                                                             [MGK_MEASURE_LAYER] = "depth"};
    const mgk_measure *measure = input->values->layout.measures[m];
    if (measure->level == level)
        return STATUS_OK;
    return mgk_fail(STATUS_USAGE, "\"%s\" is a measure of the level %s: %s draw it", measure->name,
                    mgk_measure_level_names[measure->level], pictures[measure->level]);
}

bool mgk_plot_is_signed(const mgk_measure *measure)
{
    const mgk_measure *known = mgk_measure_find(measure->name);
    static const char cosine[] = "-1 to 1", any[] = "any";
    return known && (strncmp(known->range, cosine, sizeof(cosine) - 1) == 0 ||
                     strncmp(known->range, any, sizeof(any) - 1) == 0);
}

void mgk_plot_measure_label(const mgk_measure *measure, char out[MGK_PLOT_LABEL])
{
    const bool unit = *measure->unit != '\0';
    snprintf(out, MGK_PLOT_LABEL, "%.60s%s%s%.40s%s", measure->name,
             measure->components ? " of component 0" : "", unit ? " (" : "", measure->unit,
             unit ? ")" : "");
    for (char *c = out; *c && *c != '('; c++)
        *c = *c == '_' ? ' ' : *c;
}

/* The largest number of samples with a value of measure m. */
static long count_samples(const mgk_plot_measured *input, size_t m)
{
    const mgk_diversity_values *v = input->values;
    const size_t size =
        mgk_measure_size(v->layout.measures[m], v->layout.heads, v->layout.mixtures);
    int32_t most = 0;
    for (size_t l = 0; l < v->layout.layers; l++)
        for (size_t i = 0; i < size; i++) {
            const int32_t samples = v->means.samples[mgk_diversity_place(v, m, l) + i];
            most = samples > most ? samples : most;
        }
    return most;
}

void mgk_plot_samples_note(const mgk_plot_measures *measures, size_t m, char out[MGK_PLOT_NOTE])
{
    const mgk_measure *measure = measures->inputs[0].values->layout.measures[m];
    const long samples = count_samples(&measures->inputs[0], m);
    bool same = true;
    for (size_t i = 1; i < measures->count; i++) {
        const size_t k = mgk_diversity_find(measures->inputs[i].values, measure->name);
        same = same && count_samples(&measures->inputs[i], k) == samples;
    }
    if (same)
        snprintf(out, MGK_PLOT_NOTE, "means over %ld %s", samples,
                 MGK_NOUN(samples, "sample", "samples"));
    else
        snprintf(out, MGK_PLOT_NOTE, "means over samples");
}

void mgk_plot_measure_note(const mgk_plot_measures *measures, size_t m, char out[MGK_PLOT_NOTE])
{
    const mgk_measure *measure = measures->inputs[0].values->layout.measures[m];
    char samples[MGK_PLOT_NOTE];
    mgk_plot_samples_note(measures, m, samples);
    snprintf(out, MGK_PLOT_NOTE, "%.60s%s%.200s; %.100s", measure->name,
             *measure->formula ? ": " : "", measure->formula, samples);
}
