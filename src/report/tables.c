/* SPDX-License-Identifier: MIT */
#include "report/tables.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "run/diversity_file.h"

/* ---- files ----------------------------------------------------------------------------------- */

mgk_status mgk_report_tables_make(size_t most, mgk_report_tables *out)
{
    *out = (mgk_report_tables){.paths = NULL};
    TRY(mgk_alloc(most, sizeof(*out->paths), &out->paths));
    return mgk_alloc(most, sizeof(*out->sets), &out->sets);
}

mgk_status mgk_report_tables_read(mgk_report_tables *tables, const char *path)
{
    mgk_diversity_set *set = &tables->sets[tables->count];
    TRY(mgk_diversity_file_read(path, set));
    tables->paths[tables->count++] = path;
    return set->count == 1 && set->inputs[0].second_layers_from > 0
               ? mgk_fail(STATUS_UNSUPPORTED,
                          "%s: compares heads across two models, and a report tells of each model "
                          "alone; mgk-plot map draws this table",
                          path)
               : STATUS_OK;
}

static void free_model(mgk_report_model *model)
{
    mgk_diversity_set_free(&model->set);
    mgk_free(model->sources);
    mgk_free(model->tables);
}

void mgk_report_tables_free(mgk_report_tables *tables)
{
    for (size_t i = 0; i < tables->model_count; i++)
        free_model(&tables->models[i]);
    for (size_t i = 0; i < tables->count; i++)
        mgk_diversity_set_free(&tables->sets[i]);
    mgk_free(tables->models);
    mgk_free(tables->sets);
    mgk_free(tables->paths);
}

/* ---- the same samples ------------------------------------------------------------------------ */

/* The settings that decide the samples. */
static const char *const sampling[] = {"text",          "lines",     "article_per_file",
                                       "tokens",        "task",      "listops_above",
                                       "listops_below", "data",      "images",
                                       "audio",         "tokenizer", "length",
                                       "seed",          "samples",   NULL};

/* Those that decide, with the array, which matrices are read. */
static const char *const reading_keys[] = {"axes", "mask", "causal", "attention", NULL};

/* Whether both have the same settings of these names, or lack the same. */
static bool same_settings(const cJSON *a, const cJSON *b, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        const cJSON *x = cJSON_GetObjectItemCaseSensitive(a, names[i]),
                    *y = cJSON_GetObjectItemCaseSensitive(b, names[i]);
        if ((x || y) && !cJSON_Compare(x, y, true))
            return false;
    }
    return true;
}

/* The array of matrices: attention, in a store and of a model that runs, or the named one. */
static const char *array_of(const cJSON *settings)
{
    const cJSON *dataset = cJSON_GetObjectItemCaseSensitive(settings, "dataset");
    const char *name = cJSON_IsString(dataset) ? dataset->valuestring : "attention";
    return name + (*name == '/');
}

static bool same_matrices(const cJSON *a, const cJSON *b)
{
    return same_settings(a, b, reading_keys) && strcmp(array_of(a), array_of(b)) == 0;
}

/* Files that hold matrices are told by their names; of a model that was run, the settings tell. */
static bool same_input(const cJSON *settings, const mgk_diversity_values *a,
                       const mgk_diversity_values *b)
{
    const bool run = cJSON_GetObjectItemCaseSensitive(settings, "length") != NULL;
    return run || (*a->name && strcmp(mgk_file_name(a->name), mgk_file_name(b->name)) == 0);
}

mgk_status mgk_report_settings(const mgk_diversity_source *source, cJSON **out)
{
    *out = NULL;
    return source->set->settings
               ? mgk_json_parse_object(source->set->settings, strlen(source->set->settings), out)
               : STATUS_OK;
}

static const char *text_of(const cJSON *settings, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(settings, key));
}

mgk_status mgk_report_reading_of(const mgk_diversity_source *source, mgk_report_reading *out)
{
    *out = (mgk_report_reading){.known = source->set->settings != NULL};
    TRY(mgk_report_settings(source, &out->settings));
    out->dataset = text_of(out->settings, "dataset");
    out->axes = text_of(out->settings, "axes");
    out->mask = text_of(out->settings, "mask");
    out->causal = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(out->settings, "causal"));
    return STATUS_OK;
}

