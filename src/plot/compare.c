/* SPDX-License-Identifier: MIT */
/* Draws the differences between inputs that files of mgk-diversity hold: a panel for each measure,
 * a point with its interval for each layer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "base/file.h"
#include "base/names.h"
#include "base/number.h"
#include "base/utf8.h"
#include "plot/measures.h"
#include "plots/charts/intervals.h"

enum { PANELS = 6, TITLE = 2 * MGK_PLOT_LABEL + 32, SAMPLES = 96 };

static const double significant = 0.05;

/* What is drawn of many measures if the options name none: one of each question. */
static const char *const usual[PANELS] = {
    "mean_js",        "effective_heads",     "normalized_entropy",
    "effective_rank", "cka_output_debiased", "token_cosine"};

/* The differences of one pair of inputs. */
typedef struct comparison {
    const char *path; /* of the file */
    const mgk_diversity_set *set;
    const char *name; /* in the file: "B-A" */
    char title[TITLE];
    char file[MGK_PLOT_TITLE];      /* its name, which tells equal titles apart */
    char note[TITLE + SAMPLES + 2]; /* "B − A: 12 samples, paired" */
} comparison;

/* All comparisons of the files, and the measures that are drawn. */
typedef struct comparisons {
    const mgk_plot_options *options;
    const mgk_diversity_set *const *sets; /* [set_count], of each file */
    size_t set_count, count;
    comparison list[MGK_GROUPS_MAX]; /* [count] */
    const char *measures[MGK_MEASURES_MOST];
    size_t measure_count;
    mgk_arena arena; /* of names of measures, titles of panels, and points */
} comparisons;

/* ---- comparisons ----------------------------------------------------------------------------- */

static bool is_of(const mgk_layer_difference *row, const comparison *c)
{
    return strcmp(row->name, c->name) == 0;
}

/* Adds the comparisons of a file. */
static mgk_status add_set(const char *path, const mgk_diversity_set *set, comparisons *out)
{
    const size_t first = out->count;
    if (set->difference_count == 0)
        return mgk_fail(STATUS_FORMAT,
                        "%s: no differences between inputs (option compare of mgk-diversity)",
                        path);
    for (size_t i = 0; i < set->difference_count; i++) {
        size_t k = first;
        while (k < out->count && !is_of(&set->differences[i], &out->list[k]))
            k++;
        if (k < out->count)
            continue;
        if (k == MGK_GROUPS_MAX)
            return mgk_fail(STATUS_USAGE, "%s: too many comparisons, expected at most %d", path,
                            MGK_GROUPS_MAX);
        comparison *added = &out->list[out->count++];
        *added = (comparison){.path = path, .set = set, .name = set->differences[i].name};
        mgk_utf8_copy(mgk_file_name(path), SIZE_MAX, added->file, sizeof(added->file));
    }
    return STATUS_OK;
}

/* Whether the comparison is that of these two inputs: "B-A" of their names, or of their files'. */
static bool compares(const comparison *c, const char *b, const char *a)
{
    const size_t length = strlen(b);
    return strncmp(c->name, b, length) == 0 && c->name[length] == '-' &&
           strcmp(c->name + length + 1, a) == 0;
}

/* Writes "B − A" with the names of the inputs without folders and endings; where these are the
 * same, or the inputs are not known, the name of the file's rows. */
static void set_title(comparison *c)
{
    const mgk_diversity_values *inputs = c->set->inputs;
    char a[MGK_PLOT_TITLE], b[MGK_PLOT_TITLE];
    mgk_utf8_copy(c->name, SIZE_MAX, c->title, MGK_PLOT_LABEL);
    for (size_t i = 1; i < c->set->count; i++) {
        const char *first = inputs[0].name, *second = inputs[i].name;
        if (!compares(c, second, first) &&
            !compares(c, mgk_file_name(second), mgk_file_name(first)))
            continue;
        mgk_plot_file_title(first, a);
        mgk_plot_file_title(second, b);
        if (strcmp(a, b) != 0)
            snprintf(c->title, sizeof(c->title), "%s \u2212 %s", b, a);
        return;
    }
}

