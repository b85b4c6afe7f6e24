/* SPDX-License-Identifier: MIT */
/* mgk_plot_picture: measures of diversity, from every format of files of mgk-diversity. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/measures/linkage.h"
#include "analysis/measures/scaling.h"
#include "base/file.h"
#include "base/memory.h"
#include "plot_case.h"
#include "plots/charts/curve_grid.h"
#include "plots/charts/maps.h"
#include "plots/charts/scatter.h"
#include "test.h"
#include "tiny.h"

enum { LAYERS = 3, HEADS = 4 };

static const char *const formats[] = {"measures.csv", "measures.json", "measures.h5",
                                      "samples.csv"};
enum { FORMATS = 4, CSV = 0, H5 = 2, SAMPLES = 3 };

/* The same across layers. */
static const char *const across[] = {"across.csv", "across.json", "across.h5",
                                     "across_samples.csv"};

static void measure(const char *output, bool per_sample, bool across_layers)
{
    mgk_diversity_options o = mgk_diversity_options_default();
    o.job.force = true;
    o.job.threads = 1;
    o.inputs = &case_store;
    o.input_count = 1;
    o.output = output;
    o.per_sample = per_sample;
    o.across_layers = across_layers;
    assert_done(mgk_measure_diversity(&o, NULL));
}

static int make_files(void **state)
{
    case_make_mgk(state);
    for (int i = 0; i < FORMATS; i++) {
        measure(formats[i], i == SAMPLES, false);
        measure(across[i], i == SAMPLES, true);
    }
    return 0;
}

static png_picture draw(mgk_plot_kind kind, const char *path, const char *measure)
{
    mgk_plot_options o = case_options(kind, &path, 1);
    static const char *const name = "the same";
    o.names = &name;
    o.name_count = 1;
    o.measure = measure;
    return case_draw(&o);
}

static void formats_agree(void **state)
{
    (void)state;
    static const struct {
        mgk_plot_kind kind;
        const char *measure;
    } pictures[] = {
        {MGK_PLOT_HEADS, NULL},     {MGK_PLOT_HEADS, "sink"}, {MGK_PLOT_DEPTH, "rank"},
        {MGK_PLOT_DEPTH, "cosine"}, {MGK_PLOT_PAIRS, NULL},   {MGK_PLOT_PAIRS, "affinity"},
        {MGK_PLOT_ROLES, NULL},     {MGK_PLOT_MAP, NULL},     {MGK_PLOT_MAP, "cosine"}};
    for (size_t p = 0; p < sizeof(pictures) / sizeof(*pictures); p++) {
        const char *const *files = pictures[p].kind == MGK_PLOT_MAP ? across : formats;
        png_picture first = draw(pictures[p].kind, files[0], pictures[p].measure);
        for (int i = 1; i < FORMATS; i++) {
            png_picture picture = draw(pictures[p].kind, files[i], pictures[p].measure);
            case_assert_same(&picture, &first);
            mgk_free(picture.pixels);
        }
        mgk_free(first.pixels);
    }
}

/* A band of quartiles over samples needs samples. */
static void layers_have_bands_of_samples(void **state)
{
    (void)state;
    png_picture means = draw(MGK_PLOT_DEPTH, formats[CSV], "mean_js"),
                h5 = draw(MGK_PLOT_DEPTH, formats[H5], "mean_js"),
                samples = draw(MGK_PLOT_DEPTH, formats[SAMPLES], "mean_js");
    case_assert_same(&h5, &samples);
    assert_true(case_differ(&means, &h5));
    mgk_free(means.pixels);
    mgk_free(h5.pixels);
    mgk_free(samples.pixels);
}

/* The values of a measure in rows of the table of means, in their order. */
static size_t values_of(const char *measure, double *out)
{
    mgk_table *table;
    mgk_table_column names, values;
    size_t count = 0;
    assert_done(mgk_table_open(formats[CSV], &table));
    assert_done(mgk_table_find_column(table, "measure", &names));
    assert_done(mgk_table_find_column(table, "value", &values));
    for (size_t r = 0; r < mgk_table_rows(table); r++)
        if (strcmp(names.words[names.integers[r]], measure) == 0)
            out[count++] = values.reals[r];
    mgk_table_close(table);
    return count;
}

