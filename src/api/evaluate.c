/* SPDX-License-Identifier: MIT */
/* mgk_evaluate_model: the loss and the accuracy of a model on an input. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/bits.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/progress.h"
#include "run/arguments.h"
#include "run/files.h"
#include "run/input.h"
#include "run/job.h"
#include "run/kind_settings.h"
#include "run/model_run.h"

void mgk_evaluate_options_init(mgk_evaluate_options *options, size_t size)
{
    const mgk_evaluate_options defaults = {.model = NULL};
    mgk_api_init(options, size, &defaults, sizeof(defaults));
}

/* Whether the samples can be windows of a text; arrays of ids are known when they are read. */
static bool has_windows(const mgk_input *input)
{
    if (input->text_count > 0)
        return !input->lines;
    return input->tokens || (input->task && strcmp(input->task, "lm") == 0);
}

static mgk_status check_options(const mgk_evaluate_options *o)
{
    if (!o->model)
        return mgk_fail(STATUS_USAGE, "a model is needed");
    TRY(mgk_check_array("remove", o->remove, o->remove_count));
    TRY(mgk_input_check(&o->input, o->job.part));
    if (o->stride < 0)
        return mgk_fail(STATUS_USAGE, "`stride` %d: expected a positive number", o->stride);
    if (o->stride > 0 && (!has_windows(&o->input) || o->input.target))
        return mgk_fail(STATUS_USAGE, "`stride` belongs to windows of a text");
    return STATUS_OK;
}

/* Checks what only the model tells. */
static mgk_status check_stride(const mgk_evaluate_options *o, const mgk_model_run *run)
{
    if (o->stride > run->tokens)
        return mgk_fail(STATUS_USAGE,
                        "`stride` %d: windows have %d tokens, expected at most as many", o->stride,
                        run->tokens);
    return STATUS_OK;
}

/* Returns the number of heads that are removed. */
static int tell_removed(const mgk_evaluate_options *o, const bool *removed, int heads)
{
    char note[64];
    int count = 0;
    for (int i = 0; i < heads; i++)
        count += removed[i];
    snprintf(note, sizeof(note), "without %d of %d heads", count, heads);
    mgk_job_report(&o->job, &(mgk_report){.note = note, .milestone = true});
    return count;
}

/* out [L, H]: the heads without outputs; NULL: none. Release with mgk_free. */
static mgk_status find_removed(const mgk_evaluate_options *o, const mgk_model_run *run, bool **out,
                               int *count)
{
    const int layers = run->model->config.layers, heads = run->model->config.heads;
    if (o->remove_count == 0)
        return STATUS_OK;
    if (run->cross)
        return mgk_fail(STATUS_UNSUPPORTED, "part \"cross\": heads that attend to the encoder "
                                            "cannot be removed");
    TRY(mgk_alloc((size_t)layers * (size_t)heads, sizeof(**out), out));
    for (size_t i = 0; i < o->remove_count; i++) {
        const mgk_head which = o->remove[i];
        if (which.layer < 0 || which.layer >= layers)
            return mgk_fail(STATUS_SHAPE, "%s: `remove`: layer %d: layers are 0 to %d", o->model,
                            which.layer, layers - 1);
        if (which.head < -1 || which.head >= heads)
            return mgk_fail(STATUS_SHAPE, "%s: `remove`: layer %d, head %d: heads are 0 to %d",
                            o->model, which.layer, which.head, heads - 1);
        bool *layer = *out + (size_t)which.layer * (size_t)heads;
        if (which.head >= 0)
            layer[which.head] = true;
        else
            memset(layer, true, (size_t)heads * sizeof(*layer));
    }
    *count = tell_removed(o, *out, layers * heads);
    return STATUS_OK;
}

/* What each sample of the batch is asked for, a pair once, into hashes of all samples: its next
 * tokens, or its class; and its place in the input. */
static void hash_targets(const mgk_model_run *run, uint64_t *hashes)
{
    const bool language_model = run->model->config.family == MGK_FAMILY_LM;
    const size_t tokens = language_model ? (size_t)run->tokens : 1;
    const size_t first = (size_t)run->first, count = (size_t)run->count;
    const size_t pair = (size_t)mgk_model_run_pair(run);
    for (size_t i = 0; i < count; i += pair) {
        const int32_t *targets = run->targets + i / pair * tokens;
        const uint64_t hash = mgk_hash(MGK_HASH_START, targets, tokens * sizeof(*targets));
        hashes[(first + i) / pair] = mgk_hash(hash, run->index + first + i, sizeof(*run->index));
    }
}

/* `hashes` [S] of targets; NULL: not asked for. */
static mgk_status run_all(const mgk_evaluate_options *o, mgk_model_run *run, uint64_t *hashes)
{
    const mgk_observer observer = {.layer = NULL};
    bool end = false;
    while (!end) {
        const int done = run->first + run->count;
        mgk_job_report(&o->job, &(mgk_report){.done = done,
                                              .total = run->samples,
                                              .amount = (double)done * run->tokens,
                                              .note = ""});
        TRY(mgk_model_run_next(run, &o->job, &observer, &end));
        if (hashes && !end)
            hash_targets(run, hashes);
    }
    return STATUS_OK;
}

