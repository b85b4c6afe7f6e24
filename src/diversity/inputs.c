/* SPDX-License-Identifier: MIT */
/*
 * The inputs of measuring. So that one input alone takes memory, each is open only while it is
 * measured; before, each is opened in turn to be described, because a journal names all inputs and
 * what is wrong with one must not be found late.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "diversity/measuring.h"
#include "run/array_axes.h"
#include "run/job.h"
#include "run/joined_source.h"

void mgk_measuring_tell(const mgk_measuring *m, const char *note)
{
    mgk_job_report(&m->options->job, &(mgk_report){.note = note, .milestone = true});
}

void mgk_measuring_warn(mgk_measuring *m, const char *note)
{
    mgk_job_report(&m->options->job,
                   &(mgk_report){.note = note, .milestone = true, .warning = true});
    mgk_warnings_add(&m->warnings, note);
}

/* The path of an input, valid UTF-8; with a number if an input before has the same path. */
static mgk_status name_part(const mgk_measuring *m, size_t i, char **out)
{
    size_t same = 1;
    char *path;
    for (size_t before = 0; before < i; before++)
        same += strcmp(m->inputs[before].name, m->inputs[i].name) == 0;
    TRY(mgk_utf8_duplicate(m->inputs[i].name, out));
    if (same == 1)
        return STATUS_OK;
    path = *out;
    const size_t room = strlen(path) + 24;
    mgk_status status = mgk_alloc(room, 1, out);
    if (status == STATUS_OK)
        snprintf(*out, room, "%s (%zu)", path, same);
    mgk_free(path);
    return status;
}

/* How the arrays of a file were read, and what their numbers are. */
static void tell_matrices(mgk_measuring *m, const mgk_source_input *input)
{
    const mgk_diversity_options *o = m->options;
    char note[MGK_DIVERSITY_NOTE];
    mgk_array_axes_explain(input->name, input->axes, o->dataset, note, sizeof(note));
    if (*note && !o->axes)
        mgk_measuring_warn(m, note);
    mgk_diversity_explain_heads(input->name, input->head_count, input->source.all_heads, note);
    if (*note && !o->across_models)
        mgk_measuring_warn(m, note);
    if (input->source.format != MGK_FLOAT_F16)
        return;
    mgk_diversity_explain_half(input->name, note);
    mgk_measuring_warn(m, note);
}

/* Prepares the part of the input that is open. */
static mgk_status prepare_part(mgk_measuring *m, size_t i)
{
    mgk_diversity_part *part = &m->parts[i];
    char note[MGK_DIVERSITY_NOTE];
    part->input = &m->inputs[i];
    TRY(name_part(m, i, &part->name));
    TRY(mgk_diversity_lay_out(m->options, &m->open, m->chosen, m->chosen_count, &part->layout, note,
                              sizeof(note)));
    TRY(mgk_diversity_means_make(mgk_record_size(&part->layout), &part->means));
    if (m->options->prune)
        TRY(mgk_diversity_prune_begin(part, m->open.run, m->options->prune_held_out));
    if (m->options->compare) {
        const size_t samples = m->inputs[i].sample_count;
        TRY(mgk_alloc(samples, part->layout.layers * part->layout.chosen * sizeof(double),
                      &part->layer_means));
        TRY(mgk_alloc(samples, 2 * sizeof(double), &part->identities));
    }
    m->total += m->inputs[i].source.count;
    if (*note)
        mgk_measuring_tell(m, note);
    if (!part->joined)
        tell_matrices(m, &m->open);
    return STATUS_OK;
}