static const int32_t numbers[] = {0, 1, 2, 3};

static void expect_maps(const mgk_maps *maps, const char *title, const png_picture *picture)
{
    mgk_picture_options options = mgk_picture_defaults();
    options.title = title;
    options.force = true;
    options.scaling = SCALING_LINEAR;
    options.range_per_panel = false;
    assert_ok(mgk_draw_maps(maps, &options, "expected.png"));
    png_picture expected = read_png("expected.png");
    case_assert_same(picture, &expected);
    mgk_free(expected.pixels);
}

static void heads_are_those_of_the_file(void **state)
{
    (void)state;
    static const char *const title = "the same",
                             *const note = "entropy: mean_i -sum_j a_ij ln a_ij; means over 3 "
                                           "samples";
    double values[LAYERS * HEADS];
    assert_int_equal(values_of("entropy", values), LAYERS * HEADS);
    assert_true(values[0] != values[1]);
    const mgk_map map = {.values = values,
                         .rows = LAYERS,
                         .cols = HEADS,
                         .row_numbers = numbers,
                         .col_numbers = numbers,
                         .row_name = "layer",
                         .col_name = "head"};
    png_picture picture = draw(MGK_PLOT_HEADS, formats[H5], NULL);
    expect_maps(&(mgk_maps){.maps = &map,
                            .titles = &title,
                            .count = 1,
                            .value_name = "entropy (nats)",
                            .notes = &note,
                            .note_count = 1},
                NULL, &picture);
    mgk_free(picture.pixels);
}

enum { SCORES = 6, NEXT = 1 };

static const char *const roles[SCORES] = {"previous_token", "next",      "first",
                                          "diagonal",       "induction", "duplicate_token"};
static const double scores[SCORES][2] = {{0.5, 0.25}, {0.0625, 0.375}, {0.125, 0.0625},
                                         {0, 0.125},  {0.25, 0},       {0.375, 0.125}};

static const char uniform[] =
    "uniform attention over N tokens scores 1/N, previous_token (N - 1)/N^2; with a causal mask "
    "about (ln N + 0.58)/N, previous_token 1/N less; for induction and duplicate_token it depends "
    "on the tokens";

/* Writes the scores of models m0, m1, ...; the last of several, a causal one, has no `next`. */
static void write_roles(const char *path, int models)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"settings\": {\"inputs\":[\"m0\"%s],\"length\":4},\n\"values\": [\n",
            models > 1 ? ",\"m1\"" : "");
    for (int i = 0; i < models * 2 * SCORES; i++) {
        const int model = i / (2 * SCORES), score = i / 2 % SCORES;
        char value[32] = "null";
        if (model == 0 || score != NEXT)
            snprintf(value, sizeof(value), "%g", scores[score][i % 2]);
        fprintf(
            file,
            "%s{\"input\": \"m%d\", \"level\": \"head\", \"measure\": \"%s\", \"sample\": null, "
            "\"layer\": 0, \"head\": %d, \"other_layer\": null, \"other_head\": null, "
            "\"component\": null, \"value\": %s, \"sd\": 0, \"samples\": %d}",
            i > 0 ? ",\n" : "", model, roles[score], i % 2, value,
            model == 0 || score != NEXT ? 4 : 0);
    }
    fputs("]}\n", file);
    assert_int_equal(fclose(file), 0);
}

static mgk_map role_map(int score)
{
    return (mgk_map){.values = scores[score],
                     .rows = 1,
                     .cols = 2,
                     .row_numbers = numbers,
                     .col_numbers = numbers,
                     .row_name = "layer",
                     .col_name = "head"};
}

/* Scores of roles have one scale, from 0, though the largest is 0.5; a note tells those of
 * uniform attention; the length in the settings is only the most that a sample may have. */
static void roles_have_one_scale(void **state)
{
    (void)state;
    static const char *const path = "roles.json", *const note = uniform;
    mgk_map maps[SCORES];
    write_roles(path, 1);
    for (int s = 0; s < SCORES; s++)
        maps[s] = role_map(s);
    png_picture picture = draw(MGK_PLOT_ROLES, path, NULL);
    expect_maps(&(mgk_maps){.maps = maps,
                            .titles = roles,
                            .count = SCORES,
                            .value_name = "share of attention",
                            .most = 0.1,
                            .notes = &note,
                            .note_count = 1},
                "the same", &picture);
    mgk_free(picture.pixels);
}

