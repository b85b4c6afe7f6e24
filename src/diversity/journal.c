/* The journal of a run of measures, and the settings of the run. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/run/record_line.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
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
           cJSON_AddBoolToObject(object, "across_layers", o->across_layers);
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
                mgk_sources_identify(further, &sources, parts[i].input);
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
        add_further(settings, o, parts) && add_parts(settings, parts, count))
        text = cJSON_PrintUnformatted(settings);
    cJSON_Delete(settings);
    return text;
}

void mgk_diversity_hash_sample(mgk_diversity_part *part, double *record)
{
    const double *facts = mgk_record_facts(&part->layout, record, 0, 0);
    const double sample[2] = {facts[MGK_FACT_ROWS], facts[MGK_FACT_TOKENS]};
    const bool first = part->finished == 0;
    part->tokens_known = (first || part->tokens_known) && !isnan(sample[1]);
    part->samples_hash =
        mgk_hash(first ? MGK_HASH_START : part->samples_hash, sample, sizeof(sample));
}

static cJSON *print_samples_hash(const mgk_diversity_part *part)
{
    char text[24];
    if (part->finished == 0 || !part->tokens_known)
        return cJSON_CreateNull();
    snprintf(text, sizeof(text), "%016" PRIx64, part->samples_hash);
    return cJSON_CreateString(text);
}

/* The inputs of the run, the models' hashes and training steps, and hashes of the samples; null if
 * unknown. */
static bool add_inputs(cJSON *settings, const mgk_diversity_part *parts, size_t count)
{
    cJSON *inputs = cJSON_AddArrayToObject(settings, "inputs");
    cJSON *hashes = inputs ? cJSON_AddArrayToObject(settings, "model_sha256") : NULL;
    cJSON *steps = hashes ? cJSON_AddArrayToObject(settings, "training_step") : NULL;
    cJSON *samples = steps ? cJSON_AddArrayToObject(settings, "samples_hash") : NULL;
    bool added = samples != NULL;
    for (size_t i = 0; i < count && added; i++) {
        const char *hash = parts[i].input->sha256;
        const int64_t step = parts[i].input->training_step;
        added = mgk_json_append(inputs, cJSON_CreateString(parts[i].name)) &&
                mgk_json_append(hashes, *hash ? cJSON_CreateString(hash) : cJSON_CreateNull()) &&
                mgk_json_append(steps,
                                step < 0 ? cJSON_CreateNull() : cJSON_CreateNumber((double)step)) &&
                mgk_json_append(samples, print_samples_hash(&parts[i]));
    }
    return added;
}

static char *print_settings(const mgk_diversity_options *o, const mgk_diversity_part *parts,
                            size_t count)
{
    char *text = NULL, seed[24];
    const mgk_source_options sources = mgk_diversity_source_options(o);
    cJSON *settings = cJSON_CreateObject();
    snprintf(seed, sizeof(seed), "%" PRIu64, o->job.seed);
    if (cJSON_AddStringToObject(settings, "software", "mgk " MGK_VERSION) &&
        add_inputs(settings, parts, count) && add_options(settings, o) &&
        cJSON_AddStringToObject(settings, "seed", seed) &&
        cJSON_AddBoolToObject(settings, "compare", o->compare) &&
        cJSON_AddBoolToObject(settings, "prune", o->prune) &&
        cJSON_AddBoolToObject(settings, "allow_zero_rows", o->allow_zero_rows) &&
        mgk_sources_describe(settings, &sources, parts[0].input))
        text = cJSON_PrintUnformatted(settings);
    cJSON_Delete(settings);
    return text;
}

mgk_status mgk_diversity_settings(const mgk_diversity_options *options,
                                  const mgk_diversity_part *parts, size_t count, char **out)
{
    char *text = print_settings(options, parts, count);
    mgk_status status =
        text ? mgk_copy_string(text, out) : mgk_fail(STATUS_MEMORY, "no memory for the settings");
    cJSON_free(text);
    return status;
}

/* ---- the journal ----------------------------------------------------------------------------- */

static size_t largest_line(const mgk_diversity_part *parts, size_t count)
{
    size_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t size = mgk_record_line_size(mgk_record_size(&parts[i].layout));
        largest = size > largest ? size : largest;
    }
    return largest;
}

mgk_status mgk_diversity_open_journal(const mgk_diversity_options *options,
                                      const mgk_diversity_part *parts, size_t count,
                                      mgk_journal **out)
{
    const size_t line = largest_line(parts, count);
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

mgk_status mgk_diversity_append(mgk_journal *journal, size_t input, const mgk_diversity_part *part,
                                size_t sample, const double *record)
{
    const size_t size = mgk_record_size(&part->layout);
    char *line;
    TRY(mgk_alloc(mgk_record_line_size(size), 1, &line));
    const size_t length = mgk_record_line_write(input, sample, record, size, line);
    mgk_status status = mgk_journal_append(journal, line, length);
    mgk_free(line);
    return status;
}

/* ---- replay ---------------------------------------------------------------------------------- */

mgk_status mgk_diversity_replay_begin(mgk_journal *journal, const mgk_diversity_part *parts,
                                      size_t count, mgk_diversity_replay *out)
{
    size_t largest = 0;
    *out = (mgk_diversity_replay){.parts = parts, .count = count, .sample = SIZE_MAX};
    for (size_t i = 0; i < count; i++) {
        const size_t size = mgk_record_size(&parts[i].layout);
        largest = size > largest ? size : largest;
    }
    TRY(mgk_alloc(largest, sizeof(double), &out->record));
    TRY(mgk_journal_begin(journal));
    out->journal = journal;
    return STATUS_OK;
}

/* The record comes next: the next sample of the same input, or the first of the next one. */
static bool is_next(const mgk_diversity_replay *replay, size_t input, size_t sample)
{
    if (input >= replay->count || sample >= replay->parts[input].input->sample_count)
        return false;
    if (replay->sample == SIZE_MAX)
        return input == 0 && sample == 0;
    return input == replay->input
               ? sample == replay->sample + 1
               : input == replay->input + 1 && sample == 0 &&
                     replay->sample + 1 == replay->parts[replay->input].input->sample_count;
}

static mgk_status take_line(mgk_diversity_replay *replay, const char *line)
{
    size_t input, sample;
    TRY(mgk_record_line_begin(&line, &input, &sample));
    if (!is_next(replay, input, sample))
        return mgk_fail(STATUS_FORMAT, "not the next sample");
    TRY(mgk_record_line_values(line, mgk_record_size(&replay->parts[input].layout),
                               replay->record));
    replay->input = input;
    replay->sample = sample;
    return STATUS_OK;
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

void mgk_diversity_replay_end(mgk_diversity_replay *replay)
{
    if (replay->journal)
        mgk_journal_end(replay->journal);
    mgk_free(replay->record);
    *replay = (mgk_diversity_replay){0};
}