static mgk_status choose_sources(mgk_measuring *m)
{
    const mgk_diversity_options *o = m->options;
    mgk_source_options *sources = &m->sources;
    size_t memory;
    TRY(mgk_diversity_choose(o, &m->chosen, &m->chosen_count));
    TRY(mgk_memory_left(m->device, o->job.cluster, o->memory, 0, &memory));
    *sources = mgk_diversity_source_options(o);
    sources->memory = memory / 4;
    sources->whole_groups = mgk_measures_need_groups(m->chosen, m->chosen_count);
    const unsigned needs = mgk_measures_needs(m->chosen, m->chosen_count);
    sources->vectors = mgk_measures_vectors(needs);
    sources->allow_half |= !(needs & (MGK_NEEDS_SPECTRUM | MGK_NEEDS_ROLLOUT_SPECTRUM));
    sources->best_importance = o->prune;
    sources->importances = mgk_diversity_importances(o, m->chosen, m->chosen_count);
    sources->outputs = (needs & MGK_NEEDS_LAYER_OUTPUT) != 0;
    return STATUS_OK;
}

static mgk_status open_one(mgk_measuring *m, size_t i, mgk_source_input *out)
{
    const mgk_diversity_options *o = m->options;
    if (o->model_count > 0)
        m->sources.model = o->models[i];
    return mgk_source_open(&m->sources, i, out);
}

/* "A + B", of the files' names, or of the paths if these are the same, or end with a slash. */
static mgk_status name_both(mgk_measuring *m, const mgk_source_input inputs[2])
{
    const char *first = mgk_file_name(inputs[0].name), *second = mgk_file_name(inputs[1].name);
    const bool paths = !*first || !*second || strcmp(first, second) == 0;
    first = paths ? inputs[0].name : first;
    second = paths ? inputs[1].name : second;
    const size_t room = strlen(first) + strlen(second) + sizeof(" + ");
    if (m->both)
        return STATUS_OK;
    TRY(mgk_alloc(room, 1, &m->both));
    snprintf(m->both, room, "%s + %s", first, second);
    return STATUS_OK;
}

/* Vectors of heads are compared where they have as many numbers. */
static void tell_sizes(const mgk_measuring *m, const mgk_source_input inputs[2])
{
    const mgk_source *a = &inputs[0].source, *b = &inputs[1].source;
    char note[512];
    if (!m->sources.vectors || !a->kinds || !b->kinds || a->dim == b->dim)
        return;
    snprintf(note, sizeof(note),
             "%.300s: their heads have %zu and %zu numbers: values and outputs are not compared",
             m->both, a->dim, b->dim);
    mgk_measuring_tell(m, note);
}

/* Opens two inputs as one. */
static mgk_status open_both(mgk_measuring *m)
{
    mgk_source_input inputs[2] = {{0}, {0}};
    mgk_status status;
    CHECK(open_one(m, 0, &inputs[0]));
    CHECK(open_one(m, 1, &inputs[1]));
    CHECK(name_both(m, inputs));
    for (size_t k = 0; k < 2 && !m->parts[0].joined; k++) {
        CHECK(mgk_source_describe(&inputs[k], &m->joined[k]));
        tell_matrices(m, &inputs[k]);
    }
    m->parts[0].joined = m->joined;
    tell_sizes(m, inputs);
    return mgk_join_sources(inputs, m->both, &m->open);
out:
    mgk_source_close(&inputs[0]);
    mgk_source_close(&inputs[1]);
    return status;
}

static mgk_status open_input(mgk_measuring *m, size_t i)
{
    return m->options->across_models ? open_both(m) : open_one(m, i, &m->open);
}

static void tell_layers(const mgk_measuring *m)
{
    char note[512];
    snprintf(note, sizeof(note), "%.300s: layers of the second are counted on from %zu", m->both,
             m->joined[0].all_layers);
    mgk_measuring_tell(m, note);
}

static mgk_status check_memory(const mgk_measuring *m)
{
    const size_t neighbours = (size_t)mgk_cluster_neighbours(m->options->job.cluster);
    const size_t given = m->options->memory / neighbours, held = m->open.held;
    if (given == 0 || held < given)
        return STATUS_OK;
    return mgk_fail(STATUS_MEMORY,
                    "%s: `memory`: what the model prepares at once, with the importance of heads, "
                    "takes %.3g GB, %.3g GB are given",
                    m->open.name, (double)held / 1e9, (double)given / 1e9);
}