/* Each of two models has a row of scores; a note tells which one a model lacks, where the other has
 * it. */
static void roles_of_two_models(void **state)
{
    (void)state;
    static const char *const path = "roles.json",
                             *const notes[] = {"m1: not drawn because no head has a value: next",
                                               uniform};
    mgk_map maps[2 * SCORES];
    mgk_map_place places[2 * SCORES];
    const char *titles[2 * SCORES];
    size_t count = 0;
    write_roles(path, 2);
    for (int m = 0; m < 2; m++)
        for (int s = 0; s < SCORES; s++) {
            if (m == 1 && s == NEXT)
                continue;
            maps[count] = role_map(s);
            places[count] = (mgk_map_place){(size_t)m, (size_t)s};
            titles[count++] = roles[s];
        }
    const mgk_plot_options o = case_options(MGK_PLOT_ROLES, &path, 1);
    png_picture picture = case_draw(&o);
    expect_maps(&(mgk_maps){.maps = maps,
                            .places = places,
                            .titles = titles,
                            .models = (const char *const[]){"m0", "m1"},
                            .count = count,
                            .value_name = "share of attention",
                            .most = 0.1,
                            .notes = notes,
                            .note_count = 2},
                NULL, &picture);
    mgk_free(picture.pixels);
}

/* The titles of inputs with one name are those that are given here. */
static void expect_titles(const char *const *paths, size_t count, const char *const *titles,
                          size_t title_count)
{
    mgk_plot_options o = case_options(MGK_PLOT_HEADS, paths, count);
    png_picture chosen = case_draw(&o);
    o.names = titles;
    o.name_count = title_count;
    png_picture given = case_draw(&o);
    case_assert_same(&chosen, &given);
    mgk_free(chosen.pixels);
    mgk_free(given.pixels);
}

static void titles_differ(void **state)
{
    (void)state;
    static const char *const same[] = {"measures.h5", "measures.csv"};
    expect_titles(same, 1, (const char *const[]){"plot_model"}, 1);
    expect_titles(&same[1], 1, (const char *const[]){"plot"}, 1);
    expect_titles(same, 2, (const char *const[]){"plot_model", "plot"}, 2);
    static const char *const folders[] = {"./measures.h5", "measures.h5"};
    expect_titles(folders, 2, (const char *const[]){"./measures.h5: plot", "measures.h5: plot"}, 2);
    static const char *const twice = "twice.csv";
    FILE *file = case_begin_table(twice, false);
    fputs("a/x.h5,head,entropy,,0,0,,,,1,,4\nb/x.h5,head,entropy,,0,0,,,,2,,4\n", file);
    assert_int_equal(fclose(file), 0);
    expect_titles(&twice, 1, (const char *const[]){"x, input 1", "x, input 2"}, 2);
}

/* One layer of `cosine`, a similarity: distances 1 - cosine in the order of the tree. */
static void pairs_are_those_of_the_file(void **state)
{
    (void)state;
    enum { PAIRS = HEADS * (HEADS - 1) / 2 };
    static const char *const title = "layer 1",
                             *const notes[] = {"cosine: cos(vec A, vec B); means over 3 samples",
                                               "heads in the order of average linkage; a tree "
                                               "shows the distance at which groups join"};
    double cosines[LAYERS * PAIRS], distances[HEADS * HEADS] = {0}, ordered[HEADS * HEADS];
    mgk_merge merges[HEADS];
    mgk_tree_node nodes[HEADS];
    size_t order[HEADS], rows[HEADS];
    int32_t heads[HEADS];
    assert_int_equal(values_of("cosine", cosines), LAYERS * PAIRS);
    for (size_t h = 0, k = PAIRS; h < HEADS; h++)
        for (size_t g = h + 1; g < HEADS; g++, k++)
            distances[h * HEADS + g] = distances[g * HEADS + h] = 1 - cosines[k];
    assert_ok(mgk_average_linkage(HEADS, distances, merges, order));
    for (size_t i = 0; i < HEADS; i++) {
        rows[order[i]] = i;
        heads[i] = (int32_t)order[i];
        nodes[i] = (mgk_tree_node){merges[i].first, merges[i].second, merges[i].height};
        for (size_t j = 0; j < HEADS; j++)
            ordered[i * HEADS + j] = distances[order[i] * HEADS + order[j]];
    }
    const mgk_map map = {.values = ordered,
                         .rows = HEADS,
                         .cols = HEADS,
                         .row_numbers = heads,
                         .col_numbers = heads,
                         .row_name = "head",
                         .col_name = "head",
                         .ordered = true,
                         .self = true};
    const mgk_dendrogram tree = {nodes, rows, HEADS};
    mgk_plot_options o = case_options(MGK_PLOT_PAIRS, &formats[H5], 1);
    const int layer = 1;
    o.layers = &layer;
    o.layer_count = 1;
    o.measure = "cosine";
    png_picture picture = case_draw(&o);
    expect_maps(&(mgk_maps){.maps = &map,
                            .titles = &title,
                            .trees = &tree,
                            .count = 1,
                            .least = 0,
                            .most = 0.1,
                            .value_name = "distance, 1 \u2212 cosine",
                            .notes = notes,
                            .note_count = 2},
                "plot_model", &picture);
    mgk_free(picture.pixels);
}

