/* SPDX-License-Identifier: MIT */
/* The journal of a run of measures, and the settings of the run. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/run/record_line.h"
#include "analysis/run/samples_hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "diversity/diversity.h"
#include "run/run_journal.h"
#include "run/source_settings.h"

/* ---- settings -------------------------------------------------------------------------------- */

/* The names of all measures of a part's records. */
static bool add_measures(cJSON *object, const mgk_record_layout *layout, size_t count)
{
    cJSON *array = cJSON_AddArrayToObject(object, "measures");
    bool added = array != NULL;
    for (size_t m = 0; m < count && added; m++)
        added = mgk_json_append(array, cJSON_CreateString(layout->measures[m]->name));
    return added;
}

static bool add_options(cJSON *object, const mgk_diversity_options *o)
{
    return cJSON_AddNumberToObject(object, "threshold", o->threshold) &&
           cJSON_AddBoolToObject(object, "relative", o->relative) &&
           cJSON_AddBoolToObject(object, "causal", o->causal) &&
           cJSON_AddBoolToObject(object, "across_layers", o->across_layers) &&
           (!o->across_models || cJSON_AddTrueToObject(object, "across_models"));
}

/* What decides the records, so that a run continues only its own journal. */
static bool add_parts(cJSON *settings, const mgk_diversity_part *parts, size_t count)
{
    cJSON *array = cJSON_AddArrayToObject(settings, "records");
    bool added = array != NULL;
    for (size_t i = 0; i < count && added; i++) {
        cJSON *part = cJSON_CreateObject();
        added = mgk_json_append(array, part) &&
                cJSON_AddStringToObject(part, "input", parts[i].name) &&
                cJSON_AddStringToObject(part, "sha256", parts[i].input->sha256) &&
                add_measures(part, &parts[i].layout, parts[i].layout.measure_count);
    }
    return added;
}

/* Left out of the settings without pruning, whose journals hold samples alone. */
static bool add_pruning(cJSON *settings, const mgk_diversity_options *o)
{
    return (!o->prune || cJSON_AddTrueToObject(settings, "prune")) &&
           (!o->prune_held_out ||
            cJSON_AddNumberToObject(settings, "prune_held_out", o->prune_held_out));
}

/* The settings of further models, which may have tokenizers of their own. */
static bool add_further(cJSON *settings, const mgk_diversity_options *o,
                        const mgk_diversity_part *parts)
{
    mgk_source_options sources = mgk_diversity_source_options(o);
    cJSON *array = cJSON_AddArrayToObject(settings, "further models");
    bool added = array != NULL;
    for (size_t i = 1; i < o->model_count && added; i++) {
        cJSON *further = cJSON_CreateObject();
        sources.model = o->models[i];
        added = mgk_json_append(array, further) &&
                mgk_sources_identify(further, &sources, parts[o->across_models ? 0 : i].input);
    }
    return added;
}

/* One line; release with cJSON_free; NULL: no memory. */
static char *print_identity(const mgk_diversity_options *o, const mgk_diversity_part *parts,
                            size_t count)
{
    char *text = NULL;
    const mgk_source_options sources = mgk_diversity_source_options(o);
    cJSON *settings = cJSON_CreateObject();
    if (cJSON_AddStringToObject(settings, "journal of mgk-diversity", MGK_VERSION) &&
        mgk_sources_identify(settings, &sources, parts[0].input) && add_options(settings, o) &&
        add_pruning(settings, o) && add_further(settings, o, parts) &&
        add_parts(settings, parts, count))
        text = cJSON_PrintUnformatted(settings);
    cJSON_Delete(settings);
    return text;
}

void mgk_diversity_hash_sample(mgk_diversity_part *part, double *record)
{
    const double *facts = mgk_record_facts(&part->layout, record, 0, 0);
    const bool first = part->finished == 0;
    part->tokens_known = (first || part->tokens_known) && !isnan(facts[MGK_FACT_TOKENS]);
    part->samples_hash = mgk_samples_hash(first ? MGK_HASH_START : part->samples_hash,
                                          facts[MGK_FACT_ROWS], facts[MGK_FACT_TOKENS]);
}

