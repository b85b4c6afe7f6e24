/* SPDX-License-Identifier: MIT */
/* Describes rank results: settings and statistics of each layer. */
#include <math.h>
#include <stdio.h>

#include "analysis/measures/histogram.h"
#include "analysis/table/rank_columns.h"
#include "base/memory.h"
#include "describe/describe.h"
#include "run/rank_file.h"

enum { MAX_LAYERS = 1000 /* shown per input */ };

static mgk_status add_number(cJSON *object, const char *name, double value)
{
    return mgk_describe_add(object, name,
                            isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

/* Leaves out settings that a CSV does not contain. */
static mgk_status add_settings(const mgk_rank_table *table, cJSON *tree)
{
    const mgk_rank_settings *settings = &table->settings;
    char seed[24];
    if (!isnan(table->thresholds[0]))
        TRY(mgk_describe_add(
            tree, "thresholds",
            cJSON_CreateDoubleArray(table->thresholds, (int)table->threshold_count)));
    TRY(mgk_describe_add(tree, "relative", cJSON_CreateBool(settings->relative)));
    if (settings->origin_count == 0)
        return STATUS_OK;
    cJSON *inputs = cJSON_CreateArray();
    TRY(mgk_describe_add(tree, "inputs", inputs));
    for (size_t i = 0; i < settings->origin_count; i++)
        TRY(mgk_describe_append(inputs, cJSON_CreateString(settings->origins[i].path)));
    TRY(mgk_describe_add(tree, "method", cJSON_CreateString(settings->method)));
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)settings->seed);
    TRY(mgk_describe_add(tree, "seed", cJSON_CreateString(seed)));
    return settings->run ? mgk_describe_add(tree, "run", cJSON_Parse(settings->run)) : STATUS_OK;
}

/* Adds one layer of an input at the first threshold; overwrites ranks [row_count]. */
static mgk_status add_layer(const mgk_rank_table *part, size_t layer, size_t *ranks, cJSON *out)
{
    size_t count = mgk_rank_table_ranks(part, layer, 0, ranks);
    mgk_summary summary = mgk_summarize(count, ranks);
    double smallest = INFINITY, largest = 0, undecided = 0;
    for (size_t r = 0; r < part->row_count; r++) {
        if (part->rows[r].layer != layer)
            continue;
        smallest = fmin(smallest, (double)part->rows[r].n);
        largest = fmax(largest, (double)part->rows[r].n);
        undecided += part->counts[r * part->threshold_count].undecided;
    }
    TRY(add_number(out, "matrices", (double)count));
    TRY(add_number(out, "smallest_n", smallest));
    TRY(add_number(out, "largest_n", largest));
    TRY(add_number(out, "mean_rank", summary.mean));
    TRY(mgk_describe_add(out, "quartiles", cJSON_CreateDoubleArray(summary.quartile, 3)));
    return add_number(out, "undecided", undecided);
}

static mgk_status add_layers(const mgk_rank_table *table, size_t input, cJSON *list)
{
    mgk_status status = STATUS_OK;
    mgk_rank_table part = mgk_rank_table_input(table, input);
    size_t count, *layers = NULL, *ranks = NULL;
    char name[48];
    CHECK(mgk_rank_table_layers(&part, &count, &layers));
    CHECK(mgk_alloc(part.row_count, sizeof(*ranks), &ranks));
    for (size_t l = 0; l < count && l < MAX_LAYERS; l++) {
        cJSON *layer = cJSON_CreateObject();
        snprintf(name, sizeof(name), "input %zu, layer %zu", input, layers[l]);
        CHECK(mgk_describe_add(list, name, layer));
        CHECK(add_layer(&part, layers[l], ranks, layer));
    }
    snprintf(name, sizeof(name), "%zu more of input %zu", count - MAX_LAYERS, input);
    if (count > MAX_LAYERS)
        CHECK(mgk_describe_add(list, "...", cJSON_CreateString(name)));
out:
    mgk_free(layers);
    mgk_free(ranks);
    return status;
}

/* "#{i: sigma_i >= threshold} (singular values; Nguyen et al. 2022)". */
static void describe_column(const mgk_column *column, size_t size, char *out)
{
    const bool both = *column->unit && *column->source;
    if (*column->unit || *column->source)
        snprintf(out, size, "%s (%s%s%s)", column->formula, column->unit, both ? "; " : "",
                 column->source);
    else
        snprintf(out, size, "%s", column->formula);
}

/* Describes the columns of rank files; files of earlier versions have fewer. */
static mgk_status add_columns(cJSON *tree)
{
    cJSON *columns = cJSON_CreateObject();
    char text[200];
    TRY(mgk_describe_add(tree, "columns", columns));
    for (size_t c = 0; c < mgk_rank_schema.column_count; c++) {
        describe_column(&mgk_rank_schema.columns[c], sizeof(text), text);
        TRY(mgk_describe_add(columns, mgk_rank_schema.columns[c].name, cJSON_CreateString(text)));
    }
    return STATUS_OK;
}

static mgk_status add_table(const mgk_rank_table *table, cJSON *tree)
{
    TRY(mgk_describe_add(tree, "matrices", cJSON_CreateNumber((double)table->row_count)));
    TRY(add_settings(table, tree));
    TRY(add_columns(tree));
    cJSON *layers = cJSON_CreateObject();
    TRY(mgk_describe_add(tree, "layers", layers));
    for (size_t i = 0; i < mgk_rank_table_inputs(table); i++)
        TRY(add_layers(table, i, layers));
    return STATUS_OK;
}

mgk_status mgk_describe_ranks(const char *path, cJSON *tree)
{
    mgk_rank_table table;
    TRY(mgk_rank_file_read(path, false, &table));
    mgk_status status = mgk_describe_add(tree, "kind", cJSON_CreateString("rank file"));
    if (status == STATUS_OK)
        status = add_table(&table, tree);
    mgk_rank_table_free(&table);
    return status;
}

mgk_status mgk_describe_rank_arrays(const char *path, cJSON *tree)
{
    mgk_rank_table table;
    TRY(mgk_describe_arrays(path, tree));
    mgk_status status = mgk_rank_file_read(path, false, &table);
    if (status == STATUS_FORMAT || status == STATUS_SHAPE || status == STATUS_UNSUPPORTED)
        return STATUS_OK; /* arrays that form no table are still listed */
    TRY(status);
    status = add_table(&table, tree);
    mgk_rank_table_free(&table);
    return status;
}
