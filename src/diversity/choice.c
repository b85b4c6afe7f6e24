/* SPDX-License-Identifier: MIT */
/* Which measures are computed of an input. */
#include <stdio.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "base/append.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/number.h"
#include "diversity/diversity.h"

mgk_source_options mgk_diversity_source_options(const mgk_diversity_options *o)
{
    enum { USUAL_SAMPLES = 16 };
    return (mgk_source_options){.job = &o->job,
                                .inputs = o->inputs,
                                .input_count = o->input_count,
                                .arrays = o->arrays,
                                .array_count = o->array_count,
                                .dataset = o->dataset,
                                .axes = o->axes,
                                .mask = o->mask,
                                .model = o->models && o->model_count > 0 ? o->models[0] : NULL,
                                .input = &o->input,
                                .layers = o->layers,
                                .layer_count = o->layer_count,
                                .heads = o->heads,
                                .head_count = o->head_count,
                                .double_precision = o->double_precision,
                                .causal = o->causal,
                                .allow_half = o->allow_half,
                                .samples = USUAL_SAMPLES,
                                .on_host = true};
}

/* ---- names ----------------------------------------------------------------------------------- */

bool mgk_diversity_names(const mgk_diversity_options *o)
{
    return o->measures && !(o->measure_count == 1 && strcmp(o->measures[0], "all") == 0);
}

static mgk_status fail_unknown(const char *name)
{
    if (strcmp(name, "all") == 0)
        return mgk_fail(STATUS_USAGE, "\"all\" stands alone: it names all measures");
    const char *names[MGK_MEASURES_MOST];
    char hint[MGK_NAMES_HINT];
    for (size_t m = 0; m < mgk_measure_count; m++)
        names[m] = mgk_measures[m]->name;
    mgk_names_hint(name, names, mgk_measure_count, hint);
    return mgk_fail(STATUS_USAGE, "no measure \"%.60s\"; %s", name, hint);
}

static mgk_status find_all(const mgk_diversity_options *o, const mgk_measure **out)
{
    for (size_t i = 0; i < o->measure_count; i++) {
        out[i] = mgk_measure_find(o->measures[i]);
        if (!out[i])
            return fail_unknown(o->measures[i]);
        for (size_t before = 0; before < i; before++)
            if (out[before] == out[i])
                return mgk_fail(STATUS_USAGE, "measure \"%s\" is there twice", out[i]->name);
    }
    return STATUS_OK;
}

static bool is_named(const mgk_diversity_options *o, const mgk_measure *measure)
{
    for (size_t i = 0; i < o->measure_count; i++)
        if (strcmp(o->measures[i], measure->name) == 0)
            return true;
    return false;
}

static bool has_pairs(const mgk_measure *const *measures, size_t count)
{
    for (size_t m = 0; m < count; m++)
        if (measures[m]->level == MGK_MEASURE_PAIR)
            return true;
    return false;
}

/* All measures, or all but those of importance, which take many runs of the model. */
static size_t take_all(bool importance, const mgk_measure **out)
{
    size_t count = 0;
    for (size_t m = 0; m < mgk_measure_count; m++)
        if (importance || !(mgk_measures[m]->needs & MGK_NEEDS_IMPORTANCE))
            out[count++] = mgk_measures[m];
    return count;
}

/* What orders of pruning are made of; a model has one of the importances. */
static const mgk_measure *const of_pruning[] = {&mgk_measure_js, &mgk_measure_importance_ablation,
                                                &mgk_measure_importance_divergence,
                                                &mgk_measure_importance_hidden};
enum { PRUNING_MEASURES = sizeof(of_pruning) / sizeof(*of_pruning) };

/* Adds those that are not chosen. */
static void add_pruning(const mgk_measure **chosen, size_t *count)
{
    for (size_t i = 0; i < PRUNING_MEASURES; i++) {
        size_t m = 0;
        while (m < *count && chosen[m] != of_pruning[i])
            m++;
        if (m == *count)
            chosen[(*count)++] = of_pruning[i];
    }
}

/* Keeps the measures of pairs. STATUS_USAGE: others are named. */
static mgk_status keep_pairs(const mgk_diversity_options *options, const mgk_measure **chosen,
                             size_t *count)
{
    size_t kept = 0;
    for (size_t m = 0; m < *count; m++) {
        if (chosen[m]->level == MGK_MEASURE_PAIR)
            chosen[kept++] = chosen[m];
        else if (is_named(options, chosen[m]))
            return mgk_fail(STATUS_USAGE,
                            "`across_models` compares pairs of heads: measure \"%s\" is none of "
                            "pairs",
                            chosen[m]->name);
    }
    *count = kept;
    return STATUS_OK;
}

