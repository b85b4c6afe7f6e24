/* Which measures are computed of an input. */
#include <stdio.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "base/memory.h"
#include "diversity/diversity.h"

mgk_source_options mgk_diversity_source_options(const mgk_diversity_options *o)
{
    enum { USUAL_SAMPLES = 16 };
    return (mgk_source_options){.job = &o->job,
                                .inputs = o->inputs,
                                .input_count = o->input_count,
                                .dataset = o->dataset,
                                .model = o->models && o->model_count > 0 ? o->models[0] : NULL,
                                .input = &o->input,
                                .layers = o->layers,
                                .layer_count = o->layer_count,
                                .double_precision = o->double_precision,
                                .causal = o->causal,
                                .allow_half = o->allow_half,
                                .samples = USUAL_SAMPLES,
                                .on_host = true};
}

/* ---- names ----------------------------------------------------------------------------------- */

static mgk_status fail_unknown(const char *name)
{
    char list[1024] = "";
    for (size_t m = 0; m < mgk_measure_count; m++) {
        strncat(list, m > 0 ? ", " : "", sizeof(list) - strlen(list) - 1);
        strncat(list, mgk_measures[m]->name, sizeof(list) - strlen(list) - 1);
    }
    return mgk_fail(STATUS_USAGE, "no measure \"%.60s\"; the measures are %s", name, list);
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

static bool has_pairs(const mgk_measure *const *measures, size_t count)
{
    for (size_t m = 0; m < count; m++)
        if (measures[m]->level == MGK_MEASURE_PAIR)
            return true;
    return false;
}

mgk_status mgk_diversity_choose(const mgk_diversity_options *options, const mgk_measure ***out,
                                size_t *count)
{
    *count = options->measures ? options->measure_count : mgk_measure_count;
    TRY(mgk_alloc(*count, sizeof(**out), out));
    mgk_status status = STATUS_OK;
    if (options->measures)
        status = find_all(options, *out);
    else
        memcpy(*out, mgk_measures, *count * sizeof(**out));
    if (status == STATUS_OK && options->across_layers && !has_pairs(*out, *count))
        status = mgk_fail(STATUS_USAGE, "`across_layers` needs a measure of pairs, such as js");
    if (status != STATUS_OK) {
        mgk_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- what an input allows -------------------------------------------------------------------- */

const char *mgk_measure_needs_text(const mgk_measure *measure)
{
    const unsigned needs = mgk_measures_needs(&measure, 1);
    return needs & (MGK_NEEDS_MIXTURE | MGK_NEEDS_KEY_WEIGHTS)        ? "several keys per position"
           : needs & MGK_NEEDS_TOKENS                                 ? "tokens"
           : needs & MGK_NEEDS_VALUES                                 ? "values"
           : needs & (MGK_NEEDS_LAYER_OUTPUT | MGK_NEEDS_PROJECTIONS) ? "a running model"
                                                                      : "";
}

static bool is_allowed(const mgk_source *source, const mgk_measure *measure)
{
    const unsigned needs = mgk_measures_needs(&measure, 1);
    return (source->tokens || !(needs & MGK_NEEDS_TOKENS)) &&
           (mgk_measures_vectors(needs) & ~source->kinds) == 0 &&
           (source->gaussian || !(needs & MGK_NEEDS_MIXTURE)) &&
           (source->components > 1 || !(needs & MGK_NEEDS_KEY_WEIGHTS)) &&
           (source->projections || !(needs & MGK_NEEDS_PROJECTIONS)) &&
           (source->output || !(needs & MGK_NEEDS_LAYER_OUTPUT));
}

/* Whether only models with several keys per position have the measure; that others lack it is no
 * news. */
static bool is_of_mixture(const mgk_measure *measure)
{
    return (measure->needs & (MGK_NEEDS_MIXTURE | MGK_NEEDS_KEY_WEIGHTS)) != 0;
}

/* Adds the name of a measure to the note; `before` is the one that was added before, or NULL. */
static void add_name(const char *path, const mgk_measure *measure, const mgk_measure *before,
                     char *note, size_t size)
{
    const size_t used = strlen(note);
    const char *needs = mgk_measure_needs_text(measure);
    if (!before)
        snprintf(note, size, "%s: without %s no %s", path, needs, measure->name);
    else if (strcmp(needs, mgk_measure_needs_text(before)) == 0)
        snprintf(note + used, size - used, ", %s", measure->name);
    else
        snprintf(note + used, size - used, "; without %s no %s", needs, measure->name);
}

mgk_status mgk_diversity_lay_out(const mgk_diversity_options *options,
                                 const mgk_measure *const *chosen, size_t count,
                                 mgk_diversity_part *part, char *note, size_t size)
{
    const mgk_source_input *input = part->input;
    const mgk_measure **allowed, *left_out = NULL;
    size_t kept = 0;
    mgk_status status = STATUS_OK;
    note[0] = '\0';
    TRY(mgk_alloc(count, sizeof(*allowed), &allowed));
    for (size_t m = 0; m < count && status == STATUS_OK; m++) {
        if (is_allowed(&input->source, chosen[m]))
            allowed[kept++] = chosen[m];
        else if (options->measures)
            status =
                mgk_fail(STATUS_UNSUPPORTED, "%s: measure \"%s\" needs %s, which this input lacks",
                         input->name, chosen[m]->name, mgk_measure_needs_text(chosen[m]));
        else if (!is_of_mixture(chosen[m])) {
            add_name(input->name, chosen[m], left_out, note, size);
            left_out = chosen[m];
        }
    }
    if (status == STATUS_OK)
        status = mgk_record_layout_make(input->layer_count, input->head_count, input->mixtures,
                                        allowed, kept, &part->layout);
    if (status == STATUS_OK && options->across_layers)
        status = mgk_record_layout_add_across(&part->layout);
    mgk_free(allowed);
    return status;
}
