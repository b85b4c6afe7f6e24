/* SPDX-License-Identifier: MIT */
/* mgk_rank_attention: counts the ranks of all inputs, one after another, into one table. */
#include "rank/rank.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "analysis/run/rank_journal.h"
#include "analysis/run/run.h"
#include "analysis/table/rank_columns.h"
#include "api/api.h"
#include "base/memory.h"
#include "base/number.h"
#include "plots/charts/heatmap_grid.h"
#include "run/arguments.h"
#include "run/array_axes.h"
#include "run/files.h"
#include "run/job.h"
#include "run/run_journal.h"
#include "run/shared_samples.h"

/* One call of mgk_rank_attention. */
typedef struct ranking {
    const mgk_rank_options *options;
    mgk_device *device;       /* computes spectra if it is faster than the host's threads */
    mgk_source_input *inputs; /* [input_count] */
    size_t input_count;
    mgk_journal *journal; /* NULL without an output */
    mgk_rank_table table; /* rows of the finished inputs */
    mgk_claims claims;
    mgk_warnings warnings;

    pthread_t caller; /* the only thread that may call the watcher */
    /* matrices: in finished inputs, in the current one, in all inputs */
    size_t before, done, total;
    size_t told;                   /* matrices reported to the watcher */
    volatile sig_atomic_t stopped; /* the watcher asked to stop */
    mgk_share *share;              /* of the current input among the processes; NULL: none */
    size_t known;                  /* matrices of it that an earlier run has counted */
    mgk_zero_keys zero_keys;       /* of the current input, by all processes */
} ranking;

static mgk_cluster *cluster_of(const ranking *r)
{
    return r->options->job.cluster;
}

void mgk_rank_options_init(mgk_rank_options *options, size_t size)
{
    static const double published = 1e-6;
    const mgk_rank_options defaults = {
        .thresholds = &published, .threshold_count = 1, .matrices = 1000, .method = "auto"};
    mgk_api_init(options, size, &defaults, sizeof(defaults));
}

