/* SPDX-License-Identifier: MIT */
/* Reads the ranks of models by layer from the files of mgk-rank. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/sweep.h"
#include "analysis/table/rank_columns.h"
#include "base/memory.h"
#include "base/names.h"
#include "plot/plot.h"
#include "run/arguments.h"
#include "run/rank_file.h"

/* The column of numbers of this name; NULL: none. */
static const mgk_column *find_column(const char *name)
{
    const size_t c = mgk_schema_find(&mgk_rank_schema, name);
    const mgk_column *column = &mgk_rank_schema.columns[c];
    return c < mgk_rank_schema.column_count && !mgk_column_is_text(column) ? column : NULL;
}

static mgk_status check_measure(const mgk_plot_options *o)
{
    enum { MOST = 64 };
    const char *names[MOST];
    char hint[MGK_NAMES_HINT];
    size_t count = 0;
    if (!o->measure || (find_column(o->measure) && !o->sweep))
        return STATUS_OK;
    if (o->sweep)
        return mgk_fail(STATUS_USAGE, "`measure`: a sweep draws ranks alone");
    for (size_t c = 0; c < mgk_rank_schema.column_count && count < MOST; c++)
        if (!mgk_column_is_text(&mgk_rank_schema.columns[c]))
            names[count++] = mgk_rank_schema.columns[c].name;
    mgk_names_hint(o->measure, names, count, hint);
    return mgk_fail(STATUS_USAGE, "`measure`: no column \"%.60s\" of numbers in rank files; %s",
                    o->measure, hint);
}

/* One matrix. */
typedef struct entry {
    size_t input, row; /* of the table */
    int32_t layer;
} entry;

static int by_input_and_layer(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->input != y->input)
        return x->input < y->input ? -1 : 1;
    return (x->layer > y->layer) - (x->layer < y->layer);
}

/* Lists the layers of entries [count], sorted: *layers [*layer_count], which must have equal
 * numbers of matrices. */
static mgk_status list_layers(const char *path, const entry *entries, size_t count,
                              int32_t **layers, size_t *layer_count)
{
    size_t matrices = 0;
    TRY(mgk_alloc(count, sizeof(**layers), layers));
    for (size_t i = 0; i < count; i++)
        if (i == 0 || entries[i].layer != entries[i - 1].layer)
            (*layers)[(*layer_count)++] = entries[i].layer;
    matrices = count / *layer_count;
    for (size_t i = 0; i < count; i++)
        if (count % *layer_count != 0 || entries[i].layer != (*layers)[i / matrices])
            return mgk_fail(STATUS_SHAPE, "%s: layers have different numbers of matrices", path);
    return STATUS_OK;
}

/* The noise floor of a matrix, on the scale of the thresholds. */
static double noise_floor(const mgk_rank_table *table, size_t row)
{
    const mgk_rank_row *r = &table->rows[row];
    return table->settings.relative ? r->noise_floor / r->sigma_max : r->noise_floor;
}

/* The number in a column of a record; NaN: none, or not a number. */
static double number_of(const mgk_rank_record *record, const mgk_column *column)
{
    const void *at = (const char *)record + column->offset;
    switch (column->type) {
    case MGK_COLUMN_INTEGER:
        return (double)*(const size_t *)at;
    case MGK_COLUMN_FLAG:
        return *(const bool *)at;
    case MGK_COLUMN_REAL:
        return *(const double *)at;
    default:
        return NAN;
    }
}

/* Collects the chosen layers of one input's entries [count], sorted by layer. */
static mgk_status gather(const mgk_plot_options *o, const char *path, const mgk_rank_table *table,
                         const entry *entries, size_t count, mgk_plot_ranks *out)
{
    const mgk_column *column = find_column(o->measure ? o->measure : "rank");
    mgk_status status;
    int32_t *layers = NULL, *positions = NULL;
    size_t layer_count = 0, thresholds = out->threshold_count = table->threshold_count, ranks;
    CHECK(list_layers(path, entries, count, &layers, &layer_count));
    CHECK(mgk_plot_choose(path, "layer", o->layers, o->layer_count, layers, layer_count, &positions,
                          &out->layers, &out->layer_count));
    out->count = count / layer_count;
    out->relative = table->settings.relative;
    CHECK(mgk_alloc(thresholds, sizeof(*out->thresholds), &out->thresholds));
    memcpy(out->thresholds, table->thresholds, thresholds * sizeof(*out->thresholds));
    CHECK(mgk_alloc(out->layer_count, sizeof(*out->noise), &out->noise));
    CHECK(mgk_multiply(out->layer_count * out->count, thresholds, &ranks));
    CHECK(mgk_alloc(ranks, sizeof(*out->values), &out->values));
    CHECK(mgk_alloc(out->layer_count * out->count, sizeof(*out->sizes), &out->sizes));
    out->least_tokens = SIZE_MAX;
    for (size_t l = 0; l < out->layer_count; l++) {
        out->noise[l] = NAN;
        for (size_t i = 0; i < out->count; i++) {
            size_t row = entries[(size_t)positions[l] * out->count + i].row;
            const size_t n = table->rows[row].n, head = table->rows[row].head;
            out->last_head = head > out->last_head ? head : out->last_head;
            out->tokens = n > out->tokens ? n : out->tokens;
            out->least_tokens = n < out->least_tokens ? n : out->least_tokens;
            out->sizes[l * out->count + i] = (double)n;
            out->noise[l] = fmax(out->noise[l], noise_floor(table, row));
            for (size_t t = 0; t < thresholds; t++) {
                const mgk_rank_record record = mgk_rank_table_record(table, row * thresholds + t);
                out->values[(t * out->layer_count + l) * out->count + i] =
                    number_of(&record, column);
            }
        }
    }
out:
    mgk_free(layers);
    mgk_free(positions);
    return status;
}

