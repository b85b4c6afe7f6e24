/* SPDX-License-Identifier: MIT */
/*
 * mgk_measure_diversity: measures all inputs into one table, one after another. So that one input
 * alone takes memory, each is open only while it is measured; before, each is opened in turn to be
 * described, because a journal names all inputs and what is wrong with one must not be found late.
 */
#include "diversity/diversity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "api/api.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "diversity/together.h"
#include "run/arguments.h"
#include "run/array_axes.h"
#include "run/files.h"
#include "run/job.h"
#include "run/run_journal.h"

/* One call of mgk_measure_diversity. */
typedef struct measuring {
    const mgk_diversity_options *options;
    mgk_device *device;         /* the host: measures are computed there */
    const mgk_measure **chosen; /* [chosen_count] */
    size_t chosen_count;
    mgk_job silent;             /* that of the options, without reports */
    mgk_source_options sources; /* of several models the one that is opened */
    mgk_source_input open;      /* the one input that is open; zeroed: none */
    mgk_measured *measured;     /* the inputs were measured before; NULL: they were not */
    mgk_source_input *inputs;   /* [count], descriptions */
    mgk_diversity_part *parts;  /* [count] */
    mgk_diversity_comparison *comparisons; /* [count − 1]; NULL: none */
    mgk_diversity_facts *facts;            /* [count] */
    size_t count, current;                 /* part number `current` is being measured */
    mgk_journal *journal;                  /* NULL without an output */
    mgk_claims claims;
    mgk_warnings warnings;
    size_t before, done, total;    /* matrices: of finished inputs, of the current one, of all */
    volatile sig_atomic_t stopped; /* the watcher asked to stop */
    size_t resumed; /* samples of the current input that an interrupted run has finished */
} measuring;

static mgk_cluster *cluster_of(const measuring *m)
{
    return m->options->job.cluster;
}

static bool leads(const measuring *m)
{
    return mgk_cluster_leads(cluster_of(m));
}

mgk_result mgk_describe_measure(size_t index, mgk_measure_description *out)
{
    mgk_status status = mgk_check_place("place for the description", out);
    if (status == STATUS_OK && index >= mgk_measure_count)
        status = mgk_fail(STATUS_USAGE, "measure %zu of %zu", index, mgk_measure_count);
    if (status != STATUS_OK)
        return mgk_api_result(status);
    const mgk_measure *measure = mgk_measures[index];
    *out = (mgk_measure_description){.name = measure->name,
                                     .level = mgk_measure_level_names[measure->level],
                                     .unit = measure->unit,
                                     .range = measure->range,
                                     .formula = measure->formula,
                                     .source = measure->source,
                                     .needs = mgk_measure_needs_text(measure)};
    return mgk_api_result(STATUS_OK);
}

void mgk_diversity_options_init(mgk_diversity_options *options, size_t size)
{
    const mgk_diversity_options defaults = {.threshold = 1e-6};
    mgk_api_init(options, size, &defaults, sizeof(defaults));
}

static mgk_status check_options(const mgk_diversity_options *o)
{
    const mgk_source_options sources = mgk_diversity_source_options(o);
    TRY(mgk_check_names("models", o->models, o->model_count));
    if (o->prune && o->model_count == 0)
        return mgk_fail(STATUS_USAGE,
                        "`prune` runs a model without some heads: files of matrices have none");
    TRY(mgk_sources_check(&sources));
    TRY(mgk_check_names("measures", o->measures, o->measure_count));
    if (o->measures && o->measure_count == 0)
        return mgk_fail(STATUS_USAGE, "no measures");
    if (!(o->threshold > 0) || !isfinite(o->threshold))
        return mgk_fail(STATUS_USAGE, "threshold %g, expected a number above 0", o->threshold);
    if (o->resume && o->array_count > 0)
        return mgk_fail(STATUS_USAGE, "`resume` continues runs over files and models, not arrays");
    if (o->resume && !o->output)
        return mgk_fail(STATUS_USAGE, "`resume` continues a run with an `output`");
    if (o->per_sample && !o->output)
        return mgk_fail(STATUS_USAGE, "`per_sample` needs an `output`");
    return mgk_diversity_check_ending(o);
}