static cJSON *print_samples_hash(const mgk_diversity_part *part)
{
    char text[MGK_SAMPLES_HASH_TEXT];
    if (part->finished == 0 || !part->tokens_known)
        return cJSON_CreateNull();
    mgk_samples_hash_print(part->samples_hash, text);
    return cJSON_CreateString(text);
}

/* The inputs of the run, the models' hashes, the names of those of stores, training steps, and
 * hashes of the samples; null if unknown. */
static bool add_inputs(cJSON *settings, const mgk_diversity_part *parts, size_t count)
{
    cJSON *inputs = cJSON_AddArrayToObject(settings, "inputs");
    cJSON *hashes = inputs ? cJSON_AddArrayToObject(settings, "model_sha256") : NULL;
    cJSON *models = hashes ? cJSON_AddArrayToObject(settings, "models") : NULL;
    cJSON *steps = models ? cJSON_AddArrayToObject(settings, "training_step") : NULL;
    cJSON *samples = steps ? cJSON_AddArrayToObject(settings, "samples_hash") : NULL;
    bool added = samples != NULL;
    for (size_t i = 0; i < count && added; i++) {
        const char *hash = parts[i].joined ? "" : parts[i].input->sha256,
                   *model = parts[i].input->model;
        const int64_t step = parts[i].input->training_step;
        added = mgk_json_append(inputs, cJSON_CreateString(parts[i].name)) &&
                mgk_json_append(hashes, *hash ? cJSON_CreateString(hash) : cJSON_CreateNull()) &&
                mgk_json_append(models, *model ? cJSON_CreateString(model) : cJSON_CreateNull()) &&
                mgk_json_append(steps,
                                step < 0 ? cJSON_CreateNull() : cJSON_CreateNumber((double)step)) &&
                mgk_json_append(samples, print_samples_hash(&parts[i]));
    }
    return added;
}

static bool add_text(cJSON *object, const char *name, const char *text)
{
    return *text ? cJSON_AddStringToObject(object, name, text) != NULL
                 : cJSON_AddNullToObject(object, name) != NULL;
}

/* The two inputs that were taken as one, and where the layers of the second begin. */
static bool add_joined(cJSON *settings, const mgk_source_input joined[2])
{
    cJSON *inputs = cJSON_AddArrayToObject(settings, "joined");
    bool added = inputs && cJSON_AddNumberToObject(settings, "second_layers_from",
                                                   (double)joined[0].all_layers);
    for (size_t k = 0; k < 2 && added; k++) {
        const int64_t step = joined[k].training_step;
        cJSON *input = cJSON_CreateObject();
        char name[4096];
        mgk_utf8_copy(joined[k].name, SIZE_MAX, name, sizeof(name));
        added = mgk_json_append(inputs, input) && add_text(input, "input", name) &&
                add_text(input, "model_sha256", joined[k].sha256) &&
                add_text(input, "model", joined[k].model) &&
                (step < 0 ? cJSON_AddNullToObject(input, "training_step")
                          : cJSON_AddNumberToObject(input, "training_step", (double)step));
    }
    return added;
}