/* Whether the file says the name of an input, which no other one of its inputs has. */
static bool has_name(const mgk_rank_settings *settings, size_t input)
{
    char name[MGK_PLOT_TITLE], other[MGK_PLOT_TITLE];
    if (input >= settings->origin_count)
        return false;
    mgk_plot_model_title(settings->origins[input].path, name);
    for (size_t i = 0; i < settings->origin_count; i++) {
        mgk_plot_model_title(settings->origins[i].path, other);
        if (i != input && strcmp(name, other) == 0)
            return false;
    }
    return *name != '\0';
}

/* The name of the file; for a file with several inputs, that of the input, or "file, input 1",
 * counted from 0. */
static void set_title(const char *path, const mgk_rank_table *table, size_t input,
                      mgk_plot_ranks *out)
{
    char file[MGK_PLOT_TITLE];
    const bool several = mgk_rank_table_inputs(table) > 1;
    const bool named = several && has_name(&table->settings, input);
    mgk_plot_path_end(path, out->place);
    mgk_plot_file_title(path, file);
    if (named)
        mgk_plot_model_title(table->settings.origins[input].path, out->title);
    else if (several)
        snprintf(out->title, sizeof(out->title), "%s, input %zu", file, input);
    else
        memcpy(out->title, file, sizeof(file));
}

/* Appends the inputs of a table, with sorted entries [count], to out [*models] as models. */
static mgk_status split_inputs(const mgk_plot_options *o, const char *path,
                               const mgk_rank_table *table, const entry *entries, size_t count,
                               mgk_plot_ranks *out, size_t *models)
{
    for (size_t start = 0, end = 0; start < count; start = end) {
        while (end < count && entries[end].input == entries[start].input)
            end++;
        if (*models == MGK_GROUPS_MAX)
            return mgk_fail(STATUS_USAGE, "%s: too many models, expected at most %d", path,
                            MGK_GROUPS_MAX);
        mgk_plot_ranks *ranks = &out[(*models)++];
        size_t input = entries[start].input;
        if (input < table->settings.origin_count)
            memcpy(ranks->sha256, table->settings.origins[input].sha256, sizeof(ranks->sha256));
        set_title(path, table, input, ranks);
        TRY(gather(o, path, table, entries + start, end - start, ranks));
    }
    return STATUS_OK;
}

/* Keeps the entries of the chosen heads, *count of them. */
static mgk_status choose_heads(const mgk_plot_options *o, const char *path,
                               const mgk_rank_table *table, entry *entries, size_t *count)
{
    *count = 0;
    for (size_t h = 0; o->heads && h < o->head_count; h++) {
        size_t r = 0;
        while (r < table->row_count && (int)table->rows[r].head != o->heads[h])
            r++;
        if (r == table->row_count)
            return mgk_fail(STATUS_SHAPE, "%s: no head %d (counted from 0)", path, o->heads[h]);
    }
    for (size_t r = 0; r < table->row_count; r++)
        if (!o->heads || mgk_is_chosen(o->heads, o->head_count, (int32_t)table->rows[r].head))
            entries[(*count)++] = (entry){table->rows[r].input, r, (int32_t)table->rows[r].layer};
    return STATUS_OK;
}

static mgk_status read_file(const mgk_plot_options *o, const char *path, mgk_plot_ranks *out,
                            size_t *models)
{
    mgk_status status;
    entry *entries = NULL;
    size_t count;
    mgk_rank_table table;
    TRY(mgk_rank_file_read(path, o->sweep, &table));
    status = o->sweep ? mgk_rank_table_sweep(&table) : STATUS_OK;
    if (status != STATUS_OK) {
        mgk_fail_prefix(status, path);
        goto out;
    }
    CHECK(mgk_alloc(table.row_count, sizeof(*entries), &entries));
    CHECK(choose_heads(o, path, &table, entries, &count));
    qsort(entries, count, sizeof(*entries), by_input_and_layer);
    CHECK(split_inputs(o, path, &table, entries, count, out, models));
out:
    mgk_rank_table_free(&table);
    mgk_free(entries);
    return status;
}