static void tell_progress(measuring *m)
{
    const size_t done = m->before + m->done;
    const mgk_report report = {
        .done = (int64_t)done, .total = (int64_t)m->total, .amount = (double)done, .note = ""};
    mgk_job_report(&m->options->job, &report);
}

static void tell(measuring *m, const char *note)
{
    mgk_job_report(&m->options->job, &(mgk_report){.note = note, .milestone = true});
}

/* Reports what the table repeats. */
static void warn(measuring *m, const char *note)
{
    mgk_job_report(&m->options->job,
                   &(mgk_report){.note = note, .milestone = true, .warning = true});
    mgk_warnings_add(&m->warnings, note);
}

static void progress(void *state, size_t done)
{
    measuring *m = state;
    m->done = done;
    tell_progress(m);
    if (mgk_job_stopped(&m->options->job))
        m->stopped = 1;
}

static void tell_limit(void *state, int threads, int wanted)
{
    char note[MGK_LIMIT_NOTE];
    mgk_job_limit_note(threads, wanted, note);
    tell(state, note);
}

static mgk_status claim_files(measuring *m)
{
    const mgk_diversity_options *o = m->options;
    const mgk_source_options sources = mgk_diversity_source_options(o);
    TRY(mgk_sources_claim(&sources, &m->claims));
    for (size_t i = 1; i < o->model_count; i++)
        TRY(mgk_files_model(&m->claims, o->models[i]));
    if (!leads(m)) /* others do not write */
        return STATUS_OK;
    if (o->output) {
        TRY(mgk_claims_add_output(&m->claims, o->output));
        TRY(mgk_run_journal_claim(o->output, &m->claims));
    }
    return mgk_files_lock(&m->claims, &o->job);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* The path of an input, valid UTF-8; with a number if an input before has the same path. */
static mgk_status name_part(const measuring *m, size_t i, char **out)
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
static void tell_matrices(measuring *m, const mgk_source_input *input)
{
    const mgk_diversity_options *o = m->options;
    char note[MGK_DIVERSITY_NOTE];
    mgk_array_axes_explain(input->name, input->axes, o->dataset, note, sizeof(note));
    if (*note && !o->axes)
        warn(m, note);
    mgk_diversity_explain_heads(input->name, input->head_count, input->source.all_heads, note);
    if (*note)
        warn(m, note);
    if (input->source.format != MGK_FLOAT_F16)
        return;
    mgk_diversity_explain_half(input->name, note);
    warn(m, note);
}

/* Prepares the part of the input that is open. */
static mgk_status prepare_part(measuring *m, size_t i)
{
    mgk_diversity_part *part = &m->parts[i];
    char note[MGK_DIVERSITY_NOTE];
    part->input = &m->inputs[i];
    TRY(name_part(m, i, &part->name));
    TRY(mgk_diversity_lay_out(m->options, &m->open, m->chosen, m->chosen_count, &part->layout, note,
                              sizeof(note)));
    TRY(mgk_diversity_means_make(mgk_record_size(&part->layout), &part->means));
    if (m->options->prune)
        TRY(mgk_diversity_prune_begin(part, m->open.run));
    if (m->options->compare) {
        const size_t samples = m->inputs[i].sample_count;
        TRY(mgk_alloc(samples, part->layout.layers * part->layout.chosen * sizeof(double),
                      &part->layer_means));
        TRY(mgk_alloc(samples, 2 * sizeof(double), &part->identities));
    }
    m->total += m->inputs[i].source.count;
    if (*note)
        tell(m, note);
    tell_matrices(m, &m->open);
    return STATUS_OK;
}

static mgk_status choose_sources(measuring *m)
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

static mgk_status open_input(measuring *m, size_t i)
{
    const mgk_diversity_options *o = m->options;
    if (o->model_count > 0)
        m->sources.model = o->models[i];
    return mgk_source_open(&m->sources, i, &m->open);
}

static mgk_status check_memory(const measuring *m)
{
    const size_t neighbours = (size_t)mgk_cluster_neighbours(cluster_of(m));
    const size_t given = m->options->memory / neighbours, held = m->open.held;
    if (given == 0 || held < given)
        return STATUS_OK;
    return mgk_fail(STATUS_MEMORY,
                    "%s: `memory`: what the model prepares at once, with the importance of heads, "
                    "takes %.3g GB, %.3g GB are given",
                    m->open.name, (double)held / 1e9, (double)given / 1e9);
}

/* Reads the tables in which all samples are. */
static mgk_status take_tables(measuring *m)
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
static mgk_status describe_inputs(measuring *m)
{
    const mgk_diversity_options *o = m->options;
    for (size_t i = 0; i < m->count; i++) {
        TRY(open_input(m, i));
        TRY(check_memory(m));
        TRY(mgk_source_describe(&m->open, &m->inputs[i]));
        TRY(prepare_part(m, i));
        if (o->compare && i > 0)
            TRY(mgk_diversity_check_comparable(&m->parts[0], &m->parts[i]));
        if (m->count > 1)
            mgk_source_close(&m->open);
    }
    return STATUS_OK;
}

/* Counts the inputs, and describes each. */
static mgk_status find_inputs(measuring *m)
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
static mgk_status open_again(measuring *m, size_t i)
{
    if (m->open.close)
        return STATUS_OK;
    m->silent = m->options->job;
    m->silent.watcher.report = NULL;
    m->sources.job = &m->silent;
    TRY(open_input(m, i));
    return mgk_source_check_same(&m->inputs[i], &m->open);
}

static void close_inputs(measuring *m)
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
    mgk_measured_close(m->measured);
}

