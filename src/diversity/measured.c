/* SPDX-License-Identifier: MIT */
/* Inputs that were measured before: the values of their samples come from HDF5 tables. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "diversity/diversity.h"
#include "run/job.h"
#include "run/recognise.h"
#include "store/schema/measures_reader.h"

/* A table. */
typedef struct table {
    const char *path;
    mgk_measures_reader *reader;
    cJSON *settings; /* of the run that made it; NULL: not known */
} table;

struct mgk_measured {
    table *tables; /* [count] */
    size_t count;
};

/* ---- which inputs are tables ----------------------------------------------------------------- */

mgk_status mgk_measured_find(const mgk_diversity_options *options, bool *out)
{
    size_t tables = 0;
    *out = false;
    for (size_t i = 0; i < options->input_count; i++) {
        mgk_file_kind kind;
        TRY(mgk_recognise(options->inputs[i], &kind));
        if (kind == MGK_FILE_DIVERSITY_CSV || kind == MGK_FILE_DIVERSITY_JSON)
            return mgk_fail(STATUS_FORMAT,
                            "%s: a table of means: samples are in tables in HDF5, which `compare` "
                            "compares",
                            options->inputs[i]);
        tables += kind == MGK_FILE_DIVERSITY_HDF5;
    }
    if (tables > 0 && tables < options->input_count + options->array_count)
        return mgk_fail(STATUS_USAGE,
                        "some inputs are tables of measures and some are matrices: measure these "
                        "first, and compare tables");
    *out = tables > 0;
    return STATUS_OK;
}

/* An option of measuring, whose results a table holds. */
typedef struct fixed_option {
    bool given;
    const char *name;
} fixed_option;

mgk_status mgk_measured_check(const mgk_diversity_options *o)
{
    const fixed_option fixed[] = {
        {o->dataset, "dataset"},
        {o->axes, "axes"},
        {o->mask, "mask"},
        {o->layers, "layers"},
        {o->heads, "heads"},
        {o->threshold != mgk_diversity_options_default().threshold, "threshold"},
        {o->relative, "relative"},
        {o->causal, "causal"},
        {o->across_layers, "across_layers"},
        {o->across_models, "across_models"},
        {o->per_sample, "per_sample"},
        {o->resume, "resume"}};
    if (!o->compare)
        return mgk_fail(STATUS_USAGE,
                        "%s: a table of measures, which is not measured again: "
                        "`compare` compares it with others",
                        o->inputs[0]);
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
        if (fixed[i].given)
            return mgk_fail(STATUS_USAGE, "`%s` is for measuring: %s is measured already",
                            fixed[i].name, o->inputs[0]);
    if (o->output && !mgk_ends_with(o->output, ".csv"))
        return mgk_fail(STATUS_USAGE, "%s: tables are compared into a .csv", o->output);
    return STATUS_OK;
}

/* ---- the tables ------------------------------------------------------------------------------ */

static mgk_status open_table(const char *path, table *out)
{
    out->path = path;
    TRY(mgk_measures_open(path, &out->reader));
    const char *settings = mgk_measures_settings(out->reader);
    out->settings = settings ? cJSON_Parse(settings) : NULL;
    return STATUS_OK;
}

mgk_status mgk_measured_open(const mgk_diversity_options *options, mgk_measured **out)
{
    mgk_status status;
    mgk_measured *m;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*m), &m));
    CHECK(mgk_alloc(options->input_count, sizeof(*m->tables), &m->tables));
    for (; m->count < options->input_count; m->count++)
        CHECK(open_table(options->inputs[m->count], &m->tables[m->count]));
    *out = m;
    return STATUS_OK;
out:
    mgk_measured_close(m);
    return status;
}

void mgk_measured_close(mgk_measured *measured)
{
    if (!measured)
        return;
    for (size_t i = 0; i < measured->count; i++) {
        mgk_measures_close(measured->tables[i].reader);
        cJSON_Delete(measured->tables[i].settings);
    }
    mgk_free(measured->tables);
    mgk_free(measured);
}