/* Squared distances are 1 - cosine, or js; heads are numbered layer by layer. */
static void map_is_that_of_the_file(void **state)
{
    (void)state;
    enum { COUNT = LAYERS * HEADS };
    static const char *const names[] = {"cosine", "js"},
                             *const headings[] =
                                 {"distance \u221a(1 \u2212 cosine), means over 3 samples",
                                  "distance \u221ajs, means over 3 samples"},
                             *const layers[] = {"layer 0", "layer 1", "layer 2"};
    double squares[COUNT * COUNT] = {0}, points[COUNT * MGK_SCALING_AXES], shares[2];
    size_t groups[COUNT], rows = 0;
    char texts[COUNT][16], title[80];
    const char *labels[COUNT];
    mgk_table *table;
    mgk_table_column measures, values, layer, head, other_layer, other;
    assert_done(mgk_table_open(across[CSV], &table));
    assert_done(mgk_table_find_column(table, "measure", &measures));
    assert_done(mgk_table_find_column(table, "value", &values));
    assert_done(mgk_table_find_column(table, "layer", &layer));
    assert_done(mgk_table_find_column(table, "head", &head));
    assert_done(mgk_table_find_column(table, "other_layer", &other_layer));
    assert_done(mgk_table_find_column(table, "other_head", &other));
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%zu.%zu", i / HEADS, i % HEADS);
        labels[i] = texts[i];
        groups[i] = i / HEADS;
    }
    for (size_t k = 0; k < 2; k++) {
        for (size_t r = 0; r < mgk_table_rows(table); r++) {
            if (strcmp(measures.words[measures.integers[r]], names[k]) != 0)
                continue;
            const int32_t i = layer.integers[r] * HEADS + head.integers[r],
                          j = other_layer.integers[r] * HEADS + other.integers[r];
            squares[i * COUNT + j] = squares[j * COUNT + i] =
                k == 0 ? 1 - values.reals[r] : values.reals[r];
            rows++;
        }
        assert_ok(mgk_classical_scaling(COUNT, squares, points, shares));
        assert_true(shares[0] > shares[1] && shares[1] > 0);
        snprintf(title, sizeof(title), "the same: %.0f %% and %.0f %% of the variance",
                 100 * shares[0], 100 * shares[1]);
        const mgk_scatter_panel panel = {title, points, groups, labels, COUNT, NULL};
        mgk_picture_options options = mgk_picture_defaults();
        options.force = true;
        assert_ok(mgk_draw_scatter(&(mgk_scatter){.panels = &panel,
                                                  .count = 1,
                                                  .group_names = layers,
                                                  .group_count = LAYERS,
                                                  .heading = headings[k],
                                                  .x_label = "first axis",
                                                  .y_label = "second axis"},
                                   &options, "expected.png"));
        png_picture expected = read_png("expected.png"),
                    picture = draw(MGK_PLOT_MAP, across[H5], k == 0 ? "cosine" : NULL);
        case_assert_same(&picture, &expected);
        mgk_free(expected.pixels);
        mgk_free(picture.pixels);
    }
    assert_int_equal(rows, COUNT * (COUNT - 1));
    mgk_table_close(table);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* With four heads the quartiles are between order statistics. */