/* ---- samples --------------------------------------------------------------------------------- */

static void add_record(measuring *m, size_t i, double *record)
{
    mgk_diversity_part *part = &m->parts[i];
    if (part->layer_means)
        mgk_diversity_keep_sample(part, part->finished, record);
    mgk_diversity_means_add(&part->means, record);
    mgk_diversity_collect(&part->layout, record, &m->facts[i]);
    mgk_diversity_hash_sample(part, record);
    part->finished++;
}

/* Adds the sample, or the order of pruning, that was read. */
static mgk_status take_read(measuring *m, const mgk_diversity_replay *replay)
{
    mgk_diversity_part *part = &m->parts[replay->input];
    if (replay->number >= part->input->sample_count)
        return mgk_diversity_replay_order(replay, part);
    add_record(m, replay->input, replay->record);
    return STATUS_OK;
}

static void tell_finished(measuring *m)
{
    char note[512];
    size_t samples = 0, orders = 0;
    for (size_t i = 0; i < m->count; i++) {
        samples += m->parts[i].finished;
        orders += m->parts[i].finished_orders;
    }
    snprintf(note, sizeof(note), "%s" MGK_JOURNAL_ENDING ": %zu %s finished already",
             m->options->output, samples, MGK_NOUN(samples, "sample is", "samples are"));
    if (orders > 0)
        snprintf(note + strlen(note), sizeof(note) - strlen(note),
                 ", and %zu of %zu orders of pruning", orders, m->count * MGK_PRUNING_ORDERS);
    tell(m, note);
}

/* Adds what an interrupted run has finished. */
static mgk_status take_finished(measuring *m)
{
    mgk_diversity_replay replay;
    bool end = false;
    if (!m->journal || mgk_journal_resumed(m->journal) == 0)
        return STATUS_OK;
    mgk_status status = mgk_diversity_replay_begin(m->journal, m->parts, m->count, &replay);
    while (status == STATUS_OK && !end) {
        status = mgk_diversity_replay_next(&replay, &end);
        if (status == STATUS_OK && !end)
            status = take_read(m, &replay);
    }
    mgk_diversity_replay_end(&replay);
    TRY(status);
    tell_finished(m);
    return STATUS_OK;
}