static mgk_status set_titles(comparisons *all)
{
    const mgk_plot_options *o = all->options;
    if (o->name_count > 0 && o->name_count != all->count)
        return mgk_fail(STATUS_USAGE, "%zu %s for %zu %s", o->name_count,
                        MGK_NOUN(o->name_count, "name", "names"), all->count,
                        MGK_NOUN(all->count, "comparison", "comparisons"));
    for (size_t i = 0; i < all->count; i++)
        if (i < o->name_count)
            mgk_utf8_copy(o->names[i], SIZE_MAX, all->list[i].title, MGK_PLOT_LABEL);
        else
            set_title(&all->list[i]);
    if (o->name_count == 0)
        mgk_plot_tell_apart(all->list->title, TITLE, all->list->file, sizeof(*all->list),
                            all->count);
    return STATUS_OK;
}

static mgk_status read_files(mgk_plot *plot, comparisons *all)
{
    const mgk_plot_options *o = all->options;
    TRY(mgk_plot_read_sets(plot));
    all->sets = plot->sets;
    all->set_count = o->input_count;
    for (size_t i = 0; i < o->input_count; i++)
        TRY(add_set(o->inputs[i], all->sets[i], all));
    return set_titles(all);
}

/* ---- measures -------------------------------------------------------------------------------- */

static bool is_chosen_layer(const mgk_plot_options *o, int32_t layer)
{
    for (size_t i = 0; i < o->layer_count; i++)
        if (o->layers[i] == layer)
            return true;
    return o->layer_count == 0;
}

/* Whether a row is drawn as a point of the measure. */
static bool is_drawn(const comparisons *all, const mgk_layer_difference *row, const char *measure)
{
    return strcmp(row->measure, measure) == 0 && !isnan(row->difference.value) &&
           is_chosen_layer(all->options, row->layer);
}

static bool has_points(const comparisons *all, const char *measure)
{
    for (size_t f = 0; f < all->set_count; f++)
        for (size_t i = 0; i < all->sets[f]->difference_count; i++)
            if (is_drawn(all, &all->sets[f]->differences[i], measure))
                return true;
    return false;
}

static bool is_listed(const comparisons *all, const char *measure)
{
    for (size_t m = 0; m < all->measure_count; m++)
        if (strcmp(all->measures[m], measure) == 0)
            return true;
    return false;
}

/* Adds a measure unless it has no point, or is there already. */
static void add_measure(comparisons *all, const char *measure)
{
    if (all->measure_count < MGK_MEASURES_MOST && has_points(all, measure) &&
        !is_listed(all, measure))
        all->measures[all->measure_count++] = measure;
}

/* The message names measures of the first comparison that have a value. */
static mgk_status fail_measure(const comparisons *all, const char *measure)
{
    const comparison *c = &all->list[0];
    const char *names[MGK_MEASURES_MOST];
    char hint[MGK_NAMES_HINT];
    size_t count = 0;
    for (size_t i = 0; i < c->set->difference_count && count < MGK_MEASURES_MOST; i++) {
        const mgk_layer_difference *row = &c->set->differences[i];
        if (is_of(row, c) && has_points(all, row->measure) &&
            (count == 0 || strcmp(row->measure, names[count - 1]) != 0))
            names[count++] = row->measure;
    }
    mgk_names_hint(measure, names, count, hint);
    return mgk_fail(STATUS_FORMAT, "%s: no difference of \"%.60s\" with a value; %s", c->path,
                    measure, hint);
}