size_t mgk_measured_inputs(const mgk_measured *measured)
{
    size_t inputs = 0;
    for (size_t i = 0; i < measured->count; i++)
        inputs += mgk_measures_inputs(measured->tables[i].reader);
    return inputs;
}

/* Tables of layers alone have no heads; a record has one at least. */
static size_t heads_of(const mgk_measure_arrays *arrays)
{
    return arrays->head_count > 0 ? arrays->head_count : 1;
}

/* An input of a table. */
typedef struct place {
    const table *table;
    size_t input;
    const mgk_measure_arrays *arrays;
} place;

static place find_place(const mgk_measured *m, size_t input)
{
    const table *t = m->tables;
    for (; input >= mgk_measures_inputs(t->reader); t++)
        input -= mgk_measures_inputs(t->reader);
    return (place){t, input, mgk_measures_input(t->reader, input)};
}

/* What the settings list of this input, or NULL. */
static const char *find_setting(const place *at, const char *list)
{
    const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(at->table->settings, list);
    return cJSON_GetStringValue(cJSON_GetArrayItem(inputs, (int)at->input));
}

/* The name of a single input is in the settings alone. */
static const char *name_of(const place *at)
{
    const char *name = find_setting(at, "inputs");
    return *at->arrays->name ? at->arrays->name : name ? name : at->table->path;
}

void mgk_measured_describe(const mgk_measured *measured, size_t input, mgk_source_input *out)
{
    const place at = find_place(measured, input);
    *out = (mgk_source_input){.name = name_of(&at),
                              .training_step = -1,
                              .sample_count = at.arrays->sample_count,
                              .head_count = at.arrays->head_count,
                              .layer_count = at.arrays->layer_count,
                              .mixtures = at.arrays->component_count,
                              .source = {.samples = at.arrays->samples,
                                         .layers = at.arrays->layers,
                                         .heads = at.arrays->heads}};
}

/* ---- an input -------------------------------------------------------------------------------- */

/* The number of the array of a measure's layers, heads and pairs, or -1. */
static ptrdiff_t find_array(const mgk_measure_arrays *arrays, const mgk_measure *measure)
{
    const size_t size = mgk_measure_size(measure, heads_of(arrays), arrays->component_count);
    for (size_t k = 0; k < arrays->array_count; k++) {
        const mgk_measure_array *array = &arrays->arrays[k];
        size_t values = 1;
        for (int axis = 2; axis < array->axes; axis++)
            values *= mgk_measure_axis_length(arrays, mgk_measure_axis_of(array, axis));
        if (strcmp(array->name, measure->name) == 0 && !array->across && values == size)
            return (ptrdiff_t)k;
    }
    return -1;
}

/* Lays out records of those of some measures that the table has, or that it must have. */
static mgk_status lay_out(const place *at, const mgk_measure *const *measures, size_t count,
                          bool must_have, mgk_record_layout *out)
{
    const mgk_measure_arrays *arrays = at->arrays;
    const mgk_measure **found;
    size_t kept = 0;
    mgk_status status = STATUS_OK;
    TRY(mgk_alloc(count, sizeof(*found), &found));
    for (size_t m = 0; m < count && status == STATUS_OK; m++) {
        if (find_array(arrays, measures[m]) >= 0)
            found[kept++] = measures[m];
        else if (must_have)
            status = mgk_fail(STATUS_UNSUPPORTED, "%s: measure \"%s\" is not in this table",
                              at->table->path, measures[m]->name);
    }
    if (status == STATUS_OK && kept == 0)
        status = mgk_fail(STATUS_UNSUPPORTED, "%s: no measure that is known here", at->table->path);
    if (status == STATUS_OK)
        status = mgk_record_layout_make(arrays->layer_count, heads_of(arrays),
                                        arrays->component_count, found, kept, out);
    mgk_free(found);
    return status;
}

/* A number that stands for the lengths and tokens of all samples of an input; NaN, which equals no
 * number: not known. */
