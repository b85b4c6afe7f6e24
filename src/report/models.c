/* SPDX-License-Identifier: MIT */
#include "report/models.h"

#include <string.h>

#include "analysis/measures/registry.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "report/again.h"
#include "report/text.h"
#include "report/uniform.h"

/* A number of one value: its mean, deviation or samples. */
typedef void write_value(FILE *page, const mgk_diversity_means *means, size_t i);

static void write_mean(FILE *page, const mgk_diversity_means *means, size_t i)
{
    mgk_report_real(page, mgk_diversity_mean(means, i));
}

static void write_sd(FILE *page, const mgk_diversity_means *means, size_t i)
{
    mgk_report_real(page, mgk_diversity_sd(means, i));
}

static void write_samples(FILE *page, const mgk_diversity_means *means, size_t i)
{
    fprintf(page, "%ld", (long)means->samples[i]);
}

bool mgk_report_tells(const mgk_measure *measure, size_t heads, size_t i)
{
    return measure->level != MGK_MEASURE_PAIR || i % heads > i / heads;
}

static void write_values(FILE *page, const mgk_diversity_values *v, size_t m, const char *name,
                         write_value *write)
{
    const mgk_measure *measure = v->layout.measures[m];
    const size_t heads = v->layout.heads,
                 size = mgk_measure_size(measure, heads, v->layout.mixtures);
    bool first = true;
    fprintf(page, ",\n   \"%s\":[", name);
    for (size_t layer = 0; layer < v->layout.layers; layer++)
        for (size_t i = 0; i < size; i++) {
            if (!mgk_report_tells(measure, heads, i))
                continue;
            if (!first)
                fputc(',', page);
            first = false;
            write(page, &v->means, mgk_diversity_place(v, m, layer) + i);
        }
    fputc(']', page);
}

static void write_text(FILE *page, const char *name, const char *text)
{
    fprintf(page, ",\"%s\":", name);
    mgk_report_string(page, text);
}

static void write_measure(FILE *page, const mgk_diversity_values *v, size_t m)
{
    const mgk_measure *measure = v->layout.measures[m], *known = mgk_measure_find(measure->name);
    fputs("\n  {\"name\":", page);
    mgk_report_string(page, measure->name);
    write_text(page, "level", mgk_measure_level_names[measure->level]);
    write_text(page, "unit", measure->unit);
    write_text(page, "formula", measure->formula);
    write_text(page, "source", measure->source);
    fprintf(page, ",\"components\":%zu", measure->components ? v->layout.mixtures : 0);
    fprintf(page, ",\"similarity\":%s", known && known->similarity ? "true" : "false");
    write_values(page, v, m, "values", write_mean);
    write_values(page, v, m, "sd", write_sd);
    write_values(page, v, m, "samples", write_samples);
    fputc('}', page);
}

/* Known measures in the order in which they are listed everywhere, then the others. */
static void write_measures(FILE *page, const mgk_diversity_values *v)
{
    const char *comma = "";
    for (size_t k = 0; k < mgk_measure_count; k++) {
        const size_t m = mgk_diversity_find(v, mgk_measures[k]->name);
        if (m == v->layout.chosen)
            continue;
        fputs(comma, page);
        write_measure(page, v, m);
        comma = ",";
    }
    for (size_t m = 0; m < v->layout.chosen; m++) {
        if (mgk_measure_find(v->layout.measures[m]->name))
            continue;
        fputs(comma, page);
        write_measure(page, v, m);
        comma = ",";
    }
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* Writes the curves of pruning, each from the whole model to none of its heads. */
static void write_curves(FILE *page, const mgk_diversity_set *set)
{
    const char *last = NULL;
    fputs(",\"curves\":[", page);
    for (size_t i = 0; i < set->point_count; i++) {
        const mgk_curve_point *p = &set->points[i];
        if (!last || strcmp(last, p->measure) != 0) {
            fputs(last ? "]},{\"name\":" : "{\"name\":", page);
            mgk_report_string(page, p->measure);
            fprintf(page, ",\"heads\":%ld,\"values\":[", (long)p->left);
        } else {
            fputc(',', page);
        }
        last = p->measure;
        mgk_report_real(page, p->point.value);
    }
    fputs(last ? "]}]" : "]", page);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The name of a table's file, or its path if another table has a file of that name. */
static const char *file_of(const mgk_report_tables *tables, size_t table)
{
    const char *path = tables->paths[table], *name = mgk_file_name(path);
    for (size_t i = 0; i < tables->count; i++)
        if (strcmp(tables->paths[i], path) != 0 &&
            strcmp(mgk_file_name(tables->paths[i]), name) == 0)
            return path;
    return name;
}

static void write_files(FILE *page, const mgk_report_tables *tables, const mgk_report_model *model)
{
    fputs(",\"files\":[", page);
    for (size_t i = 0; i < model->count; i++) {
        fputs(i > 0 ? "," : "", page);
        mgk_report_string(page, file_of(tables, model->tables[i]));
    }
    fputc(']', page);
}

/* Writes the threshold of the ranks of a table; "": its settings do not tell. */
static mgk_status write_threshold(FILE *page, const mgk_diversity_source *source)
{
    cJSON *settings;
    TRY(mgk_report_settings(source, &settings));
    const cJSON *threshold = cJSON_GetObjectItemCaseSensitive(settings, "threshold");
    fputc('"', page);
    if (cJSON_IsNumber(threshold)) {
        fputs("threshold ", page);
        mgk_print_real(page, threshold->valuedouble);
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(settings, "relative")))
            fputs(", relative", page);
    }
    fputc('"', page);
    cJSON_Delete(settings);
    return STATUS_OK;
}