static void bands_are_quartiles_of_the_file(void **state)
{
    (void)state;
    double values[LAYERS * HEADS], lower[LAYERS], median[LAYERS], upper[LAYERS];
    const double x[LAYERS] = {0, 1, 2};
    const mgk_legend_entry band = {"median and quartiles over heads", mgk_key_color, KEY_BAND};
    values_of("entropy", values);
    for (size_t l = 0; l < LAYERS; l++) {
        double *v = values + l * HEADS;
        qsort(v, HEADS, sizeof(*v), ascending);
        lower[l] = v[0] + 0.75 * (v[1] - v[0]);
        median[l] = (v[1] + v[2]) / 2;
        upper[l] = v[2] + 0.25 * (v[3] - v[2]);
    }
    const mgk_curve curve = {.label = "the same",
                             .x = x,
                             .y = median,
                             .lower = lower,
                             .upper = upper,
                             .count = LAYERS,
                             .markers = true};
    const mgk_curves curves = {.curves = &curve,
                               .count = 1,
                               .keys = &band,
                               .key_count = 1,
                               .x_label = "layer",
                               .y_label = "entropy (nats)",
                               .whole_x = true};
    mgk_picture_options options = mgk_picture_defaults();
    options.force = true;
    assert_ok(mgk_draw_curves(&curves, &options, "expected.png"));
    png_picture expected = read_png("expected.png"),
                picture = draw(MGK_PLOT_DEPTH, formats[CSV], NULL);
    case_assert_same(&picture, &expected);
    mgk_free(expected.pixels);
    mgk_free(picture.pixels);
}

/* Makes the file of two inputs, the second one after 500 steps of training. */
static void write_steps(const char *path)
{
    static const char *const inputs[] = {"run.step-0.h5", "run.step-500.h5"};
    for (int i = 0; i < 2; i++) {
        unlink(inputs[i]);
        assert_int_equal(link(case_store, inputs[i]), 0);
    }
    mgk_diversity_options o = mgk_diversity_options_default();
    o.job.force = true;
    o.job.threads = 1;
    o.inputs = inputs;
    o.input_count = 2;
    o.output = "measured.json";
    assert_done(mgk_measure_diversity(&o, NULL));
    mgk_mapping file;
    assert_ok(mgk_map_file(o.output, &file));
    const char *text = (const char *)file.data, *start = memmem(text, file.size, "[0,0]", 5);
    FILE *out = fopen(path, "wb");
    assert_true(start && out);
    fprintf(out, "%.*s[0,500]%.*s", (int)(start - text), text,
            (int)(file.size - (size_t)(start - text) - 5), start + 5);
    assert_int_equal(fclose(out), 0);
    mgk_unmap_file(&file);
}

