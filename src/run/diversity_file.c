/* SPDX-License-Identifier: MIT */
#include "run/diversity_file.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "run/recognise.h"
#include "store/schema/measures_reader.h"
#include "store/schema/statistics_reader.h"
#include "table/files.h"

/* Names the file in a failure that does not name it yet. */
static mgk_status of_file(const char *path, mgk_status status)
{
    return status == STATUS_OK ? status : mgk_fail_prefix(status, path);
}

/* ---- settings -------------------------------------------------------------------------------- */

/* NULL: the file has none. Release with cJSON_Delete. */
static mgk_status parse_settings(const mgk_diversity_set *set, const char *path, cJSON **out)
{
    *out = NULL;
    return set->settings
               ? of_file(path, mgk_json_parse_object(set->settings, strlen(set->settings), out))
               : STATUS_OK;
}

/* The name of the only input is in the settings. */
static const char *only_name(const cJSON *settings)
{
    const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(settings, "inputs");
    const cJSON *first = cJSON_GetArrayItem(inputs, 0);
    return cJSON_GetArraySize(inputs) == 1 && cJSON_IsString(first) ? first->valuestring : "";
}

/* -1: not known. */
static int64_t step_of(const cJSON *step)
{
    const double most = 9007199254740992; /* 2^53: all whole numbers up to it are doubles */
    const double value = cJSON_IsNumber(step) ? step->valuedouble : -1;
    return value >= 0 && value <= most && value == floor(value) ? (int64_t)value : -1;
}

static const cJSON *first_of(const cJSON *settings, const char *array)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(settings, array), 0);
}

static mgk_status take_text(mgk_diversity_set *set, const cJSON *text, const char **out)
{
    if (!cJSON_IsString(text))
        return STATUS_OK;
    return mgk_arena_text(&set->arena, text->valuestring, strlen(text->valuestring), out);
}

/* What the settings say of each input, which a file has in their order. */
static mgk_status take_models(mgk_diversity_set *set, const char *path)
{
    cJSON *settings;
    TRY(parse_settings(set, path, &settings));
    const cJSON *name = first_of(settings, "inputs"), *step = first_of(settings, "training_step"),
                *hash = first_of(settings, "model_sha256"), *model = first_of(settings, "models"),
                *samples = first_of(settings, "samples_hash");
    mgk_status status = STATUS_OK;
    const cJSON *second = cJSON_GetObjectItemCaseSensitive(settings, "second_layers_from");
    if (set->count == 1 && cJSON_IsNumber(second) && second->valueint > 0)
        set->inputs[0].second_layers_from = second->valueint;
    for (size_t i = 0; i < set->count && name && status == STATUS_OK; i++, name = name->next) {
        if (cJSON_IsString(name) && strcmp(set->inputs[i].name, name->valuestring) == 0) {
            set->inputs[i].training_step = step ? step_of(step) : -1;
            status = take_text(set, hash, &set->inputs[i].model_sha256);
            if (status == STATUS_OK)
                status = take_text(set, model, &set->inputs[i].model);
            if (status == STATUS_OK)
                status = take_text(set, samples, &set->inputs[i].samples_hash);
        }
        step = step ? step->next : NULL;
        hash = hash ? hash->next : NULL;
        model = model ? model->next : NULL;
        samples = samples ? samples->next : NULL;
    }
    cJSON_Delete(settings);
    return status;
}

/* ---- HDF5 ------------------------------------------------------------------------------------ */

/* The place of a measure in the registry, whose order CSV and JSON have; HDF5 has that of names.
 * Unknown measures come last. */
static size_t place_of(const char *name)
{
    size_t i = 0;
    while (i < mgk_measure_count && strcmp(mgk_measures[i]->name, name) != 0)
        i++;
    return i;
}

/* Unknown ones are in the order of their names. */
static int compare_names(const char *a, const char *b)
{
    const size_t of_a = place_of(a), of_b = place_of(b);
    return of_a != of_b ? (of_a > of_b ? 1 : -1) : strcmp(a, b);
}

static int by_registry(const void *a, const void *b)
{
    return compare_names(((const mgk_measure *)a)->name, ((const mgk_measure *)b)->name);
}