static char *print_settings(const mgk_diversity_options *o, const mgk_diversity_part *parts,
                            size_t count, const mgk_warnings *warnings)
{
    char *text = NULL, seed[24];
    const mgk_source_options sources = mgk_diversity_source_options(o);
    cJSON *settings = cJSON_CreateObject();
    snprintf(seed, sizeof(seed), "%" PRIu64, o->job.seed);
    if (cJSON_AddStringToObject(settings, "software", "mgk " MGK_VERSION) &&
        add_inputs(settings, parts, count) && add_options(settings, o) &&
        (!parts[0].joined || add_joined(settings, parts[0].joined)) &&
        cJSON_AddStringToObject(settings, "seed", seed) &&
        cJSON_AddBoolToObject(settings, "compare", o->compare) &&
        cJSON_AddBoolToObject(settings, "prune", o->prune) &&
        (!o->prune || cJSON_AddNumberToObject(settings, "prune_held_out", o->prune_held_out)) &&
        cJSON_AddBoolToObject(settings, "allow_zero_rows", o->allow_zero_rows) &&
        mgk_sources_describe(settings, &sources, parts[0].input) &&
        mgk_warnings_describe(settings, warnings))
        text = cJSON_PrintUnformatted(settings);
    cJSON_Delete(settings);
    return text;
}

mgk_status mgk_diversity_settings(const mgk_diversity_options *options,
                                  const mgk_diversity_part *parts, size_t count,
                                  const mgk_warnings *warnings, char **out)
{
    char *text = print_settings(options, parts, count, warnings);
    mgk_status status =
        text ? mgk_copy_string(text, out) : mgk_fail(STATUS_MEMORY, "no memory for the settings");
    cJSON_free(text);
    return status;
}

/* ---- the journal ----------------------------------------------------------------------------- */

/* What is told of each value of an order: mean, sum of squared distances, samples. */
enum { ORDER_NUMBERS = 3 };

/* Values in an order of pruning; 0: the part is not pruned. */
static size_t order_values(const mgk_diversity_part *part)
{
    return part->orders.size / MGK_PRUNING_ORDERS;
}

/* Samples and orders, each a line. */
static size_t count_lines(const mgk_diversity_part *part)
{
    return part->input->sample_count + (order_values(part) > 0 ? MGK_PRUNING_ORDERS : 0);
}

/* The most numbers in a line. */
static size_t largest_size(const mgk_diversity_part *parts, size_t count)
{
    size_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t sample = mgk_record_size(&parts[i].layout);
        const size_t order = ORDER_NUMBERS * order_values(&parts[i]);
        largest = sample > largest ? sample : largest;
        largest = order > largest ? order : largest;
    }
    return largest;
}

mgk_status mgk_diversity_open_journal(const mgk_diversity_options *options,
                                      const mgk_diversity_part *parts, size_t count,
                                      mgk_journal **out)
{
    const size_t line = mgk_record_line_size(largest_size(parts, count));
    *out = NULL;
    if (!options->output)
        return STATUS_OK;
    if (line >= INT_MAX)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: %.3g GB of values in a sample", options->output,
                        (double)line / 1e9);
    char *settings = print_identity(options, parts, count);
    mgk_status status =
        mgk_run_journal_open(options->output, &options->job, options->resume, settings, line, out);
    cJSON_free(settings);
    return status;
}

static mgk_status append(mgk_journal *journal, size_t input, size_t number, const double *values,
                         size_t size)
{
    char *line;
    TRY(mgk_alloc(mgk_record_line_size(size), 1, &line));
    const size_t length = mgk_record_line_write(input, number, values, size, line);
    mgk_status status = mgk_journal_append(journal, line, length);
    mgk_free(line);
    return status;
}

mgk_status mgk_diversity_append(mgk_journal *journal, size_t input, const mgk_diversity_part *part,
                                size_t sample, const double *record)
{
    return append(journal, input, sample, record, mgk_record_size(&part->layout));
}

mgk_status mgk_diversity_append_order(mgk_journal *journal, size_t input,
                                      const mgk_diversity_part *part, size_t order)
{
    const size_t count = order_values(part), first = order * count;
    double *values;
    TRY(mgk_alloc(count, ORDER_NUMBERS * sizeof(double), &values));
    for (size_t k = 0; k < count; k++) {
        values[ORDER_NUMBERS * k] = part->orders.mean[first + k];
        values[ORDER_NUMBERS * k + 1] = part->orders.squares[first + k];
        values[ORDER_NUMBERS * k + 2] = part->orders.samples[first + k];
    }
    mgk_status status =
        append(journal, input, part->input->sample_count + order, values, ORDER_NUMBERS * count);
    mgk_free(values);
    return status;
}