/* Both inputs are one store: lines are level, at the quartiles of each layer. */
static void curves_are_quartiles_against_steps(void **state)
{
    (void)state;
    static const char *const path = "steps.json", *const title = "run",
                             *const note = "median and quartiles over heads";
    static const double steps[] = {0, 500};
    double values[LAYERS * HEADS], lower[LAYERS][2], median[LAYERS][2], upper[LAYERS][2];
    mgk_rgb colors[LAYERS];
    mgk_curve curves[LAYERS];
    char texts[LAYERS][20];
    mgk_legend_entry legend[LAYERS];
    write_steps(path);
    values_of("entropy", values);
    for (int l = 0; l < LAYERS; l++) {
        double *v = values + l * HEADS;
        qsort(v, HEADS, sizeof(*v), ascending);
        lower[l][0] = lower[l][1] = v[0] + 0.75 * (v[1] - v[0]);
        median[l][0] = median[l][1] = (v[1] + v[2]) / 2;
        upper[l][0] = upper[l][1] = v[2] + 0.25 * (v[3] - v[2]);
        colors[l] = mgk_colormap_at(COLORMAP_VIRIDIS, 0.9 * l / (LAYERS - 1));
        curves[l] = (mgk_curve){.x = steps,
                                .y = median[l],
                                .lower = lower[l],
                                .upper = upper[l],
                                .count = 2,
                                .color = &colors[l],
                                .markers = true};
        snprintf(texts[l], sizeof(texts[l]), "layer %d", l);
        legend[l] = (mgk_legend_entry){texts[l], colors[l], KEY_PATCH};
    }
    const mgk_curves plot = {
        .curves = curves, .count = LAYERS, .x_label = "training step", .y_label = "entropy (nats)"};
    mgk_curve_grid grid = {
        .plots = &plot, .rows = 1, .columns = 1, .row_notes = &note, .column_titles = &title};
    mgk_picture_options options = mgk_picture_defaults();
    options.force = true;
    assert_ok(mgk_draw_curve_grids(&grid, 1, legend, LAYERS, &options, "expected.png"));
    mgk_plot_options o = case_options(MGK_PLOT_CURVES, &path, 1);
    png_picture expected = read_png("expected.png"), picture = case_draw(&o);
    case_assert_same(&picture, &expected);
    mgk_free(expected.pixels);
    mgk_free(picture.pixels);
    for (int l = 0; l < LAYERS; l++)
        snprintf(texts[l], sizeof(texts[l]), "layer %d", l + 1);
    assert_ok(mgk_draw_curve_grids(&grid, 1, legend, LAYERS, &options, "expected.png"));
    o.from_one = true;
    expected = read_png("expected.png");
    picture = case_draw(&o);
    case_assert_same(&picture, &expected);
    mgk_free(expected.pixels);
    mgk_free(picture.pixels);
    for (int l = 0; l < LAYERS; l++)
        curves[l].count = 0;
    assert_fails(mgk_draw_curve_grids(&grid, 1, legend, LAYERS, &options, "expected.png"),
                 STATUS_NUMERIC);
    grid.rows = 0;
    assert_fails(mgk_draw_curve_grids(&grid, 1, legend, LAYERS, &options, "expected.png"),
                 STATUS_SHAPE);
}

/* ---- unusual and bad files ------------------------------------------------------------------- */

/* Writes a table of means with made-up values; `value`: all of them, NaN: none. */
static void write_table(const char *path, int layers, int heads, const double *value)
{
    FILE *file = case_begin_table(path, false);
    for (int l = 0; l < layers; l++)
        for (int h = 0; h < heads; h++) {
            char cell[32] = "";
            if (!value || !isnan(*value))
                snprintf(cell, sizeof(cell), "%g", value ? *value : (7 * l + 5 * h) % 11 / 3.0);
            fprintf(file, "m,head,entropy,,%d,%d,,,,%s,,4\n", l, h, cell);
            fprintf(file, "m,head,first,,%d,%d,,,,%s,,4\n", l, h, cell);
            for (int g = h + 1; g < heads; g++)
                fprintf(file, "m,pair,js,,%d,%d,%d,%d,,%s,,4\n", l, h, l, g, cell);
        }
    assert_int_equal(fclose(file), 0);
}

static void sizes(void **state)
{
    (void)state;
    static const int layers[] = {1, 6, 1, 48}, heads[] = {1, 1, 12, 64};
    static const char *const path = "size.csv";
    for (int i = 0; i < 4; i++) {
        write_table(path, layers[i], heads[i], NULL);
        mgk_free(draw(MGK_PLOT_HEADS, path, NULL).pixels);
        mgk_free(draw(MGK_PLOT_DEPTH, path, NULL).pixels);
        mgk_free(draw(MGK_PLOT_ROLES, path, NULL).pixels);
        if (heads[i] > 1)
            mgk_free(draw(MGK_PLOT_PAIRS, path, NULL).pixels);
        else
            case_refuses(case_options(MGK_PLOT_PAIRS, &path, 1), MGK_INPUT,
                         "size.csv: 1 head of \"m\", expected at least 2 for pairs");
    }
}

/* Constant values have one colour; without values there is no picture. */
static void constant_and_missing(void **state)
{
    (void)state;
    static const char *const path = "same.csv";
    const double same = 0.25, none = NAN;
    static const mgk_plot_kind kinds[] = {MGK_PLOT_HEADS, MGK_PLOT_DEPTH, MGK_PLOT_PAIRS,
                                          MGK_PLOT_ROLES};
    write_table(path, 2, 3, &same);
    for (int i = 0; i < 4; i++)
        mgk_free(draw(kinds[i], path, NULL).pixels);
    write_table(path, 2, 3, &none);
    for (int i = 0; i < 4; i++)
        case_refuses(case_options(kinds[i], &path, 1), MGK_INPUT,
                     kinds[i] == MGK_PLOT_ROLES ? "no head has a value: first"
                                                : "has no value for \"m\"");
}