/* The measure of an array: its level must suit its axes. */
static mgk_status take_measure(const mgk_measure_array *array, mgk_measure *out)
{
    const int axes[MGK_MEASURE_LEVELS] = {[MGK_MEASURE_HEAD] = array->components ? 4 : 3,
                                          [MGK_MEASURE_PAIR] = 4,
                                          [MGK_MEASURE_LAYER] = 2};
    int level = 0;
    while (level < MGK_MEASURE_LEVELS && strcmp(mgk_measure_level_names[level], array->level) != 0)
        level++;
    if (level == MGK_MEASURE_LEVELS || axes[level] != array->axes)
        return mgk_fail(STATUS_FORMAT, "\"%s\" has %d axes and the level \"%.20s\"", array->name,
                        array->axes, array->level);
    *out = (mgk_measure){.name = array->name,
                         .level = (mgk_measure_level)level,
                         .components = array->components,
                         .unit = array->unit,
                         .formula = array->formula,
                         .source = array->source};
    return STATUS_OK;
}

/* 0, 1, 2, … where a file has no numbers. Release *out with mgk_free. */
static mgk_status list_numbers(const int32_t *numbers, size_t count, int32_t **out)
{
    TRY(mgk_alloc(count, sizeof(**out), out));
    for (size_t i = 0; i < count; i++) {
        (*out)[i] = numbers ? numbers[i] : (int32_t)i;
        if (i > 0 && (*out)[i] <= (*out)[i - 1])
            return mgk_fail(STATUS_FORMAT, "numbers of layers or heads do not ascend");
    }
    return STATUS_OK;
}

/* Takes the measures of an input, which are all but its arrays across layers: none, or one for each
 * measure of pairs. */
static mgk_status take_measures(const mgk_measure_arrays *arrays, mgk_measure *out, size_t *count)
{
    size_t pairs = 0;
    *count = 0;
    for (size_t m = 0; m < arrays->array_count; m++) {
        if (arrays->arrays[m].across)
            continue;
        if (*count == MGK_MEASURES_MOST)
            return mgk_fail(STATUS_UNSUPPORTED, "more than %d measures", MGK_MEASURES_MOST);
        TRY(take_measure(&arrays->arrays[m], &out[*count]));
        pairs += out[(*count)++].level == MGK_MEASURE_PAIR;
    }
    if (*count > 0)
        qsort(out, *count, sizeof(*out), by_registry);
    const size_t across = arrays->array_count - *count;
    if (across > 0 && across != pairs)
        return mgk_fail(STATUS_FORMAT, "%zu %s across layers for %zu %s of pairs", across,
                        MGK_NOUN(across, "array", "arrays"), pairs,
                        MGK_NOUN(pairs, "measure", "measures"));
    return STATUS_OK;
}

static mgk_status add_input(const mgk_measure_arrays *arrays, const char *name,
                            mgk_diversity_set *set)
{
    mgk_status status;
    int32_t *layers = NULL, *heads = NULL;
    mgk_measure *measures = NULL;
    size_t count;
    CHECK(mgk_alloc(arrays->array_count, sizeof(*measures), &measures));
    CHECK(take_measures(arrays, measures, &count));
    CHECK(list_numbers(arrays->layers, arrays->layer_count, &layers));
    CHECK(list_numbers(arrays->heads, arrays->head_count, &heads));
    CHECK(mgk_diversity_set_add(set, &(mgk_diversity_shape){.name = name,
                                                            .measures = measures,
                                                            .measure_count = count,
                                                            .layers = layers,
                                                            .heads = heads,
                                                            .layer_count = arrays->layer_count,
                                                            .head_count = arrays->head_count,
                                                            .mixtures = arrays->component_count,
                                                            .across = count < arrays->array_count,
                                                            .sample_count = arrays->sample_count}));
out:
    mgk_free(measures);
    mgk_free(layers);
    mgk_free(heads);
    return status;
}

/* Adds `size` values of a sample to the means from place `first` on. */
static mgk_status add_values(mgk_diversity_values *v, const char *name, size_t first, size_t size,
                             const double *values)
{
    for (size_t i = 0; i < size; i++) {
        if (isinf(values[i]))
            return mgk_fail(STATUS_FORMAT, "\"%s\" has an infinite value", name);
        mgk_diversity_means_add_value(&v->means, first + i, values[i]);
    }
    return STATUS_OK;
}