static mgk_status receive(void *state, size_t sample, double *record)
{
    measuring *m = state;
    if (m->journal)
        TRY(mgk_diversity_append(m->journal, m->current, &m->parts[m->current], sample, record));
    add_record(m, m->current, record);
    return STATUS_OK;
}

static void tell_notes(measuring *m, size_t i)
{
    mgk_diversity_notes notes;
    const mgk_source *source = &m->inputs[i].source;
    mgk_diversity_explain(m->inputs[i].name, &m->facts[i], source->causal || source->cross,
                          source->unnormalized, &notes);
    for (size_t n = 0; n < notes.count; n++)
        warn(m, notes.lines[n]);
}

static void tell_zero_keys(measuring *m, const mgk_source_input *input,
                           const mgk_zero_keys *zero_keys)
{
    char note[MGK_DIVERSITY_NOTE];
    mgk_zero_keys_explain(input->name, zero_keys, input->keys, note, sizeof(note));
    if (*note)
        warn(m, note);
}

/* Measures the samples of the input that an interrupted run has not finished. */
static mgk_status measure_samples(measuring *m, size_t i)
{
    const mgk_diversity_options *o = m->options;
    const mgk_source_input *input = &m->open;
    mgk_cluster *cluster = cluster_of(m);
    size_t memory;
    TRY(mgk_cluster_agree(cluster,
                          mgk_memory_left(m->device, cluster, o->memory, input->held, &memory)));
    const mgk_diversity_run_options options = {.layout = &m->parts[i].layout,
                                               .threshold = o->threshold,
                                               .relative = o->relative,
                                               .allow_zero_rows =
                                                   o->allow_zero_rows || input->source.may_be_blank,
                                               .threads = o->job.threads,
                                               .memory = memory,
                                               .memory_is_most = true,
                                               .held = o->memory > 0 ? input->held : 0,
                                               .finished = m->resumed,
                                               .cancel = &m->stopped,
                                               .receive = receive,
                                               .progress = progress,
                                               .limited = tell_limit,
                                               .state = m};
    return mgk_diversity_measure(cluster, input, m->device, &options);
}

static mgk_status measure_all(measuring *m, size_t i)
{
    const mgk_source_input *input = &m->open;
    mgk_cluster *cluster = cluster_of(m);
    mgk_zero_keys zero_keys = {0};
    TRY(measure_samples(m, i));
    if (input->zero_keys)
        TRY(mgk_zero_keys_sum(cluster, input->zero_keys, &zero_keys));
    TRY(mgk_source_merge(input, cluster));
    tell_zero_keys(m, input, &zero_keys);
    return STATUS_OK;
}

static void tell_runs(void *state, size_t done, size_t total)
{
    const measuring *m = state;
    const mgk_report report = {.done = (int64_t)done,
                               .total = (int64_t)total,
                               .amount = (double)done,
                               .note = "",
                               .activity = "pruning",
                               .unit = "runs"};
    mgk_job_report(&m->options->job, &report);
}

static mgk_status receive_order(void *state, size_t order)
{
    const measuring *m = state;
    mgk_diversity_part *part = &m->parts[m->current];
    part->finished_orders = order + 1;
    return m->journal ? mgk_diversity_append_order(m->journal, m->current, part, order) : STATUS_OK;
}

static mgk_status prune_part(measuring *m, size_t i)
{
    const mgk_diversity_pruning follow = {
        .progress = tell_runs, .receive = receive_order, .state = m};
    return mgk_diversity_prune(&m->parts[i], &m->open, &m->options->job, &follow);
}

/* What an interrupted run has finished of the part, which rank 0 knows. */
typedef struct finished_work {
    uint64_t samples, orders;
} finished_work;