static double identify_samples(const place *at)
{
    const char *hash = find_setting(at, "samples_hash");
    return hash ? (double)(mgk_hash(MGK_HASH_START, hash, strlen(hash)) >> 11) : NAN;
}

/* Reads a sample into a record whose other values are NaN. */
static mgk_status read_record(const place *at, const mgk_record_layout *layout, size_t sample,
                              double *values, double *record)
{
    for (size_t k = 0; k < mgk_record_size(layout); k++)
        record[k] = NAN;
    for (size_t m = 0; m < layout->chosen; m++) {
        const mgk_measure *measure = layout->measures[m];
        const size_t size = mgk_measure_size(measure, layout->heads, layout->mixtures);
        const size_t array = (size_t)find_array(at->arrays, measure);
        TRY(mgk_measures_read(at->table->reader, at->input, array, sample, values));
        for (size_t l = 0; l < layout->layers; l++)
            memcpy(mgk_record_values(layout, record, l, m), values + l * size,
                   size * sizeof(double));
    }
    return STATUS_OK;
}

/* Adds all samples to a part that is laid out. */
static mgk_status add_samples(const place *at, const mgk_job *job, mgk_diversity_part *part)
{
    const size_t size = mgk_record_size(&part->layout);
    const double identity = identify_samples(at);
    mgk_status status;
    double *record = NULL, *values = NULL;
    CHECK(mgk_alloc(size, sizeof(*record), &record));
    CHECK(mgk_alloc(size, sizeof(*values), &values));
    for (; part->finished < at->arrays->sample_count; part->finished++) {
        if (mgk_job_stopped(job))
            CHECK(mgk_fail(STATUS_INTERRUPTED, "interrupted while %s was read", at->table->path));
        CHECK(read_record(at, &part->layout, part->finished, values, record));
        mgk_diversity_keep_sample(part, part->finished, record);
        mgk_diversity_means_add(&part->means, record);
        part->identities[2 * part->finished] = identity;
        part->identities[2 * part->finished + 1] = identity;
    }
out:
    mgk_free(record);
    mgk_free(values);
    return status;
}

mgk_status mgk_measured_read(const mgk_measured *measured, size_t input,
                             const mgk_measure *const *named, size_t count, const mgk_job *job,
                             mgk_diversity_part *part)
{
    const place at = find_place(measured, input);
    const size_t samples = at.arrays->sample_count;
    if (cJSON_HasObjectItem(at.table->settings, "joined"))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: a table of `across_models`, whose layers are of two inputs, is not "
                        "compared with another",
                        at.table->path);
    TRY(named ? lay_out(&at, named, count, true, &part->layout)
              : lay_out(&at, mgk_measures, mgk_measure_count, false, &part->layout));
    TRY(mgk_diversity_means_make(mgk_record_size(&part->layout), &part->means));
    TRY(mgk_alloc(samples, part->layout.layers * part->layout.chosen * sizeof(double),
                  &part->layer_means));
    TRY(mgk_alloc(samples, 2 * sizeof(double), &part->identities));
    return add_samples(&at, job, part);
}

/* ---- two inputs ------------------------------------------------------------------------------ */

static bool has_rank(const mgk_diversity_part *part)
{
    for (size_t m = 0; m < part->layout.chosen; m++)
        if (part->layout.measures[m] == &mgk_measure_rank)
            return true;
    return false;
}

mgk_status mgk_measured_check_ranks(const mgk_measured *measured, const mgk_diversity_part *parts,
                                    size_t b)
{
    static const char *const settings[] = {"threshold", "relative"};
    const place first = find_place(measured, 0), second = find_place(measured, b);
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        const cJSON *x = cJSON_GetObjectItemCaseSensitive(first.table->settings, settings[i]);
        const cJSON *y = cJSON_GetObjectItemCaseSensitive(second.table->settings, settings[i]);
        if (x && y && !cJSON_Compare(x, y, true) && has_rank(&parts[0]) && has_rank(&parts[b]))
            return mgk_fail(STATUS_SHAPE, "ranks of %s and %s have different thresholds",
                            parts[0].name, parts[b].name);
    }
    return STATUS_OK;
}