/* Adds a sample's values of an array, [L, ...] or across layers [L, H, L, H]. */
static mgk_status add_sample(mgk_diversity_values *v, const mgk_measure_array *array, size_t sample,
                             const double *values)
{
    const size_t m = mgk_diversity_find(v, array->name), heads = v->layout.layers * v->layout.heads;
    if (array->across)
        return add_values(v, array->name, mgk_record_across(&v->layout, m), heads * heads, values);
    const size_t size =
        mgk_measure_size(v->layout.measures[m], v->layout.heads, v->layout.mixtures);
    for (size_t layer = 0; layer < v->layout.layers; layer++) {
        double *samples = mgk_diversity_samples(v, m, layer);
        TRY(add_values(v, array->name, mgk_diversity_place(v, m, layer), size,
                       values + layer * size));
        if (samples)
            samples[sample] = values[layer];
    }
    return STATUS_OK;
}

/* An array across layers is one of a measure of pairs, which has an array of each layer, too. */
static mgk_status check_across(const mgk_diversity_values *v, const mgk_measure_array *array)
{
    const size_t m = mgk_diversity_find(v, array->name);
    if (array->across &&
        (m == v->layout.chosen || v->layout.measures[m]->level != MGK_MEASURE_PAIR))
        return mgk_fail(STATUS_FORMAT, "\"%s\" is across layers, but no measure of pairs",
                        array->name);
    return STATUS_OK;
}

static mgk_status read_input(mgk_measures_reader *reader, const char *path, size_t input,
                             const char *name, mgk_diversity_set *set)
{
    const mgk_measure_arrays *arrays = mgk_measures_input(reader, input);
    mgk_status status;
    double *values = NULL;
    TRY(of_file(path, add_input(arrays, name, set)));
    mgk_diversity_values *v = &set->inputs[set->count - 1];
    CHECK(mgk_alloc(v->means.size, sizeof(double), &values));
    for (size_t i = 0; i < arrays->array_count; i++) {
        CHECK(of_file(path, check_across(v, &arrays->arrays[i])));
        for (size_t s = 0; s < arrays->sample_count; s++) {
            CHECK(mgk_measures_read(reader, input, i, s, values));
            CHECK(of_file(path, add_sample(v, &arrays->arrays[i], s, values)));
        }
    }
out:
    mgk_free(values);
    return status;
}

static mgk_status read_inputs(mgk_measures_reader *reader, const char *path, mgk_diversity_set *set)
{
    mgk_status status = STATUS_OK;
    cJSON *settings = NULL;
    if (mgk_measures_settings(reader))
        CHECK(mgk_copy_string(mgk_measures_settings(reader), &set->settings));
    CHECK(parse_settings(set, path, &settings));
    for (size_t i = 0; i < mgk_measures_inputs(reader); i++) {
        const char *name = mgk_measures_input(reader, i)->name;
        CHECK(read_input(reader, path, i, *name ? name : only_name(settings), set));
    }
out:
    cJSON_Delete(settings);
    return status;
}

/* The statistics of a layer. */
static mgk_difference difference_of(const double *statistics)
{
    const double samples = statistics[5];
    return (mgk_difference){.value = statistics[0],
                            .low = statistics[1],
                            .high = statistics[2],
                            .p = statistics[3],
                            .p_holm = statistics[4],
                            .samples = samples > 0 && samples <= INT32_MAX ? (size_t)samples : 0};
}

/* A measure of a comparison, and where its statistics begin. */
typedef struct compared {
    const char *measure;
    const double *statistics; /* [rows, MGK_DIFFERENCE_STATISTICS] */
} compared;

static int by_measure(const void *a, const void *b)
{
    return compare_names(((const compared *)a)->measure, ((const compared *)b)->measure);
}

static mgk_status add_difference(const mgk_measure_statistics *s, const compared *of, size_t row,
                                 mgk_diversity_set *set)
{
    const mgk_layer_difference difference = {
        .name = s->name,
        .measure = of->measure,
        .layer = s->rows[row],
        .difference = difference_of(of->statistics + row * MGK_DIFFERENCE_STATISTICS),
        .paired = s->paired};
    return mgk_diversity_set_add_difference(set, &difference);
}

static mgk_status add_comparison(const mgk_measure_statistics *s, mgk_diversity_set *set)
{
    mgk_status status = STATUS_OK;
    compared *all;
    const size_t size = s->row_count * MGK_DIFFERENCE_STATISTICS;
    TRY(mgk_alloc(s->measure_count, sizeof(*all), &all));
    for (size_t m = 0; m < s->measure_count; m++)
        all[m] = (compared){s->measures[m], s->values + m * size};
    if (s->measure_count > 0)
        qsort(all, s->measure_count, sizeof(*all), by_measure);
    for (size_t i = 0; i < s->measure_count * s->row_count && status == STATUS_OK; i++)
        status = add_difference(s, &all[i / s->row_count], i % s->row_count, set);
    mgk_free(all);
    return status;
}