static bool same_layers(const mgk_plot_ranks *a, const mgk_plot_ranks *b)
{
    return a->layer_count == b->layer_count &&
           memcmp(a->layers, b->layers, a->layer_count * sizeof(*a->layers)) == 0;
}

mgk_status mgk_plot_read_ranks(const mgk_plot_options *options, const char *const *paths,
                               size_t count, mgk_plot_ranks *out, size_t *models)
{
    *models = 0;
    TRY(check_measure(options));
    for (size_t i = 0; i < count; i++)
        TRY(read_file(options, paths[i], out, models));
    mgk_plot_tell_apart(out->title, sizeof(out->title), out->place, sizeof(*out), *models);
    for (size_t i = 1; i < *models; i++)
        if (!same_layers(&out[0], &out[i]))
            return mgk_fail(STATUS_SHAPE,
                            "%s and %s have different layers: choose common ones by `layers`",
                            out[0].title, out[i].title);
    return STATUS_OK;
}

mgk_model_ranks mgk_plot_ranks_of(mgk_plot *plot, const mgk_plot_ranks *ranks, const char *title)
{
    mgk_plot_add_hash(plot, ranks->sha256);
    return (mgk_model_ranks){.title = title,
                             .ranks = ranks->values,
                             .layers = ranks->layer_count,
                             .count = ranks->count,
                             .layer_numbers = ranks->layers,
                             .tokens = ranks->tokens};
}

void mgk_plot_ranks_free(mgk_plot_ranks *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mgk_free(ranks[i].values);
        mgk_free(ranks[i].sizes);
        mgk_free(ranks[i].layers);
        mgk_free(ranks[i].thresholds);
        mgk_free(ranks[i].noise);
    }
}

/* Describes the counted matrices if every file contains the same description; else "". */
static void describe_count(const mgk_plot_ranks *ranks, size_t count, size_t size, char *out)
{
    *out = '\0';
    for (size_t i = 0; i < count; i++)
        if (!(ranks[i].thresholds[0] == ranks[0].thresholds[0]) ||
            ranks[i].relative != ranks[0].relative)
            return;
    mgk_count_heading(ranks[0].thresholds[0], ranks[0].relative, size, out);
}

/* Divides ranks by N, the most that they can be; a matrix without rows has no share. */
static void make_shares(mgk_plot_ranks *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ranks[i].layer_count * ranks[i].count; k++)
            ranks[i].values[k] =
                ranks[i].sizes[k] > 0 ? ranks[i].values[k] / ranks[i].sizes[k] : (double)NAN;
}

bool mgk_plot_share_ranks(const mgk_plot_options *o, mgk_plot_ranks *ranks, size_t count,
                          size_t *least, size_t *most)
{
    *least = SIZE_MAX;
    *most = 0;
    for (size_t i = 0; i < count; i++) {
        *least = ranks[i].least_tokens < *least ? ranks[i].least_tokens : *least;
        *most = ranks[i].tokens > *most ? ranks[i].tokens : *most;
    }
    const bool shares = !o->measure && *least < *most;
    if (shares)
        make_shares(ranks, count);
    return shares;
}

/* Says what the values are: ranks, their shares of N, or a measure that was asked for. */
static void name_values(const mgk_plot_options *o, mgk_plot_ranks *ranks, char *label,
                        char *heading, size_t size, mgk_histograms *out)
{
    const mgk_column *column = find_column(o->measure ? o->measure : "rank");
    size_t least, most;
    const bool shares = mgk_plot_share_ranks(o, ranks, out->table_count, &least, &most);
    snprintf(label, size, "%s", shares ? mgk_rank_label(true) : column->name);
    for (char *c = label; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    *heading = '\0';
    if (strcmp(column->name, "rank") == 0)
        describe_count(ranks, out->table_count, size, heading);
    if (!*heading)
        snprintf(heading, size, "%s", label);
    mgk_append_sizes(least, most, size, heading);
    out->real = shares || column->type == MGK_COLUMN_REAL;
    out->value_name = label;
    out->heading = heading;
}

mgk_status mgk_plot_histograms(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    mgk_plot_ranks ranks[MGK_GROUPS_MAX] = {{.values = NULL}};
    mgk_model_ranks models[MGK_GROUPS_MAX];
    char label[128], heading[128];
    mgk_histograms histograms = {
        .tables = models, .overlay = true, .count_from = plot->picture.count_from};
    CHECK(mgk_plot_read_ranks(o, o->inputs, o->input_count, ranks, &histograms.table_count));
    CHECK(mgk_plot_check_names(o, histograms.table_count));
    name_values(o, ranks, label, heading, sizeof(label), &histograms);
    for (size_t i = 0; i < histograms.table_count; i++)
        models[i] = mgk_plot_ranks_of(plot, &ranks[i], mgk_plot_name(o, i, ranks[i].title));
    CHECK(mgk_draw_histograms(&histograms, &plot->picture, o->output));
out:
    mgk_plot_ranks_free(ranks, MGK_GROUPS_MAX);
    return status;
}