/* ---- pruned models --------------------------------------------------------------------------- */

/* Writes the curves of a model without its heads. */
static void put_pruned(FILE *file, const char *name, int samples)
{
    static const char *const orders[] = {"prune_importance", "prune_random", "prune_redundancy"};
    for (int l = 0; l < 2; l++)
        fprintf(file, "%s,head,entropy,,%d,0,,,,1,,%d\n", name, l, samples);
    for (int by = 0; by < 3; by++)
        for (int left = 2; left >= 0; left--)
            fprintf(file, "%s,model,%s,,,,,,%d,%g,0.1,%d\n", name, orders[by], left,
                    3.0 - left + by, samples);
}

static void expect_title(const char *path, const char *measure, const char *title)
{
    mgk_plot_options o = case_options(MGK_PLOT_PRUNE, &path, 1);
    char line[128];
    o.measure = measure;
    png_picture picture = case_draw(&o);
    snprintf(line, sizeof(line), "Title=%s\n", title);
    assert_int_equal(*title != '\0', strstr(picture.texts, "Title=") != NULL);
    assert_true(!*title || strstr(picture.texts, line));
    mgk_free(picture.pixels);
}

/* The title of a picture names the only model, and the samples if there are as many everywhere. */
static void pruned_models_have_titles(void **state)
{
    (void)state;
    static const char *const path = "pruned.csv";
    FILE *file = case_begin_table(path, false);
    put_pruned(file, "a/first.safetensors", 12);
    assert_int_equal(fclose(file), 0);
    expect_title(path, NULL, "first, 12 samples");
    expect_title(path, "Prune_Random", "first, 12 samples");
    mgk_plot_options wrong = case_options(MGK_PLOT_PRUNE, &path, 1);
    wrong.measure = "js";
    case_refuses(wrong, MGK_INPUT,
                 "pruned.csv: no curve \"js\" of first; there are prune_importance, prune_random, "
                 "prune_redundancy");
    file = fopen(path, "a");
    assert_non_null(file);
    put_pruned(file, "second.safetensors", 12);
    assert_int_equal(fclose(file), 0);
    expect_title(path, NULL, "12 samples");
    file = fopen(path, "a");
    assert_non_null(file);
    put_pruned(file, "third.safetensors", 1);
    assert_int_equal(fclose(file), 0);
    expect_title(path, NULL, "");
}

/* ---- numbers of layers and heads ------------------------------------------------------------- */

/* A model whose layers and heads begin with number `first`. */
static void write_numbered(const char *path, int first)
{
    FILE *file = case_begin_table(path, false);
    for (int i = 0; i < 9; i++) {
        const int l = first + i / 3, h = first + i % 3;
        fprintf(file, "m,head,entropy,,%d,%d,,,,%d,,4\n", l, h, i);
        fprintf(file, "m,head,first,,%d,%d,,,,%g,,4\n", l, h, i / 9.0);
        for (int k = 0; k < 2; k++)
            fprintf(file, "m,head,key_use,,%d,%d,,,%d,%g,,4\n", l, h, k, k ? 0.75 : 0.25);
        for (int j = i + 1; j < 9; j++)
            fprintf(file, "m,pair,js,,%d,%d,%d,%d,,%g,,4\n", l, h, first + j / 3, first + j % 3,
                    (7 * i + 5 * j) % 11 / 12.0 + 0.05);
    }
    assert_int_equal(fclose(file), 0);
}

/* Numbers of a picture are those of the table, or those plus 1: then numbers from 0 look as those
 * from 1 do without the 1. */