/* Measures and prunes what an interrupted run has not finished. Rank 0 alone prunes: each head that
 * is removed depends on those before. */
static mgk_status measure_part(measuring *m, size_t i)
{
    const mgk_diversity_part *part = &m->parts[i];
    mgk_cluster *cluster = cluster_of(m);
    finished_work finished = {part->finished, part->finished_orders};
    TRY(mgk_cluster_broadcast(cluster, &finished, sizeof(finished)));
    const bool measured = finished.samples == part->input->sample_count;
    const bool pruned = !m->options->prune || finished.orders == MGK_PRUNING_ORDERS;
    mgk_status status = STATUS_OK;
    m->current = i;
    m->resumed = (size_t)finished.samples;
    if (!measured || !pruned)
        TRY(mgk_cluster_agree(cluster, open_again(m, i)));
    if (!measured)
        TRY(measure_all(m, i));
    m->before += m->inputs[i].source.count;
    m->done = 0;
    tell_notes(m, i);
    if (m->options->prune && leads(m))
        status = prune_part(m, i);
    TRY(mgk_cluster_agree(cluster, status));
    mgk_source_close(&m->open);
    return STATUS_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Means grow with N and H of the inputs, whatever their attention is like. */
static void tell_sizes(measuring *m, size_t which)
{
    const mgk_diversity_facts *a = &m->facts[0], *b = &m->facts[which];
    const size_t a_heads = m->inputs[0].head_count, b_heads = m->inputs[which].head_count;
    char note[512];
    if (a->most_rows != b->most_rows || a->least_rows != b->least_rows) {
        snprintf(note, sizeof(note),
                 "%s: other sample lengths than %s: differences of ranks, entropies and distances "
                 "mix lengths with attention",
                 m->parts[which].name, m->parts[0].name);
        warn(m, note);
    }
    if (a_heads != b_heads && a_heads > 0 && b_heads > 0) { /* a table of layers has none */
        snprintf(note, sizeof(note),
                 "%s: %zu %s a layer, %s has %zu: effective heads and disagreement depend on "
                 "their number",
                 m->parts[which].name, b_heads, MGK_NOUN(b_heads, "head", "heads"),
                 m->parts[0].name, a_heads);
        warn(m, note);
    }
}

static void tell_comparison(measuring *m, size_t which)
{
    char note[512], samples[128];
    const mgk_diversity_comparison *c = &m->comparisons[which - 1];
    const size_t all_a = m->parts[0].input->sample_count;
    const size_t all_b = m->parts[which].input->sample_count;
    size_t tested = 0, significant = 0;
    for (size_t i = 0; i < c->columns; i++) {
        tested += isnan(c->differences[i].p) ? 0 : 1;
        significant += c->differences[i].p_holm < 0.05 ? 1 : 0;
    }
    if (c->paired && c->a_samples == all_a && c->b_samples == all_b)
        snprintf(samples, sizeof(samples), "paired over the %zu %s of both", c->a_samples,
                 MGK_NOUN(c->a_samples, "sample", "samples"));
    else if (c->paired)
        snprintf(samples, sizeof(samples), "paired over the %zu %s of both, of %zu and %zu",
                 c->a_samples, MGK_NOUN(c->a_samples, "sample", "samples"), all_b, all_a);
    else
        snprintf(samples, sizeof(samples), "unpaired, over %zu and %zu samples", c->b_samples,
                 c->a_samples);
    if (tested > 0)
        snprintf(note, sizeof(note),
                 "%.200s: %s; %zu of %zu differences are significant at 5 %% (Holm)", c->name,
                 samples, significant, tested);
    else
        snprintf(note, sizeof(note),
                 "%.200s: %s; no difference is tested: that takes samples whose values vary",
                 c->name, samples);
    tell(m, note);
    if (c->paired)
        return;
    snprintf(note, sizeof(note),
             "%.200s: too few samples are in both inputs: all count, and none are paired", c->name);
    warn(m, note);
}

static mgk_status compare_inputs(measuring *m)
{
    if (!m->options->compare)
        return STATUS_OK;
    TRY(mgk_alloc(m->count - 1, sizeof(*m->comparisons), &m->comparisons));
    for (size_t i = 1; i < m->count; i++) {
        TRY(mgk_diversity_compare(m->parts, m->count, i, &m->options->job, m->device->threads,
                                  &m->comparisons[i - 1]));
        tell_comparison(m, i);
        tell_sizes(m, i);
    }
    char note[MGK_DIVERSITY_NOTE];
    mgk_diversity_explain_weights(m->comparisons, m->count - 1, note);
    if (*note)
        tell(m, note);
    return STATUS_OK;
}

static mgk_diversity_results results_of(const measuring *m, const char *settings)
{
    return (mgk_diversity_results){.parts = m->parts,
                                   .count = m->count,
                                   .comparisons = m->comparisons,
                                   .settings = settings,
                                   .journal = m->journal};
}

static mgk_status hand_over(const measuring *m, mgk_table **out)
{
    const mgk_diversity_results results = results_of(m, NULL);
    mgk_table *table;
    TRY(mgk_alloc(1, sizeof(*table), &table));
    mgk_status status = mgk_diversity_mean_table(&results, table);
    if (status == STATUS_OK)
        *out = table;
    else
        mgk_free(table);
    return status;
}

static mgk_status write_output(const measuring *m)
{
    char *settings;
    TRY(mgk_diversity_settings(m->options, m->parts, m->count, &m->warnings, &settings));
    const mgk_diversity_results results = results_of(m, settings);
    mgk_status status = mgk_diversity_write(m->options, &results);
    mgk_free(settings);
    return status;
}

/* What every process does by itself before the first matrix. */
static mgk_status begin(measuring *m)
{
    const mgk_diversity_options *o = m->options;
    mgk_job host = o->job;
    host.device = "cpu";
    host.tf32 = false;
    TRY(check_options(o));
    TRY(mgk_job_open_device(&host, true, &m->device));
    TRY(claim_files(m));
    if (o->output && leads(m))
        TRY(mgk_output_check(o->output, o->job.force));
    TRY(find_inputs(m));
    mgk_job_report_device(&o->job, m->device);
    if (leads(m) && !m->measured)
        TRY(mgk_diversity_open_journal(o, m->parts, m->count, &m->journal));
    return take_finished(m);
}

/* `means` may be NULL. */
static mgk_status finish(measuring *m, mgk_table **means)
{
    TRY(compare_inputs(m));
    if (means)
        TRY(hand_over(m, means));
    return write_output(m);
}

static mgk_status measure(measuring *m, mgk_table **means)
{
    const mgk_diversity_options *o = m->options;
    mgk_status status;
    CHECK(mgk_cluster_agree(o->job.cluster, begin(m)));
    CHECK(mgk_sources_compare(m->inputs, m->count, o->job.cluster));
    for (size_t i = 0; i < m->count; i++)
        CHECK(measure_part(m, i));
    status = mgk_cluster_agree(o->job.cluster, leads(m) ? finish(m, means) : STATUS_OK);
out:
    status = mgk_run_journal_close(m->journal, o->array_count == 0, status);
    close_inputs(m);
    mgk_device_close(m->device);
    mgk_claims_release(&m->claims);
    mgk_warnings_free(&m->warnings);
    return status;
}

static mgk_status measure_into(const mgk_diversity_options *options, mgk_table **means)
{
    mgk_diversity_options o = mgk_diversity_options_default();
    measuring m = {.options = &o};
    if (means)
        *means = NULL;
    TRY(mgk_api_take(options, sizeof(o), &o));
    mgk_status status = measure(&m, means);
    if (status != STATUS_OK && means) {
        mgk_table_close(*means);
        *means = NULL;
    }
    return status;
}

mgk_result mgk_measure_diversity(const mgk_diversity_options *options, mgk_table **means)
{
    return mgk_api_result(measure_into(options, means));
}
