/* Ranks of models, layer by layer, from the files of mgk-rank. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/results.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "plot.h"
#include "recognise.h"
#include "store/rank_file.h"

/* One matrix. */
typedef struct entry {
    int32_t input, layer, rank;
} entry;

static mgk_status read_text(const char *path, entry **out, size_t *count,
                            mgk_rank_settings *settings)
{
    mgk_status status;
    mgk_rank_table table = {0};
    CHECK(mgk_rank_table_read(path, &table));
    CHECK(mgk_alloc(table.row_count, sizeof(**out), out));
    for (size_t i = 0; i < table.row_count; i++)
        (*out)[i] = (entry){(int32_t)table.rows[i].input, (int32_t)table.rows[i].layer,
                            (int32_t)table.counts[i * table.threshold_count].rank};
    *count = table.row_count;
    *settings = table.settings;
    table.settings = (mgk_rank_settings){0};
out:
    mgk_rank_table_free(&table);
    return status;
}

static mgk_status read_hdf5(const char *path, entry **out, size_t *count,
                            mgk_rank_settings *settings)
{
    mgk_status status;
    mgk_rank_file file = {0};
    CHECK(mgk_rank_file_read(path, &file));
    CHECK(mgk_alloc(file.rows / file.thresholds, sizeof(**out), out));
    for (size_t i = 0; i < file.rows; i += file.thresholds)
        (*out)[(*count)++] = (entry){file.input[i], file.layer[i], file.rank[i]};
    /* Files of other makers may have none. */
    if (file.settings && mgk_rank_settings_parse(file.settings, settings) != STATUS_OK)
        mgk_rank_settings_free(settings);
out:
    mgk_rank_file_free(&file);
    return status;
}

static int by_input_and_layer(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->input != y->input)
        return x->input < y->input ? -1 : 1;
    return (x->layer > y->layer) - (x->layer < y->layer);
}

/* The layers of entries [count], sorted: *layers [*layer_count], of as many matrices each. */
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

/* The chosen layers of one input's entries [count], sorted by layer. */
static mgk_status gather(const mgk_plot_options *o, const char *path, const entry *entries,
                         size_t count, mgk_plot_ranks *out)
{
    mgk_status status;
    int32_t *layers = NULL, *positions = NULL;
    size_t layer_count = 0;
    CHECK(list_layers(path, entries, count, &layers, &layer_count));
    CHECK(mgk_plot_choose(path, "layer", o->layers, o->layer_count, layers, layer_count, &positions,
                          &out->layers, &out->layer_count));
    out->count = count / layer_count;
    CHECK(mgk_alloc(out->layer_count * out->count, sizeof(*out->values), &out->values));
    for (size_t l = 0; l < out->layer_count; l++)
        for (size_t i = 0; i < out->count; i++)
            out->values[l * out->count + i] = entries[(size_t)positions[l] * out->count + i].rank;
out:
    mgk_free(layers);
    mgk_free(positions);
    return status;
}

/* The inputs of a file's entries [count], sorted, join out [*models] as models. */
static mgk_status split_inputs(const mgk_plot_options *o, const char *path, const entry *entries,
                               size_t count, const mgk_rank_settings *settings, mgk_plot_ranks *out,
                               size_t *models)
{
    bool several = entries[count - 1].input != entries[0].input;
    for (size_t start = 0, end = 0; start < count; start = end) {
        while (end < count && entries[end].input == entries[start].input)
            end++;
        if (*models == MGK_GROUPS_MAX)
            return mgk_fail(STATUS_USAGE, "%s: too many models, expected at most %d", path,
                            MGK_GROUPS_MAX);
        mgk_plot_ranks *ranks = &out[(*models)++];
        size_t input = (size_t)entries[start].input;
        if (input < settings->origin_count)
            memcpy(ranks->sha256, settings->origins[input].sha256, sizeof(ranks->sha256));
        char file[MGK_PLOT_TITLE], shorter[MGK_PLOT_TITLE - 24]; /* leaves room for the number */
        mgk_plot_file_title(path, file);
        mgk_utf8_copy(file, sizeof(file), shorter, sizeof(shorter));
        if (several)
            snprintf(ranks->title, MGK_PLOT_TITLE, "%s, input %zu", shorter, input + 1);
        else
            memcpy(ranks->title, file, sizeof(file));
        TRY(gather(o, path, entries + start, end - start, ranks));
    }
    return STATUS_OK;
}

static mgk_status read_file(const mgk_plot_options *o, const char *path, mgk_plot_ranks *out,
                            size_t *models)
{
    mgk_status status;
    mgk_file_kind kind;
    entry *entries = NULL;
    size_t count = 0;
    mgk_rank_settings settings = {0};
    TRY(mgk_recognise(path, &kind));
    if (kind == MGK_FILE_ARRAYS)
        return mgk_fail(STATUS_FORMAT, "%s: arrays, but not rank results as mgk-rank writes them",
                        path);
    CHECK(kind == MGK_FILE_RANKS_HDF5 ? read_hdf5(path, &entries, &count, &settings)
                                      : read_text(path, &entries, &count, &settings));
    if (count == 0) {
        status = mgk_fail(STATUS_FORMAT, "%s: no matrices", path);
        goto out;
    }
    qsort(entries, count, sizeof(*entries), by_input_and_layer);
    CHECK(split_inputs(o, path, entries, count, &settings, out, models));
out:
    mgk_rank_settings_free(&settings);
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
    for (size_t i = 0; i < count; i++)
        TRY(read_file(options, paths[i], out, models));
    for (size_t i = 1; i < *models; i++)
        if (!same_layers(&out[0], &out[i]))
            return mgk_fail(STATUS_SHAPE,
                            "%s and %s have different layers: choose common ones by --layers",
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
                             .layer_numbers = ranks->layers};
}

void mgk_plot_ranks_free(mgk_plot_ranks *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mgk_free(ranks[i].values);
        mgk_free(ranks[i].layers);
    }
}

mgk_status mgk_plot_histograms(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    mgk_plot_ranks ranks[MGK_GROUPS_MAX] = {{.values = NULL}};
    mgk_model_ranks models[MGK_GROUPS_MAX];
    mgk_histograms histograms = {.tables = models, .overlay = true, .value_name = "rank"};
    CHECK(mgk_plot_read_ranks(o, o->inputs, o->input_count, ranks, &histograms.table_count));
    CHECK(mgk_plot_check_names(o, histograms.table_count));
    for (size_t i = 0; i < histograms.table_count; i++)
        models[i] = mgk_plot_ranks_of(plot, &ranks[i], mgk_plot_name(o, i, ranks[i].title));
    CHECK(mgk_draw_histograms(&histograms, &plot->picture, o->output));
out:
    mgk_plot_ranks_free(ranks, MGK_GROUPS_MAX);
    return status;
}