static void numbers_count_from_zero_or_one(void **state)
{
    (void)state;
    static const mgk_plot_kind kinds[] = {MGK_PLOT_HEADS, MGK_PLOT_DEPTH, MGK_PLOT_PAIRS,
                                          MGK_PLOT_ROLES, MGK_PLOT_MAP,   MGK_PLOT_MIXTURE};
    static const char *const path = "numbered.csv", *const title = "m";
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        mgk_plot_options o = case_options(kinds[k], &path, 1);
        o.names = &title;
        o.name_count = 1;
        write_numbered(path, 0);
        png_picture from_zero = case_draw(&o);
        o.from_one = true;
        png_picture from_one = case_draw(&o);
        o.from_one = false;
        o.from_zero = true; /* as without it */
        write_numbered(path, 1);
        png_picture shifted = case_draw(&o);
        if (kinds[k] != MGK_PLOT_MIXTURE) /* its keys are counted, too */
            case_assert_same(&shifted, &from_one);
        assert_true(case_differ(&from_zero, &from_one));
        mgk_free(from_one.pixels);
        mgk_free(from_zero.pixels);
        mgk_free(shifted.pixels);
    }
}

static void refusals(void **state)
{
    (void)state;
    static const char *const gap = "gap.csv";
    const int nine = 9;
    const double none = NAN;
    mgk_plot_options o = case_options(MGK_PLOT_HEADS, formats, 1);
    o.measure = "js";
    case_refuses(o, MGK_USAGE, "\"js\" is a measure of the level pair");
    o.measure = "mean_js";
    case_refuses(o, MGK_USAGE, "\"mean_js\" is a measure of the level layer");
    o.measure = "beauty";
    case_refuses(o, MGK_INPUT, "measures.csv: no measure \"beauty\" of \"plot\"; there are rank, ");
    o.measure = NULL;
    o.layers = &nine;
    o.layer_count = 1;
    case_refuses(o, MGK_INPUT, "measures.csv: no layer 9");
    o = case_options(MGK_PLOT_PAIRS, formats, 1);
    o.measure = "entropy";
    case_refuses(o, MGK_USAGE, "\"entropy\" is a measure of the level head");
    o = case_options(MGK_PLOT_MAP, formats, 1);
    case_refuses(o, MGK_INPUT,
                 "measures.csv: no pairs of heads of different layers of \"plot\" (option "
                 "across-layers of mgk-diversity)");
    o.measure = "mean_js";
    case_refuses(o, MGK_USAGE, "\"mean_js\" is a measure of the level layer");
    write_table("gap.csv", 1, 3, &none);
    o = case_options(MGK_PLOT_MAP, &gap, 1);
    case_refuses(o, MGK_INPUT,
                 "gap.csv: \"js\" has no value for head 1 of layer 0 and head 0 of layer 0 of "
                 "\"m\"");
    o.from_one = true; /* messages name the numbers of the file all the same */
    case_refuses(o, MGK_INPUT, "head 1 of layer 0 and head 0 of layer 0");
    o = case_options(MGK_PLOT_ROLES, formats, 1);
    o.measure = "first";
    case_refuses(o, MGK_USAGE, "`measure`: not an option of roles, but of ranks, curves, heads, ");
    o = case_options(MGK_PLOT_HEADS, &case_store, 1);
    case_refuses(o, MGK_INPUT, "plot.h5: not measures of diversity");
    o = case_options(MGK_PLOT_ATTENTION, formats, 1);
    case_refuses(o, MGK_INPUT, "measures.csv: measures of diversity, not matrices");
    o = case_options(MGK_PLOT_RANKS, &formats[H5], 1);
    case_refuses(o, MGK_INPUT, "measures.h5: measures of diversity, but not rank results");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(layers_have_bands_of_samples),
        cmocka_unit_test(heads_are_those_of_the_file),
        cmocka_unit_test(roles_have_one_scale),
        cmocka_unit_test(roles_of_two_models),
        cmocka_unit_test(titles_differ),
        cmocka_unit_test(pairs_are_those_of_the_file),
        cmocka_unit_test(map_is_that_of_the_file),
        cmocka_unit_test(bands_are_quartiles_of_the_file),
        cmocka_unit_test(curves_are_quartiles_against_steps),
        cmocka_unit_test(sizes),
        cmocka_unit_test(constant_and_missing),
        cmocka_unit_test(pruned_models_have_titles),
        cmocka_unit_test(numbers_count_from_zero_or_one),
        cmocka_unit_test(refusals),
    };
    case_enter("plot_measures_files");
    return cmocka_run_group_tests(tests, make_files, NULL);
}