mgk_status mgk_diversity_choose(const mgk_diversity_options *options, const mgk_measure ***out,
                                size_t *count)
{
    *count = mgk_diversity_names(options) ? options->measure_count : mgk_measure_count;
    TRY(mgk_alloc(*count + PRUNING_MEASURES, sizeof(**out), out));
    mgk_status status = STATUS_OK;
    if (mgk_diversity_names(options))
        status = find_all(options, *out);
    else
        *count = take_all(options->measures != NULL, *out);
    if (status == STATUS_OK && options->across_layers && !has_pairs(*out, *count))
        status = mgk_fail(STATUS_USAGE, "`across_layers` needs a measure of pairs, such as js");
    if (status == STATUS_OK && options->across_models)
        status = keep_pairs(options, *out, count);
    if (options->prune && status == STATUS_OK)
        add_pruning(*out, count);
    if (status != STATUS_OK) {
        mgk_free(*out);
        *out = NULL;
    }
    return status;
}

unsigned mgk_diversity_importances(const mgk_diversity_options *options,
                                   const mgk_measure *const *chosen, size_t count)
{
    unsigned wanted = 0;
    for (size_t m = 0; m < count; m++)
        if (mgk_diversity_names(options) ? is_named(options, chosen[m]) : options->measures != NULL)
            wanted |= mgk_measure_importance(chosen[m]);
    return wanted;
}

/* ---- what an input allows -------------------------------------------------------------------- */

const char *mgk_measure_needs_text(const mgk_measure *measure)
{
    const unsigned needs = mgk_measures_needs(&measure, 1);
    static const char *const of_importance[] = {
        [MGK_IMPORTANCE_ABLATION] = "a running model with a loss",
        [MGK_IMPORTANCE_GRADIENT] = "a running model of mgk-train with a loss",
        [MGK_IMPORTANCE_DIVERGENCE] = "a running model with logits, and pairs for a model of pairs",
        [MGK_IMPORTANCE_HIDDEN] = "a running model"};
    return needs & MGK_NEEDS_IMPORTANCE ? of_importance[measure->importance]
           : needs & (MGK_NEEDS_MIXTURE | MGK_NEEDS_KEY_WEIGHTS)      ? "several keys per position"
           : needs & MGK_NEEDS_TOKENS                                 ? "tokens"
           : needs & MGK_NEEDS_VALUES                                 ? "values"
           : needs & (MGK_NEEDS_LAYER_OUTPUT | MGK_NEEDS_PROJECTIONS) ? "a running model"
                                                                      : "";
}

/* Whether queries and keys must be of one sequence, as positions, tokens and vectors of a source
 * are, and are not. */
static bool lacks_sequence(const mgk_source *source, const mgk_measure *measure)
{
    const unsigned needs = mgk_measures_needs(&measure, 1);
    return source->cross && ((needs & (MGK_NEEDS_POSITIONS | MGK_NEEDS_TOKENS)) != 0 ||
                             mgk_measures_vectors(needs) != 0);
}

/* Whether the measure is of the columns of W_O that heads write through, and there are none. */
static bool lacks_columns(const mgk_source *source, const mgk_measure *measure)
{
    return source->merged_heads && measure->bases && measure->projection == MGK_PROJECTION_OUTPUT;
}

/* Whether the measure is of values, and the source's are not those that its matrices weigh. */
static bool lacks_own_values(const mgk_source *source, const mgk_measure *measure)
{
    const unsigned vectors = mgk_measures_vectors(mgk_measures_needs(&measure, 1));
    return source->other_values && (vectors & MGK_VECTORS_BIT(MGK_VALUES)) != 0;
}

/* What a measure needs that the source lacks. */
static const char *missing_text(const mgk_source *source, const mgk_measure *measure)
{
    const unsigned needs = mgk_measures_needs(&measure, 1);
    const bool has_mixture = needs & MGK_NEEDS_MIXTURE && source->components > 1;
    const bool lacks_vectors = (mgk_measures_vectors(needs) & ~source->kinds) != 0;
    return lacks_sequence(source, measure)     ? "queries and keys of one sequence"
           : lacks_columns(source, measure)    ? "heads that are concatenated"
           : lacks_own_values(source, measure) ? "matrices that weigh the values of each head"
           : has_mixture && lacks_vectors      ? "queries and keys"
           : has_mixture && !source->gaussian  ? "Gaussian keys"
                                               : mgk_measure_needs_text(measure);
}

/* What would give a measure what it lacks: stores have the vectors that were saved. */
static const char *remedy(const mgk_diversity_options *o, const mgk_source *source,
                          const mgk_measure *measure)
{
    const unsigned vectors = mgk_measures_vectors(mgk_measures_needs(&measure, 1));
    const bool possible = !lacks_sequence(source, measure) && !lacks_columns(source, measure) &&
                          !lacks_own_values(source, measure);
    const bool loss = mgk_measure_importance(measure) & MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_ABLATION);
    const bool stored = o->array_count == 0;
    return possible && stored && (vectors & ~source->kinds) ? " (option save of mgk-dump)"
           : o->model_count > 0 && loss
               ? " (classes to predict come with `task`; importance_hidden needs none)"
               : "";
}