/* ---- replay ---------------------------------------------------------------------------------- */

mgk_status mgk_diversity_replay_begin(mgk_journal *journal, const mgk_diversity_part *parts,
                                      size_t count, mgk_diversity_replay *out)
{
    *out = (mgk_diversity_replay){.parts = parts, .count = count, .number = SIZE_MAX};
    TRY(mgk_alloc(largest_size(parts, count), sizeof(double), &out->record));
    TRY(mgk_journal_begin(journal));
    out->journal = journal;
    return STATUS_OK;
}

static bool is_sample(const mgk_diversity_replay *replay)
{
    return replay->number < replay->parts[replay->input].input->sample_count;
}

/* The line comes next: the next one of the same input, or the first of the next input. */
static bool is_next(const mgk_diversity_replay *replay, size_t input, size_t number)
{
    if (input >= replay->count || number >= count_lines(&replay->parts[input]))
        return false;
    if (replay->number == SIZE_MAX)
        return input == 0 && number == 0;
    return input == replay->input
               ? number == replay->number + 1
               : input == replay->input + 1 && number == 0 &&
                     replay->number + 1 == count_lines(&replay->parts[replay->input]);
}

static mgk_status take_line(mgk_diversity_replay *replay, const char *line)
{
    size_t input, number;
    TRY(mgk_record_line_begin(&line, &input, &number));
    if (!is_next(replay, input, number))
        return mgk_fail(STATUS_FORMAT, "not the next sample");
    replay->input = input;
    replay->number = number;
    const mgk_diversity_part *part = &replay->parts[input];
    return mgk_record_line_values(line,
                                  is_sample(replay) ? mgk_record_size(&part->layout)
                                                    : ORDER_NUMBERS * order_values(part),
                                  replay->record);
}

mgk_status mgk_diversity_replay_next(mgk_diversity_replay *replay, bool *end)
{
    const char *line;
    TRY(mgk_journal_next(replay->journal, &line));
    *end = !line;
    if (!line)
        return STATUS_OK;
    mgk_status status = take_line(replay, line);
    return status == STATUS_OK ? status : mgk_journal_fail_line(replay->journal, status);
}

mgk_status mgk_diversity_replay_sample(mgk_diversity_replay *replay, bool *end)
{
    do
        TRY(mgk_diversity_replay_next(replay, end));
    while (!*end && !is_sample(replay));
    return STATUS_OK;
}

static mgk_status take_order(const double *values, size_t first, mgk_diversity_part *part)
{
    mgk_diversity_means *out = &part->orders;
    for (size_t k = 0; k < order_values(part); k++, values += ORDER_NUMBERS) {
        const double samples = values[2];
        if (!(isfinite(values[0]) && values[1] >= 0 && samples >= 0 &&
              samples <= (double)part->input->sample_count && samples == floor(samples)))
            return mgk_fail(STATUS_FORMAT, "not the values of an order of pruning");
        out->mean[first + k] = values[0];
        out->squares[first + k] = values[1];
        out->samples[first + k] = (int32_t)samples;
    }
    return STATUS_OK;
}

mgk_status mgk_diversity_replay_order(const mgk_diversity_replay *replay, mgk_diversity_part *part)
{
    const size_t order = replay->number - part->input->sample_count;
    mgk_status status = take_order(replay->record, order * order_values(part), part);
    if (status != STATUS_OK)
        return mgk_journal_fail_line(replay->journal, status);
    part->finished_orders = order + 1;
    return STATUS_OK;
}

void mgk_diversity_replay_end(mgk_diversity_replay *replay)
{
    if (replay->journal)
        mgk_journal_end(replay->journal);
    mgk_free(replay->record);
    *replay = (mgk_diversity_replay){0};
}