static mgk_status write_thresholds(FILE *page, const mgk_report_model *model)
{
    fputs(",\"thresholds\":[", page);
    for (size_t i = 0; i < model->count; i++) {
        fputs(i > 0 ? "," : "", page);
        TRY(write_threshold(page, &model->sources[i]));
    }
    fputc(']', page);
    return STATUS_OK;
}

/* Writes the warnings of all tables of a model, a string each. */
static mgk_status write_warnings(FILE *page, const mgk_report_model *model)
{
    const char *comma = "";
    fputs(",\"warnings\":[", page);
    for (size_t i = 0; i < model->count; i++) {
        char *lines, *rest = NULL;
        TRY(mgk_json_warnings(model->sources[i].set->settings, &lines));
        for (char *line = lines ? strtok_r(lines, "\n", &rest) : NULL; line;
             line = strtok_r(NULL, "\n", &rest)) {
            fputs(comma, page);
            mgk_report_string(page, line);
            comma = ",";
        }
        mgk_free(lines);
    }
    fputc(']', page);
    return STATUS_OK;
}

/* ---- models ---------------------------------------------------------------------------------- */

static mgk_status write_model(FILE *page, const mgk_report_tables *tables,
                              const mgk_report_model *model, const mgk_plot_measured *input,
                              const mgk_report_store *stores, int32_t store)
{
    const mgk_diversity_values *v = input->values;
    fputs("\n {\"title\":", page);
    mgk_report_string(page, input->title);
    write_text(page, "name", v->name);
    write_text(page, "sha256", v->model_sha256);
    write_files(page, tables, model);
    TRY(write_thresholds(page, model));
    TRY(write_warnings(page, model));
    fputs(",\"again\":", page);
    mgk_report_again(page, model);
    write_curves(page, &model->set);
    fputs(",\"uniform\":", page);
    TRY(mgk_report_uniform(page, v, store >= 0 ? &stores[store] : NULL));
    fprintf(page, ",\"store\":%ld,\"layers\":", (long)store);
    mgk_report_integers(page, v->layers, v->layout.layers);
    fputs(",\"heads\":", page);
    mgk_report_integers(page, v->heads, v->layout.heads);
    fputs(",\"measures\":[", page);
    write_measures(page, v);
    fputs("]}", page);
    return STATUS_OK;
}

mgk_status mgk_report_models(FILE *page, const mgk_report_tables *tables,
                             const mgk_plot_measures *measures, const mgk_report_store *stores,
                             const int32_t *store_of)
{
    fputc('[', page);
    for (size_t i = 0; i < measures->count; i++) {
        if (i > 0)
            fputc(',', page);
        TRY(write_model(page, tables, &tables->models[i], &measures->inputs[i], stores,
                        store_of[i]));
    }
    fputc(']', page);
    return STATUS_OK;
}

bool mgk_report_has_mixture(const mgk_plot_measures *measures)
{
    for (size_t i = 0; i < measures->count; i++) {
        const mgk_record_layout *layout = &measures->inputs[i].values->layout;
        for (size_t m = 0; m < layout->chosen; m++)
            if (layout->measures[m]->components && mgk_plot_has_value(&measures->inputs[i], m))
                return true;
    }
    return false;
}
