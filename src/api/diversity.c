/* SPDX-License-Identifier: MIT */
/* mgk_measure_diversity: measures all inputs into one table, one after another. */
#include "diversity/measuring.h"

#include <math.h>
#include <stdio.h>

#include "analysis/measures/registry.h"
#include "api/api.h"
#include "base/append.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "diversity/together.h"
#include "run/arguments.h"
#include "run/files.h"
#include "run/job.h"
#include "run/run_journal.h"

static mgk_cluster *cluster_of(const mgk_measuring *m)
{
    return m->options->job.cluster;
}

static bool leads(const mgk_measuring *m)
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

static mgk_status check_across_models(const mgk_diversity_options *o)
{
    const size_t inputs = o->model_count + o->input_count + o->array_count;
    if (o->across_models && inputs != 2)
        return mgk_fail(STATUS_USAGE, "`across_models` takes two inputs, not %zu", inputs);
    if (o->across_models && (o->compare || o->prune))
        return mgk_fail(STATUS_USAGE, "`across_models` takes both as one: %s has another run",
                        o->compare ? "`compare`" : "`prune`");
    return STATUS_OK;
}

static mgk_status check_options(const mgk_diversity_options *o)
{
    const mgk_source_options sources = mgk_diversity_source_options(o);
    TRY(mgk_check_names("models", o->models, o->model_count));
    if (o->prune && o->model_count == 0)
        return mgk_fail(STATUS_USAGE,
                        "`prune` runs a model without some heads: files of matrices have none");
    if (o->prune_held_out < 0 || (o->prune_held_out > 0 && !o->prune))
        return mgk_fail(STATUS_USAGE,
                        o->prune ? "`prune_held_out` is %d, expected 0 or more"
                                 : "`prune_held_out` is %d, and belongs to `prune`",
                        o->prune_held_out);
    TRY(mgk_sources_check(&sources));
    TRY(mgk_check_names("measures", o->measures, o->measure_count));
    if (o->measures && o->measure_count == 0)
        return mgk_fail(STATUS_USAGE, "no measures");
    TRY(check_across_models(o));
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

static void tell_progress(mgk_measuring *m)
{
    const size_t done = m->before + m->done;
    const mgk_report report = {
        .done = (int64_t)done, .total = (int64_t)m->total, .amount = (double)done, .note = ""};
    mgk_job_report(&m->options->job, &report);
}

static void progress(void *state, size_t done)
{
    mgk_measuring *m = state;
    m->done = done;
    tell_progress(m);
    if (mgk_job_stopped(&m->options->job))
        m->stopped = 1;
}

static void tell_limit(void *state, int threads, int wanted)
{
    char note[MGK_LIMIT_NOTE];
    mgk_job_limit_note(threads, wanted, note);
    mgk_measuring_tell(state, note);
}

static mgk_status claim_files(mgk_measuring *m)
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

/* ---- samples --------------------------------------------------------------------------------- */

static void add_record(mgk_measuring *m, size_t i, double *record)
{
    mgk_diversity_part *part = &m->parts[i];
    if (part->layer_means)
        mgk_diversity_keep_sample(part, part->finished, record);
    mgk_diversity_means_add(&part->means, record);
    mgk_diversity_prune_take(part, record);
    mgk_diversity_collect(&part->layout, record, &m->facts[i]);
    mgk_diversity_hash_sample(part, record);
    part->finished++;
}

/* Adds the sample, or the order of pruning, that was read. */
static mgk_status take_read(mgk_measuring *m, const mgk_diversity_replay *replay)
{
    mgk_diversity_part *part = &m->parts[replay->input];
    if (replay->number >= part->input->sample_count)
        return mgk_diversity_replay_order(replay, part);
    add_record(m, replay->input, replay->record);
    return STATUS_OK;
}

static void tell_finished(mgk_measuring *m)
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
        mgk_append(note, sizeof(note), ", and %zu of %zu orders of pruning", orders,
                   m->count * MGK_PRUNING_ORDERS);
    mgk_measuring_tell(m, note);
}

/* Adds what an interrupted run has finished. */
static mgk_status take_finished(mgk_measuring *m)
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
    mgk_measuring *m = state;
    if (m->journal)
        TRY(mgk_diversity_append(m->journal, m->current, &m->parts[m->current], sample, record));
    add_record(m, m->current, record);
    return STATUS_OK;
}

static void tell_notes(mgk_measuring *m, size_t i)
{
    mgk_diversity_notes notes;
    const mgk_source *source = &m->inputs[i].source;
    const bool pairs = m->options->across_models; /* a causal mask changes none of their measures */
    mgk_diversity_explain(m->inputs[i].name, &m->facts[i], pairs || source->causal || source->cross,
                          source->unnormalized, &notes);
    for (size_t n = 0; n < notes.count; n++)
        mgk_measuring_warn(m, notes.lines[n]);
}

/* Tells of columns of zeros in the matrices of an input that may have them. */
static mgk_status find_zero_keys(mgk_measuring *m, const mgk_source_input *input)
{
    char note[MGK_DIVERSITY_NOTE];
    mgk_zero_keys zero_keys;
    if (!input->zero_keys)
        return STATUS_OK;
    TRY(mgk_zero_keys_sum(cluster_of(m), input->zero_keys, &zero_keys));
    mgk_zero_keys_explain(input->name, &zero_keys, input->keys, note, sizeof(note));
    if (*note)
        mgk_measuring_warn(m, note);
    return STATUS_OK;
}