/* Adds the measures of the option, names separated by commas. */
static mgk_status add_named(comparisons *all)
{
    for (const char *next = all->options->measure; next; next = strchr(next, ',')) {
        const char *name;
        next += *next == ',';
        TRY(mgk_arena_text(&all->arena, next, strcspn(next, ","), &name));
        if (!has_points(all, name))
            return fail_measure(all, name);
        add_measure(all, name);
    }
    return STATUS_OK;
}

/* The first measures that the files have, at most `most`. */
static void add_first(comparisons *all, size_t most)
{
    for (size_t f = 0; f < all->set_count; f++)
        for (size_t i = 0; i < all->sets[f]->difference_count && all->measure_count < most; i++)
            add_measure(all, all->sets[f]->differences[i].measure);
}

/* All measures of the files if they are few, else the usual ones, else the first ones. */
static void add_usual(comparisons *all)
{
    add_first(all, PANELS + 1);
    if (all->measure_count <= PANELS)
        return;
    all->measure_count = 0;
    for (size_t m = 0; m < PANELS; m++)
        add_measure(all, usual[m]);
    if (all->measure_count == 0)
        add_first(all, PANELS);
}

/* STATUS_SHAPE: a layer of the options is in none of the rows. */
static mgk_status check_layers(const comparisons *all)
{
    for (size_t l = 0; l < all->options->layer_count; l++) {
        bool found = false;
        for (size_t f = 0; f < all->set_count; f++)
            for (size_t i = 0; i < all->sets[f]->difference_count; i++)
                found = found || all->sets[f]->differences[i].layer == all->options->layers[l];
        if (!found)
            return mgk_fail(STATUS_SHAPE, "%s: no layer %d", all->list[0].path,
                            all->options->layers[l]);
    }
    return STATUS_OK;
}

static mgk_status choose_measures(comparisons *all)
{
    TRY(check_layers(all));
    if (all->options->measure)
        return add_named(all);
    add_usual(all);
    return all->measure_count > 0
               ? STATUS_OK
               : mgk_fail(STATUS_FORMAT, "%s: no difference has a value", all->list[0].path);
}

/* ---- points ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const mgk_interval *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Collects the points of a measure of one comparison, in the order of layers. */
static mgk_status collect(comparisons *all, const comparison *c, const char *measure,
                          mgk_interval_series *out)
{
    mgk_interval *points;
    TRY(mgk_arena_alloc(&all->arena, c->set->difference_count, sizeof(*points), &points));
    *out = (mgk_interval_series){.points = points};
    for (size_t i = 0; i < c->set->difference_count; i++) {
        const mgk_layer_difference *row = &c->set->differences[i];
        const mgk_difference *d = &row->difference;
        if (is_of(row, c) && is_drawn(all, row, measure))
            points[out->count++] =
                (mgk_interval){row->layer, d->value, d->low, d->high, d->p_holm < significant};
    }
    qsort(points, out->count, sizeof(*points), by_number);
    for (size_t i = 1; i < out->count; i++)
        if (points[i].number == points[i - 1].number)
            return mgk_fail(STATUS_FORMAT, "%s: \"%s\" of \"%s\" is there twice for layer %ld",
                            c->path, measure, c->name, (long)points[i].number);
    return STATUS_OK;
}

/* Writes "12 samples, paired". */
static void tell_samples(const comparisons *all, const comparison *c, char out[SAMPLES])
{
    size_t least = SIZE_MAX, most = 0;
    bool paired = true;
    char count[64];
    for (size_t i = 0; i < c->set->difference_count; i++) {
        const mgk_layer_difference *row = &c->set->differences[i];
        if (!is_of(row, c) || !is_listed(all, row->measure) || !is_drawn(all, row, row->measure))
            continue;
        least = row->difference.samples < least ? row->difference.samples : least;
        most = row->difference.samples > most ? row->difference.samples : most;
        paired = paired && row->paired;
    }
    if (least < most)
        snprintf(count, sizeof(count), "%zu to %zu samples", least, most);
    else
        snprintf(count, sizeof(count), "%zu %s", most, MGK_NOUN(most, "sample", "samples"));
    snprintf(out, SAMPLES, paired ? "%s, paired" : "at least %s of each, not paired", count);
}