/* Reads the tables in which all samples are. */
static mgk_status take_tables(mgk_measuring *m)
{
    const mgk_measure *const *named = mgk_diversity_names(m->options) ? m->chosen : NULL;
    for (size_t i = 0; i < m->count; i++) {
        mgk_diversity_part *part = &m->parts[i];
        mgk_measured_describe(m->measured, i, &m->inputs[i]);
        part->input = &m->inputs[i];
        TRY(name_part(m, i, &part->name));
        TRY(mgk_measured_read(m->measured, i, named, m->chosen_count, &m->options->job, part));
        TRY(mgk_diversity_check_comparable(&m->parts[0], part));
        TRY(mgk_measured_check_ranks(m->measured, m->parts, i));
    }
    return STATUS_OK;
}

/* Opens each input, describes it, and closes it unless it is the only one. */
static mgk_status describe_inputs(mgk_measuring *m)
{
    const mgk_diversity_options *o = m->options;
    for (size_t i = 0; i < m->count; i++) {
        TRY(open_input(m, i));
        TRY(check_memory(m));
        TRY(mgk_source_describe(&m->open, &m->inputs[i]));
        TRY(prepare_part(m, i));
        if (o->across_models)
            tell_layers(m);
        if (o->compare && i > 0)
            TRY(mgk_diversity_check_comparable(&m->parts[0], &m->parts[i]));
        if (m->count > 1)
            mgk_source_close(&m->open);
    }
    return STATUS_OK;
}

/* Counts the inputs, and describes each. */
mgk_status mgk_measuring_find_inputs(mgk_measuring *m)
{
    const mgk_diversity_options *o = m->options;
    bool tables;
    TRY(mgk_measured_find(o, &tables));
    if (tables) {
        TRY(mgk_measured_check(o));
        TRY(mgk_measured_open(o, &m->measured));
    }
    TRY(choose_sources(m));
    m->count = tables               ? mgk_measured_inputs(m->measured)
               : o->across_models   ? 1
               : o->model_count > 0 ? o->model_count
                                    : o->input_count + o->array_count;
    if (o->compare && m->count < 2)
        return mgk_fail(STATUS_USAGE, "`compare` needs two inputs");
    TRY(mgk_alloc(m->count, sizeof(*m->inputs), &m->inputs));
    TRY(mgk_alloc(m->count, sizeof(*m->parts), &m->parts));
    TRY(mgk_alloc(m->count, sizeof(*m->facts), &m->facts));
    return tables ? take_tables(m) : describe_inputs(m);
}

/* Opens an input for work. Its remarks have been reported. */
mgk_status mgk_measuring_open_again(mgk_measuring *m, size_t i)
{
    if (m->open.close)
        return STATUS_OK;
    m->silent = m->options->job;
    m->silent.watcher.report = NULL;
    m->sources.job = &m->silent;
    TRY(open_input(m, i));
    return mgk_source_check_same(&m->inputs[i], &m->open);
}

void mgk_measuring_close_inputs(mgk_measuring *m)
{
    for (size_t i = 0; m->parts && i < m->count; i++) {
        mgk_free(m->parts[i].name);
        mgk_record_layout_free(&m->parts[i].layout);
        mgk_diversity_means_free(&m->parts[i].means);
        mgk_free(m->parts[i].layer_means);
        mgk_free(m->parts[i].identities);
        mgk_diversity_prune_free(&m->parts[i]);
    }
    for (size_t i = 0; m->comparisons && i + 1 < m->count; i++)
        mgk_diversity_comparison_free(&m->comparisons[i]);
    mgk_free(m->comparisons);
    mgk_free(m->parts);
    mgk_free(m->facts);
    mgk_free(m->chosen);
    mgk_source_close(&m->open);
    mgk_sources_close(m->inputs, m->count);
    mgk_source_close(&m->joined[0]);
    mgk_source_close(&m->joined[1]);
    mgk_free(m->both);
    mgk_measured_close(m->measured);
}