/* Bytes that are predicted; 0: not known. */
static double predicted_bytes(const mgk_model_run *run, const mgk_loss *loss)
{
    const bool bytes = !run->tokenizer && run->text.of && !run->memory;
    if (bytes)
        return (double)loss->count;
    return run->samples == run->available ? (double)mgk_dataset_bytes(run->data) : 0;
}

/* The losses of all samples as users get them, out [*count]; release with mgk_free. */
static mgk_status list_losses(const mgk_model_run *run, const uint64_t *hashes, size_t *count,
                              mgk_sample_loss **out)
{
    mgk_loss *losses;
    size_t all;
    TRY(mgk_model_run_losses(run, &all, &losses));
    mgk_status status = mgk_alloc(all, sizeof(**out), out);
    *count = status == STATUS_OK ? all : 0;
    for (size_t i = 0; i < *count; i++)
        (*out)[i] = (mgk_sample_loss){
            .loss = losses[i].sum,
            .targets = losses[i].count,
            .correct = mgk_config_counts_correct(&run->model->config) ? losses[i].correct : -1,
            .hash = hashes[i]};
    mgk_free(losses);
    return status;
}

static mgk_status summarize(const mgk_model_run *run, const uint64_t *hashes,
                            mgk_evaluation_summary *summary)
{
    const bool language_model = run->model->config.family == MGK_FAMILY_LM;
    mgk_loss loss;
    TRY(mgk_model_run_loss(run, &loss));
    if (loss.count == 0)
        return mgk_fail(STATUS_SHAPE, "the input has no token that follows another one");
    const double bytes = predicted_bytes(run, &loss), mean = loss.sum / (double)loss.count;
    *summary = (mgk_evaluation_summary){
        .samples = run->samples,
        .length = run->tokens,
        .targets = loss.count,
        .loss = mean,
        .accuracy = mgk_config_counts_correct(&run->model->config)
                        ? (double)loss.correct / (double)loss.count
                        : NAN,
        .perplexity = language_model ? exp(mean) : NAN,
        .bits_per_byte = language_model && bytes > 0 ? mgk_bits(loss.sum) / bytes : NAN,
        .language_model = language_model};
    return hashes ? list_losses(run, hashes, &summary->sample_loss_count, &summary->sample_losses)
                  : STATUS_OK;
}

static mgk_status check_output(const mgk_evaluate_options *o, mgk_claims *claims)
{
    if (!o->output)
        return STATUS_OK;
    TRY(mgk_claims_add_output(claims, o->output));
    return mgk_output_check(o->output, o->job.force);
}

static mgk_status evaluate(const mgk_evaluate_options *o, mgk_evaluation_summary *summary)
{
    mgk_status status;
    mgk_model_run run = {0};
    mgk_claims claims = {0};
    bool *removed = NULL;
    uint64_t *hashes = NULL;
    const size_t stride = o->stride > 0 ? (size_t)o->stride : SIZE_MAX;
    int capacity, removed_heads = 0;
    TRY(check_options(o));
    CHECK(mgk_files_model(&claims, o->model));
    CHECK(mgk_files_input(&claims, &o->input));
    CHECK(check_output(o, &claims));
    CHECK(mgk_model_run_open_windows(&o->job, o->model, &o->input, o->double_precision, stride,
                                     &run));
    CHECK(check_stride(o, &run));
    CHECK(find_removed(o, &run, &removed, &removed_heads));
    mgk_job_report_device(&o->job, run.device);
    CHECK(mgk_model_run_choose(&run, o->job.seed,
                               o->input.samples > 0 ? o->input.samples : run.available));
    mgk_approximation_free(run.approximation); /* whose errors are not asked for */
    run.approximation = NULL;
    mgk_model_run_tell(&run, &o->job, &o->input);
    CHECK(mgk_model_run_fit(&run, 0, 0, &capacity));
    CHECK(mgk_model_run_prepare(&run, capacity));
    mgk_pass_remove_heads(run.pass, removed);
    CHECK(mgk_model_run_measure_loss(&run, o->per_sample));
    mgk_kinds_tell_choice(&run.model->config, &o->job, o->model);
    if (o->per_sample)
        CHECK(mgk_alloc((size_t)run.samples, sizeof(*hashes), &hashes));
    CHECK(run_all(o, &run, hashes));
    CHECK(summarize(&run, hashes, summary));
    summary->removed_heads = removed_heads;
out:
    mgk_model_run_close(&run);
    mgk_free(removed);
    mgk_free(hashes);
    mgk_claims_release(&claims);
    return status;
}

mgk_result mgk_evaluate_model(const mgk_evaluate_options *options, mgk_evaluation_summary *summary)
{
    mgk_evaluate_options o = mgk_evaluate_options_default();
    mgk_status status = mgk_api_take(options, sizeof(o), &o);
    mgk_evaluation_summary own = {0};
    const double start = mgk_seconds();
    if (status == STATUS_OK)
        status = evaluate(&o, &own);
    own.seconds = mgk_seconds() - start;
    if (summary)
        *summary = own;
    else
        mgk_free(own.sample_losses);
    return mgk_api_result(status);
}