static void set_note(comparison *c, const char *title, const char *samples)
{
    snprintf(c->note, sizeof(c->note), "%.*s: %.*s", TITLE - 1, title, SAMPLES - 1, samples);
}

/* Writes a line for each comparison, or one if there are as many samples of all; returns their
 * number. */
static size_t write_notes(comparisons *all, const char **notes)
{
    char samples[MGK_GROUPS_MAX][SAMPLES];
    bool alike = all->count > 1;
    for (size_t k = 0; k < all->count; k++) {
        tell_samples(all, &all->list[k], samples[k]);
        set_note(&all->list[k], all->list[k].title, samples[k]);
        notes[k] = all->list[k].note;
        alike = alike && strcmp(samples[k], samples[0]) == 0;
    }
    if (alike)
        set_note(&all->list[0], "each", samples[0]);
    return alike ? 1 : all->count;
}

/* Whether a point that is drawn has no p: of weights, or of too few samples. */
static bool has_untested(const comparisons *all)
{
    for (size_t f = 0; f < all->set_count; f++)
        for (size_t i = 0; i < all->sets[f]->difference_count; i++) {
            const mgk_layer_difference *row = &all->sets[f]->differences[i];
            if (isnan(row->difference.p_holm) && is_listed(all, row->measure) &&
                is_drawn(all, row, row->measure))
                return true;
        }
    return false;
}

/* ---- picture --------------------------------------------------------------------------------- */

static mgk_status title_panel(comparisons *all, const char *measure, const char **out)
{
    const mgk_measure *known = mgk_measure_find(measure), unknown = {.name = measure, .unit = ""};
    char label[MGK_PLOT_LABEL];
    mgk_plot_measure_label(known ? known : &unknown, label);
    return mgk_arena_text(&all->arena, label, strlen(label), out);
}

static mgk_status draw_differences(const mgk_plot *plot, comparisons *all)
{
    static const char about[] =
        "Differences of the means of layers, with 95\u00a0% bootstrap intervals over samples. "
        "Filled: "
        "p\u00a0<\u00a00.05 after Holm\u2019s correction over all rows of a comparison.";
    const char *titles[MGK_MEASURES_MOST], *names[MGK_GROUPS_MAX], *notes[MGK_GROUPS_MAX + 1];
    mgk_interval_series *series;
    TRY(mgk_arena_alloc(&all->arena, all->measure_count * all->count, sizeof(*series), &series));
    for (size_t m = 0; m < all->measure_count; m++) {
        TRY(title_panel(all, all->measures[m], &titles[m]));
        for (size_t k = 0; k < all->count; k++)
            TRY(collect(all, &all->list[k], all->measures[m], &series[m * all->count + k]));
    }
    for (size_t k = 0; k < all->count; k++)
        names[k] = all->list[k].title;
    const size_t note_count = write_notes(all, notes);
    notes[note_count] = about;
    return mgk_draw_intervals(&(mgk_intervals){.titles = titles,
                                               .names = names,
                                               .series = series,
                                               .panel_count = all->measure_count,
                                               .series_count = all->count,
                                               .x_label = "layer",
                                               .y_label = "difference",
                                               .hollow = has_untested(all)
                                                             ? "not significant, or not tested"
                                                             : "not significant",
                                               .notes = notes,
                                               .note_count = note_count + 1},
                              &plot->picture, plot->options->output);
}

mgk_status mgk_plot_compare(mgk_plot *plot)
{
    comparisons all = {.options = plot->options};
    mgk_status status = read_files(plot, &all);
    if (status == STATUS_OK)
        status = choose_measures(&all);
    if (status == STATUS_OK)
        status = draw_differences(plot, &all);
    mgk_arena_free(&all.arena);
    return status;
}