/* The number of a layer or head; −1: none. */
static int32_t number_of(double number)
{
    return number >= 0 && number < INT32_MAX ? (int32_t)number : -1;
}

static mgk_status add_curves(const mgk_measure_statistics *s, mgk_diversity_set *set)
{
    for (size_t i = 0; i < s->measure_count * s->row_count; i++) {
        const double *statistics = s->values + i * MGK_PRUNING_STATISTICS;
        const mgk_curve_point point = {.name = s->name,
                                       .measure = s->measures[i / s->row_count],
                                       .left = s->rows[i % s->row_count],
                                       .point = {.value = statistics[0],
                                                 .sd = statistics[1],
                                                 .layer = number_of(statistics[2]),
                                                 .head = number_of(statistics[3])},
                                       .samples = number_of(statistics[4])};
        TRY(mgk_diversity_set_add_point(set, &point));
    }
    return STATUS_OK;
}

/* Reads all groups of a form with the function that adds one of them. */
static mgk_status read_statistics(const char *path, const mgk_statistics_form *form,
                                  mgk_status (*add)(const mgk_measure_statistics *group,
                                                    mgk_diversity_set *set),
                                  mgk_diversity_set *set)
{
    mgk_statistics_list list;
    mgk_status status = mgk_measures_read_statistics(path, form, &list);
    for (size_t i = 0; i < list.count && status == STATUS_OK; i++)
        status = of_file(path, add(&list.groups[i], set));
    mgk_statistics_list_free(&list);
    return status;
}

static mgk_status read_h5(const char *path, mgk_diversity_set *set)
{
    mgk_measures_reader *reader;
    TRY(mgk_measures_open(path, &reader));
    mgk_status status = read_inputs(reader, path, set);
    mgk_measures_close(reader);
    TRY(status);
    TRY(read_statistics(path, &mgk_difference_form, add_comparison, set));
    return read_statistics(path, &mgk_pruning_form, add_curves, set);
}

/* ---- text ------------------------------------------------------------------------------------ */

static mgk_status read_text(const char *path, mgk_diversity_set *set)
{
    mgk_table table;
    TRY(mgk_table_read_text(&mgk_comparison_schema, path, &table));
    mgk_status status = of_file(path, mgk_diversity_set_take_table(set, &table));
    set->settings = table.settings;
    table.settings = NULL;
    mgk_table_free(&table);
    return status;
}

/* Whether the file is HDF5. STATUS_FORMAT: it holds something else. */
static mgk_status find_format(const char *path, bool *h5)
{
    mgk_file_kind kind;
    TRY(mgk_recognise(path, &kind));
    *h5 = kind == MGK_FILE_DIVERSITY_HDF5;
    return mgk_file_is_diversity(kind)
               ? STATUS_OK
               : mgk_fail(STATUS_FORMAT,
                          "%s: not measures of diversity as mgk-diversity writes them", path);
}

mgk_status mgk_diversity_file_read(const char *path, mgk_diversity_set *out)
{
    bool h5;
    *out = (mgk_diversity_set){.inputs = NULL};
    TRY(find_format(path, &h5));
    mgk_status status = h5 ? read_h5(path, out) : read_text(path, out);
    if (status == STATUS_OK)
        status = take_models(out, path);
    if (status != STATUS_OK)
        mgk_diversity_set_free(out);
    return status;
}

/* Rows of text are checked as an array of them would be. */
mgk_status mgk_diversity_file_read_table(const char *path, mgk_table *out)
{
    mgk_diversity_set set = {.inputs = NULL};
    bool h5;
    *out = (mgk_table){.schema = NULL};
    TRY(find_format(path, &h5));
    mgk_status status =
        h5 ? read_h5(path, &set) : mgk_table_read_text(&mgk_comparison_schema, path, out);
    if (status == STATUS_OK)
        status = h5 ? mgk_diversity_set_table(&set, out)
                    : of_file(path, mgk_diversity_set_take_table(&set, out));
    mgk_diversity_set_free(&set);
    if (status != STATUS_OK)
        mgk_table_free(out);
    return status;
}