/* Measures the samples of the input that an interrupted run has not finished. */
static mgk_status measure_samples(mgk_measuring *m, size_t i)
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

static mgk_status measure_all(mgk_measuring *m, size_t i)
{
    const mgk_source_input *input = &m->open;
    TRY(measure_samples(m, i));
    for (size_t k = 0; k < (input->joined ? 2 : 1); k++)
        TRY(find_zero_keys(m, input->joined ? &input->joined[k] : input));
    return mgk_source_merge(input, cluster_of(m));
}

static void tell_runs(void *state, size_t done, size_t total)
{
    const mgk_measuring *m = state;
    const mgk_report report = {.done = (int64_t)done,
                               .total = (int64_t)total,
                               .amount = (double)done,
                               .note = m->count > 1 ? m->inputs[m->current].name : "",
                               .activity = "pruning",
                               .unit = "runs"};
    mgk_job_report(&m->options->job, &report);
}

static mgk_status receive_order(void *state, size_t order)
{
    const mgk_measuring *m = state;
    mgk_diversity_part *part = &m->parts[m->current];
    part->finished_orders = order + 1;
    return m->journal ? mgk_diversity_append_order(m->journal, m->current, part, order) : STATUS_OK;
}

/* What a reader of the curves must know. */
static void tell_pruning(mgk_measuring *m, size_t i)
{
    static const char *const told[MGK_IMPORTANCES] = {
        [MGK_IMPORTANCE_DIVERGENCE] = "the divergence of predictions",
        [MGK_IMPORTANCE_HIDDEN] = "the relative change of the last hidden states"};
    const mgk_diversity_part *part = &m->parts[i];
    const size_t samples = part->input->sample_count;
    char note[512];
    if (told[part->pruned_by]) {
        snprintf(note, sizeof(note),
                 "%.200s: pruning tells %s: the input has no targets for a loss", part->name,
                 told[part->pruned_by]);
        mgk_measuring_tell(m, note);
    }
    if (m->options->prune_held_out > 0 || samples >= MGK_BOOTSTRAP_SAMPLES)
        return;
    snprintf(note, sizeof(note),
             "%.200s: pruning by %zu %s: the same few choose the order of heads and measure the "
             "loss, which is lower than on others (`prune_held_out` keeps some apart)",
             part->name, samples, MGK_NOUN(samples, "sample", "samples"));
    mgk_measuring_warn(m, note);
}

static mgk_status prune_part(mgk_measuring *m, size_t i)
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
static mgk_status measure_part(mgk_measuring *m, size_t i)
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
        TRY(mgk_cluster_agree(cluster, mgk_measuring_open_again(m, i)));
    if (!measured)
        TRY(measure_all(m, i));
    m->before += m->inputs[i].source.count;
    m->done = 0;
    tell_notes(m, i);
    if (m->options->prune && leads(m)) {
        tell_pruning(m, i);
        status = prune_part(m, i);
    }
    TRY(mgk_cluster_agree(cluster, status));
    mgk_source_close(&m->open);
    return STATUS_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

static mgk_diversity_results results_of(const mgk_measuring *m, const char *settings)
{
    return (mgk_diversity_results){.parts = m->parts,
                                   .count = m->count,
                                   .comparisons = m->comparisons,
                                   .settings = settings,
                                   .journal = m->journal};
}

/* Makes the table of means, with the settings of the run. */
static mgk_status hand_over(const mgk_measuring *m, mgk_table **out)
{
    const mgk_diversity_results results = results_of(m, NULL);
    mgk_status status;
    mgk_table *table = NULL;
    char *settings = NULL;
    CHECK(mgk_diversity_settings(m->options, m->parts, m->count, &m->warnings, &settings));
    CHECK(mgk_alloc(1, sizeof(*table), &table));
    CHECK(mgk_diversity_mean_table(&results, table));
    table->settings = settings;
    *out = table;
    return STATUS_OK;
out:
    mgk_free(settings);
    mgk_free(table);
    return status;
}

static mgk_status write_output(const mgk_measuring *m)
{
    char *settings;
    TRY(mgk_diversity_settings(m->options, m->parts, m->count, &m->warnings, &settings));
    const mgk_diversity_results results = results_of(m, settings);
    mgk_status status = mgk_diversity_write(m->options, &results);
    mgk_free(settings);
    return status;
}

/* What every process does by itself before the first matrix. */
static mgk_status begin(mgk_measuring *m)
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
    TRY(mgk_measuring_find_inputs(m));
    mgk_job_report_device(&o->job, m->device);
    if (leads(m) && !m->measured)
        TRY(mgk_diversity_open_journal(o, m->parts, m->count, &m->journal));
    return take_finished(m);
}

/* `means` may be NULL. */
static mgk_status finish(mgk_measuring *m, mgk_table **means)
{
    TRY(mgk_measuring_compare(m));
    if (means)
        TRY(hand_over(m, means));
    return write_output(m);
}

static mgk_status measure(mgk_measuring *m, mgk_table **means)
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
    mgk_measuring_close_inputs(m);
    mgk_device_close(m->device);
    mgk_claims_release(&m->claims);
    mgk_warnings_free(&m->warnings);
    return status;
}

static mgk_status measure_into(const mgk_diversity_options *options, mgk_table **means)
{
    mgk_diversity_options o = mgk_diversity_options_default();
    mgk_measuring m = {.options = &o};
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