static bool is_allowed(const mgk_source *source, const mgk_measure *measure)
{
    const unsigned needs = mgk_measures_needs(&measure, 1);
    return !lacks_sequence(source, measure) && !lacks_columns(source, measure) &&
           (source->tokens || !(needs & MGK_NEEDS_TOKENS)) &&
           (mgk_measures_vectors(needs) & ~source->kinds) == 0 &&
           (source->gaussian || !(needs & MGK_NEEDS_MIXTURE)) &&
           (source->components > 1 || !(needs & MGK_NEEDS_KEY_WEIGHTS)) &&
           (source->projections || !(needs & MGK_NEEDS_PROJECTIONS)) &&
           (source->output || !(needs & MGK_NEEDS_LAYER_OUTPUT)) &&
           (mgk_measure_importance(measure) & ~source->importances) == 0;
}

/* Whether users are told that an input does not allow a measure: not of those that only models with
 * several keys per position have, nor, unless they want all, of those that need a running model. */
static bool is_news(const mgk_diversity_options *o, const mgk_measure *measure)
{
    enum {
        OF_MIXTURES = MGK_NEEDS_MIXTURE | MGK_NEEDS_KEY_WEIGHTS,
        OF_RUNS = MGK_NEEDS_IMPORTANCE | MGK_NEEDS_PROJECTIONS | MGK_NEEDS_LAYER_OUTPUT
    };
    return !(measure->needs & OF_MIXTURES) && !mgk_diversity_names(o) &&
           (o->measures || !(measure->needs & OF_RUNS));
}

/* Adds a measure to those that are left out, [count], behind the others that need the same. */
static void leave_out(const mgk_source *source, const mgk_measure **left, size_t count,
                      const mgk_measure *measure)
{
    const char *needs = missing_text(source, measure);
    size_t at = count;
    while (at > 0 && strcmp(missing_text(source, left[at - 1]), needs) != 0)
        at--;
    at = at > 0 ? at : count;
    memmove(left + at + 1, left + at, (count - at) * sizeof(*left));
    left[at] = measure;
}

/* How many of the measures [count] from the first on need the same. */
static size_t count_alike(const mgk_source *source, const mgk_measure *const *left, size_t count)
{
    size_t alike = 1;
    while (alike < count &&
           strcmp(missing_text(source, left[0]), missing_text(source, left[alike])) == 0)
        alike++;
    return alike;
}

/* "NAME: not measured: a, b need values; c needs tokens", of the measures left [count]. */
static void tell_left(const mgk_source_input *input, const mgk_measure *const *left, size_t count,
                      char *note, size_t size)
{
    for (size_t i = 0, alike; i < count; i += alike) {
        const char *names[MGK_MEASURES_MOST];
        alike = count_alike(&input->source, left + i, count - i);
        for (size_t m = 0; m < alike; m++)
            names[m] = left[i + m]->name;
        if (i == 0)
            snprintf(note, size, "%s: not measured: ", input->name);
        else
            mgk_append(note, size, "; ");
        const size_t used = strlen(note);
        mgk_names_join(names, alike, note + used, size - used);
        mgk_append(note, size, " %s %s", MGK_NOUN(alike, "needs", "need"),
                   missing_text(&input->source, left[i]));
    }
}

mgk_status mgk_diversity_lay_out(const mgk_diversity_options *options,
                                 const mgk_source_input *input, const mgk_measure *const *chosen,
                                 size_t count, mgk_record_layout *out, char *note, size_t size)
{
    const mgk_measure **allowed, **left;
    size_t kept = 0, left_count = 0;
    mgk_status status = STATUS_OK;
    note[0] = '\0';
    TRY(mgk_alloc(2 * count, sizeof(*allowed), &allowed));
    left = allowed + count;
    for (size_t m = 0; m < count && status == STATUS_OK; m++) {
        if (is_allowed(&input->source, chosen[m]))
            allowed[kept++] = chosen[m];
        else if (is_named(options, chosen[m]))
            status = mgk_fail(STATUS_UNSUPPORTED,
                              "%s: measure \"%s\" needs %s, which this input lacks%s", input->name,
                              chosen[m]->name, missing_text(&input->source, chosen[m]),
                              remedy(options, &input->source, chosen[m]));
        else if (is_news(options, chosen[m]))
            leave_out(&input->source, left, left_count++, chosen[m]);
    }
    tell_left(input, left, left_count, note, size);
    if (status == STATUS_OK)
        status = mgk_record_layout_make(input->layer_count, input->head_count, input->mixtures,
                                        allowed, kept, out);
    if (status == STATUS_OK && (options->across_layers || options->across_models))
        status = mgk_record_layout_add_across(out);
    mgk_free(allowed);
    return status;
}