void mgk_report_reading_free(mgk_report_reading *reading)
{
    cJSON_Delete(reading->settings);
    *reading = (mgk_report_reading){.known = false};
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool mgk_report_same_reading(const mgk_report_reading *a, const mgk_report_reading *b)
{
    return same_text(a->dataset, b->dataset) && same_text(a->axes, b->axes) &&
           same_text(a->mask, b->mask) && a->causal == b->causal;
}

/* Whether the samples are the same, and of them the matrices. */
static mgk_status compare_samples(const mgk_diversity_source *first,
                                  const mgk_diversity_source *second, bool *same)
{
    const mgk_diversity_values *a = mgk_diversity_of(*first), *b = mgk_diversity_of(*second);
    const bool known = *a->samples_hash && *b->samples_hash;
    cJSON *x = NULL, *y = NULL;
    mgk_status status = mgk_report_settings(first, &x);
    if (status == STATUS_OK)
        status = mgk_report_settings(second, &y);
    *same = same_matrices(x, y) && (known ? strcmp(a->samples_hash, b->samples_hash) == 0
                                          : same_settings(x, y, sampling) && same_input(x, a, b));
    cJSON_Delete(x);
    cJSON_Delete(y);
    return status;
}

/* ---- models ---------------------------------------------------------------------------------- */

static bool same_numbers(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count)
{
    return a_count == b_count && memcmp(a, b, a_count * sizeof(*a)) == 0;
}

/* A table of layer measures alone has no heads; its layers are of all that a model has. */
static bool same_heads(const mgk_diversity_values *a, const mgk_diversity_values *b)
{
    return a->layout.heads == 0 || b->layout.heads == 0 ||
           same_numbers(a->heads, a->layout.heads, b->heads, b->layout.heads);
}

static mgk_status compare(const mgk_diversity_source *first, const mgk_diversity_source *second,
                          bool *same)
{
    const mgk_diversity_values *a = mgk_diversity_of(*first), *b = mgk_diversity_of(*second);
    *same = *a->model_sha256 && strcmp(a->model_sha256, b->model_sha256) == 0 &&
            same_numbers(a->layers, a->layout.layers, b->layers, b->layout.layers) &&
            same_heads(a, b);
    return *same ? compare_samples(first, second, same) : STATUS_OK;
}

/* Compares with every source: the first may have no heads. */
static mgk_status compare_all(const mgk_report_model *model, const mgk_diversity_source *source,
                              bool *same)
{
    *same = true;
    for (size_t i = 0; i < model->count && *same; i++)
        TRY(compare(&model->sources[i], source, same));
    return STATUS_OK;
}

/* The model that an input of a table is of, or a new one. Inputs of one table are different. */
static mgk_status find_model(mgk_report_tables *tables, const mgk_diversity_source *source,
                             size_t table, mgk_report_model **out)
{
    for (size_t i = 0; i < tables->model_count; i++) {
        bool same = false;
        *out = &tables->models[i];
        if ((*out)->tables[(*out)->count - 1] != table)
            TRY(compare_all(*out, source, &same));
        if (same)
            return STATUS_OK;
    }
    TRY(mgk_grow(tables->model_count, sizeof(*tables->models), &tables->room, &tables->models));
    *out = &tables->models[tables->model_count];
    **out = (mgk_report_model){.count = 0};
    tables->model_count++;
    TRY(mgk_alloc(tables->count, sizeof(*(*out)->sources), &(*out)->sources));
    return mgk_alloc(tables->count, sizeof(*(*out)->tables), &(*out)->tables);
}

mgk_status mgk_report_tables_merge(mgk_report_tables *tables)
{
    for (size_t t = 0; t < tables->count; t++)
        for (size_t i = 0; i < tables->sets[t].count; i++) {
            const mgk_diversity_source source = {&tables->sets[t], i};
            mgk_report_model *model;
            TRY(find_model(tables, &source, t, &model));
            model->sources[model->count] = source;
            model->tables[model->count++] = t;
        }
    for (size_t i = 0; i < tables->model_count; i++) {
        mgk_report_model *model = &tables->models[i];
        TRY(mgk_diversity_set_merge(&model->set, model->sources, model->count));
    }
    return STATUS_OK;
}