static mgk_status check_method(const char *method)
{
    static const char *const methods[] = {"auto", "svd", "count", "bisection"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
        if (!method || strcmp(method, methods[i]) == 0)
            return STATUS_OK;
    return mgk_fail(STATUS_USAGE, "method \"%s\": expected auto, svd, count or bisection", method);
}

static mgk_status check_options(const mgk_rank_options *o)
{
    const mgk_source_options sources = mgk_rank_source_options(o);
    TRY(mgk_sources_check(&sources));
    TRY(mgk_check_array("thresholds", o->thresholds, o->threshold_count));
    const size_t count = o->input_count + o->array_count;
    if (o->png && count > MGK_GROUPS_MAX)
        return mgk_fail(STATUS_USAGE, "%zu inputs: a picture shows at most %d", count,
                        MGK_GROUPS_MAX);
    if (o->resume && o->array_count > 0)
        return mgk_fail(STATUS_USAGE, "`resume` continues runs over files and models, not arrays");
    if (o->resume && !o->output)
        return mgk_fail(STATUS_USAGE, "`resume` continues a run with an `output`");
    if (o->spectrum && count > 1)
        return mgk_fail(STATUS_USAGE, "spectra are kept of one input at a time");
    return check_method(o->method);
}

static void tell_progress(ranking *r)
{
    r->told = r->before + r->done;
    const mgk_report report = {.done = (int64_t)r->told,
                               .total = (int64_t)r->total,
                               .amount = (double)r->told,
                               .note = ""};
    mgk_job_report(&r->options->job, &report);
}

static void tell(ranking *r, const char *note)
{
    mgk_job_report(&r->options->job, &(mgk_report){.note = note, .milestone = true});
}

/* Reports what the table repeats. */
static void warn(ranking *r, const char *note)
{
    if (!*note)
        return;
    mgk_job_report(&r->options->job,
                   &(mgk_report){.note = note, .milestone = true, .warning = true});
    mgk_warnings_add(&r->warnings, note);
}

static void progress(void *state, size_t done, size_t count)
{
    ranking *r = state;
    (void)count;
    r->done = r->share ? r->known + mgk_share_delivered(r->share) : done;
    if (!pthread_equal(pthread_self(), r->caller))
        return;
    tell_progress(r);
    if (mgk_job_stopped(&r->options->job))
        r->stopped = 1;
}

static void tell_limit(void *state, int threads, int wanted)
{
    char note[MGK_LIMIT_NOTE];
    mgk_job_limit_note(threads, wanted, note);
    tell(state, note);
}

static mgk_status claim_files(const mgk_rank_options *o, mgk_claims *claims)
{
    const mgk_source_options sources = mgk_rank_source_options(o);
    TRY(mgk_sources_claim(&sources, claims));
    if (!mgk_cluster_leads(o->job.cluster)) /* others do not write */
        return STATUS_OK;
    if (o->output)
        TRY(mgk_claims_add_output(claims, o->output));
    if (o->output)
        TRY(mgk_run_journal_claim(o->output, claims));
    if (o->png)
        TRY(mgk_claims_add_output(claims, o->png));
    return mgk_files_lock(claims, &o->job);
}

/* How many matrices are counted, if it is another number than the options or the input say. Nobody
 * asked for the usual number. */
static void tell_choice(ranking *r, const mgk_source_input *input)
{
    const int wanted = r->options->matrices, usual = mgk_rank_options_default().matrices;
    const size_t chosen = input->per_layer, all = input->sample_count * input->head_count;
    char note[512];
    if (chosen < all && wanted == usual)
        snprintf(note, sizeof(note),
                 "%s: %zu of %zu matrices in each layer, drawn by seed (`matrices` 0: all)",
                 input->name, chosen, all);
    else if (chosen < (size_t)wanted && wanted != usual)
        snprintf(note, sizeof(note), "%s: only %zu %s in each layer (%d wanted)", input->name,
                 chosen, MGK_NOUN(chosen, "matrix", "matrices"), wanted);
    else
        return;
    tell(r, note);
}

static mgk_status open_inputs(ranking *r)
{
    const mgk_rank_options *o = r->options;
    mgk_source_options sources = mgk_rank_source_options(o);
    size_t memory;
    char note[512];
    TRY(mgk_memory_left(r->device, o->job.cluster, o->memory, 0, &memory));
    sources.memory = memory / 4;
    TRY(mgk_sources_open(&sources, &r->inputs, &r->input_count));
    for (size_t i = 0; i < r->input_count; i++) {
        const mgk_source_input *input = &r->inputs[i];
        r->total += input->source.count;
        mgk_array_axes_explain(input->name, input->axes, o->dataset, note, sizeof(note));
        if (!o->axes)
            warn(r, note);
        tell_choice(r, input);
    }
    return STATUS_OK;
}

static void tell_zero_keys(ranking *r, const mgk_source_input *input)
{
    char note[512];
    mgk_zero_keys_explain(input->name, &r->zero_keys, input->keys, note, sizeof(note));
    warn(r, note);
}

/* A picture has one panel per layer, in which the inputs' histograms overlap. */
static mgk_status check_layers(const ranking *r)
{
    const mgk_source_input *first = &r->inputs[0];
    for (size_t i = 1; r->options->png && i < r->input_count; i++) {
        const mgk_source_input *input = &r->inputs[i];
        if (input->layer_count != first->layer_count ||
            memcmp(input->source.layers, first->source.layers,
                   first->layer_count * sizeof(*first->source.layers)) != 0)
            return mgk_fail(STATUS_SHAPE,
                            "%s and %s have different layers, which one picture cannot show: "
                            "choose common ones by `layers`",
                            first->name, input->name);
    }
    return STATUS_OK;
}

static bool is_method(const mgk_rank_options *o, const char *method)
{
    return o->method && strcmp(o->method, method) == 0;
}

/* A GPU counts square matrices alone. */
static void tell_device(ranking *r, const mgk_source_input *input)
{
    char note[512];
    if (!r->device->accelerator || !input->source.cross)
        return;
    snprintf(
        note, sizeof(note),
        "%s: attention of one sequence to another is counted on the CPU: the GPU counts square "
        "matrices alone",
        input->name);
    tell(r, note);
}

static mgk_status run_options(ranking *r, const mgk_source_input *input, mgk_rank_run_options *out)
{
    const mgk_rank_options *o = r->options;
    size_t memory;
    TRY(mgk_memory_left(r->device, o->job.cluster, o->memory, input->held, &memory));
    *out =
        (mgk_rank_run_options){.threshold_count = o->threshold_count,
                               .thresholds = o->thresholds,
                               .relative = o->relative,
                               .keep_spectra = o->spectrum,
                               .allow_zero_rows = o->allow_zero_rows || input->source.may_be_blank,
                               .count_only = is_method(o, "count"),
                               .bisection = is_method(o, "bisection"),
                               .threads = o->job.threads,
                               .memory = memory,
                               .memory_is_most = o->memory > 0,
                               .device = r->device,
                               .journal = r->journal,
                               .input = (size_t)(input - r->inputs),
                               .cancel = &r->stopped,
                               .progress = progress,
                               .limited = tell_limit,
                               .progress_state = r};
    return STATUS_OK;
}

static mgk_status run(const mgk_source_input *input, const mgk_rank_run_options *options,
                      mgk_rank_table *table)
{
    mgk_status status = mgk_rank_run(&input->source, options, table);
    return status == STATUS_NUMERIC || status == STATUS_UNSUPPORTED
               ? mgk_fail_prefix(status, input->name)
               : status;
}

/* Computes the matrices of an input that the journal lacks, or all without a journal, and adds them
 * to the table. */
static mgk_status rank_input(ranking *r, mgk_source_input *input)
{
    mgk_rank_run_options options;
    mgk_rank_table table;
    r->done = 0;
    TRY(run_options(r, input, &options));
    TRY(cluster_of(r) ? mgk_rank_read(&input->source, &options, &table)
                      : run(input, &options, &table));
    if (!cluster_of(r) && input->zero_keys)
        r->zero_keys = *input->zero_keys;
    if (r->told < r->before + r->done) /* another thread finished the last one */
        tell_progress(r);
    tell_zero_keys(r, input);
    r->before += r->done;
    r->done = 0;
    if (r->table.row_count == 0) {
        r->table = table;
        return STATUS_OK;
    }
    mgk_status status = mgk_rank_table_join(&r->table, &table);
    mgk_rank_table_free(&table);
    return status;
}

/* ---- several processes ----------------------------------------------------------------------- */

/* Rank 0: keeps the line of a matrix. */
static mgk_status keep_line(void *state, const void *bytes, size_t size)
{
    const ranking *r = state;
    return mgk_journal_append(r->journal, bytes, size);
}

static void tell_others(void *state)
{
    progress(state, 0, 0);
}

static mgk_status send_line(void *share, const char *text, size_t size)
{
    return mgk_share_deliver(share, text, size);
}

/* Marks the matrices of an input that the journal of rank 0 has. */
static mgk_status find_known(ranking *r, const mgk_source_input *input, bool **known)
{
    const mgk_cluster *cluster = cluster_of(r);
    const mgk_rank_options *o = r->options;
    const mgk_source *source = &input->source;
    mgk_rank_table table = {0};
    bool *own = NULL;
    mgk_status status = mgk_alloc(source->count, sizeof(**known), known);
    if (status == STATUS_OK && r->journal)
        status = mgk_rank_table_make(o->threshold_count, o->thresholds,
                                     o->spectrum ? source->n_max : 0, &table);
    if (status == STATUS_OK && r->journal)
        status =
            mgk_rank_journal_read(r->journal, (size_t)(input - r->inputs), source, &table, &own);
    for (size_t i = 0; own && i < source->count; i++)
        (*known)[i] = own[i];
    mgk_free(own);
    mgk_rank_table_free(&table);
    TRY(mgk_cluster_agree(cluster, status));
    TRY(mgk_cluster_broadcast(cluster, *known, source->count * sizeof(**known)));
    r->known = 0;
    for (size_t i = 0; i < source->count; i++)
        r->known += (*known)[i];
    return STATUS_OK;
}

/* This process's part: its lines go to rank 0. */
static mgk_status rank_part(ranking *r, const mgk_source_input *input, size_t step,
                            const bool *known)
{
    const size_t matrices = input->source.count * step / input->sample_count + 1;
    mgk_shared_samples samples = {.share = r->share, .step = step};
    const mgk_run_part part = mgk_shared_samples_part(&samples, matrices, r->device);
    mgk_rank_run_options options;
    mgk_rank_table rows;
    mgk_journal *sender;
    mgk_status status = mgk_journal_open_sender(send_line, r->share, &sender);
    if (status == STATUS_OK)
        status = run_options(r, input, &options);
    options.journal = sender;
    options.part = &part;
    options.known = known;
    if (status == STATUS_OK)
        status = run(input, &options, &rows);
    if (status == STATUS_OK)
        mgk_rank_table_free(&rows);
    mgk_journal_close(sender, false);
    return status;
}

/* Computes the matrices of an input that the journal of rank 0 lacks, by all processes, into it. */
static mgk_status rank_together(ranking *r, const mgk_source_input *input)
{
    mgk_cluster *cluster = cluster_of(r);
    const mgk_share_options shared = {
        .most = SIZE_MAX, .receive = keep_line, .wait = tell_others, .state = r};
    size_t step;
    bool *known = NULL;
    mgk_status status;
    CHECK(find_known(r, input, &known));
    CHECK(mgk_shared_samples_step(cluster, &input->source, input->sample_count, &step));
    mgk_share_options options = shared;
    options.count = mgk_shared_samples_units(input->sample_count, step);
    CHECK(mgk_share_begin(cluster, &options, &r->share));
    status = rank_part(r, input, step, known);
    status = mgk_share_end(r->share, status);
    r->share = NULL;
    if (status == STATUS_OK) {
        r->done = input->source.count;
        tell_progress(r);
    }
    if (status == STATUS_OK && input->zero_keys)
        status = mgk_zero_keys_sum(cluster, input->zero_keys, &r->zero_keys);
    if (status == STATUS_OK)
        status = mgk_source_merge(input, cluster);
out:
    mgk_free(known);
    return status;
}

/* Counts an input. Of several processes rank 0 alone has the table. */
static mgk_status rank_by_all(ranking *r, mgk_source_input *input)
{
    mgk_cluster *cluster = cluster_of(r);
    tell_device(r, input);
    r->zero_keys = (mgk_zero_keys){0};
    if (!cluster)
        return rank_input(r, input);
    TRY(rank_together(r, input));
    return mgk_cluster_agree(cluster,
                             mgk_cluster_leads(cluster) ? rank_input(r, input) : STATUS_OK);
}

static mgk_status open_journal(ranking *r)
{
    const mgk_rank_options *o = r->options;
    char note[512];
    if (!mgk_cluster_leads(o->job.cluster))
        return STATUS_OK;
    if (o->job.cluster && !o->output)
        return mgk_journal_open_temporary(MGK_RANK_LINE_BYTES, &r->journal);
    TRY(mgk_rank_open_journal(o, r->inputs, r->device->accelerator, &r->journal));
    if (!o->resume)
        return STATUS_OK;
    snprintf(note, sizeof(note), "%s" MGK_JOURNAL_ENDING ": %zu of %zu %s finished already",
             o->output, mgk_journal_resumed(r->journal), r->total,
             MGK_NOUN(r->total, "matrix is", "matrices are"));
    tell(r, note);
    return STATUS_OK;
}

static mgk_status hand_over(const ranking *r, mgk_table **out)
{
    mgk_table *table;
    TRY(mgk_alloc(1, sizeof(*table), &table));
    mgk_status status = mgk_rank_table_columns(&r->table, table);
    if (status == STATUS_OK)
        *out = table;
    else
        mgk_free(table);
    return status;
}

static mgk_status summarize(const ranking *r, mgk_rank_summary *out)
{
    bool unnormalized = true;
    for (size_t i = 0; i < r->input_count; i++)
        unnormalized &= r->inputs[i].source.unnormalized;
    TRY(mgk_rank_summarize(&r->table, unnormalized, out));
    for (size_t i = 0; i < out->count; i++)
        memcpy(out->layers[i].axes, r->inputs[out->layers[i].input].axes,
               sizeof(out->layers[i].axes));
    return STATUS_OK;
}

static void tell_warnings(ranking *r, const char *lines)
{
    char line[512];
    for (size_t length; *lines; lines += length + 1) {
        length = strcspn(lines, "\n");
        snprintf(line, sizeof(line), "%.*s", (int)length, lines);
        warn(r, line);
    }
}

/* What every process does by itself before the first matrix. */
static mgk_status begin(ranking *r)
{
    mgk_job job = r->options->job;
    job.tf32 = false; /* spectra need float64; TF32 is for the model's products */
    TRY(check_options(r->options));
    TRY(mgk_job_open_device(&job, true, &r->device));
    TRY(mgk_rank_check_endings(r->options));
    TRY(claim_files(r->options, &r->claims));
    if (mgk_cluster_leads(cluster_of(r)))
        TRY(mgk_rank_check_outputs(r->options));
    TRY(open_inputs(r));
    TRY(check_layers(r));
    mgk_job_report_device(&r->options->job, r->device);
    return open_journal(r);
}

/* Steps that may fail come before the outputs: these appear only if the job succeeds. `table` and
 * `summary` may be NULL. */
static mgk_status finish(ranking *r, mgk_table **table, mgk_rank_summary *summary)
{
    mgk_rank_summary own = {0};
    mgk_status status;
    CHECK(summarize(r, &own));
    tell_warnings(r, own.warnings);
    CHECK(mgk_rank_record_settings(r->options, r->inputs, r->input_count, r->device->name,
                                   &r->warnings, &r->table.settings));
    if (table)
        CHECK(hand_over(r, table));
    CHECK(mgk_rank_write_outputs(r->options, &r->table));
    if (summary) {
        *summary = own;
        own = (mgk_rank_summary){0};
    }
out:
    mgk_free(own.layers);
    mgk_free(own.histogram);
    return status;
}

/* Says after how many matrices a run was interrupted: inputs, processes and threads count their
 * own, and threads end what they have begun. */
static void count_finished(const ranking *r)
{
    const size_t lines = mgk_journal_lines(r->journal);
    mgk_fail(STATUS_INTERRUPTED, "interrupted after %zu %s", lines,
             MGK_NOUN(lines, "matrix", "matrices"));
}

static mgk_status rank_attention(ranking *r, mgk_table **table, mgk_rank_summary *summary)
{
    mgk_cluster *cluster = cluster_of(r);
    mgk_status status;
    CHECK(mgk_cluster_agree(cluster, begin(r)));
    CHECK(mgk_sources_compare(r->inputs, r->input_count, cluster));
    for (size_t i = 0; i < r->input_count; i++)
        CHECK(rank_by_all(r, &r->inputs[i]));
    status = mgk_cluster_leads(cluster) ? finish(r, table, summary) : STATUS_OK;
    status = mgk_cluster_agree(cluster, status);
out:
    if (status == STATUS_INTERRUPTED && r->journal)
        count_finished(r);
    status = mgk_run_journal_close(r->journal, r->options->array_count == 0, status);
    mgk_sources_close(r->inputs, r->input_count);
    mgk_device_close(r->device);
    mgk_rank_table_free(&r->table);
    mgk_claims_release(&r->claims);
    mgk_warnings_free(&r->warnings);
    return status;
}

static mgk_status rank_into(const mgk_rank_options *options, mgk_table **table,
                            mgk_rank_summary *summary)
{
    mgk_rank_options o = mgk_rank_options_default();
    ranking r = {.options = &o, .caller = pthread_self()};
    if (summary)
        *summary = (mgk_rank_summary){0};
    TRY(mgk_api_take(options, sizeof(o), &o));
    mgk_status status = rank_attention(&r, table, summary);
    if (status != STATUS_OK && table) {
        mgk_table_close(*table);
        *table = NULL;
    }
    return status;
}

mgk_result mgk_rank_attention(const mgk_rank_options *options, mgk_rank_summary *summary)
{
    return mgk_api_result(rank_into(options, NULL, summary));
}

mgk_result mgk_rank_to_table(const mgk_rank_options *options, mgk_table **table,
                             mgk_rank_summary *summary)
{
    mgk_status status = mgk_check_place("place for the table", table);
    if (status != STATUS_OK)
        return mgk_api_result(status);
    *table = NULL;
    return mgk_api_result(rank_into(options, table, summary));
}
