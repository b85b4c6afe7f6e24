/* SPDX-License-Identifier: MIT */
/* Reports: their tables are read once, and tables of one model become one. Programs are tested in
 * report.sh, pages in report_page.sh. */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "plot_case.h"
#include "report/tables.h"
#include "run/diversity_file.h"
#include "test.h"

static const char header[] =
    "input,level,measure,sample,layer,head,other_layer,other_head,component,value,sd,samples\n";

static void write_table(const char *path, const char *rows)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%s", header, rows);
    assert_int_equal(fclose(file), 0);
}

/* The lines of a file that contain a word. */
static size_t count_lines(const char *path, const char *word)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0, found = 0;
    assert_non_null(file);
    while (getline(&line, &room, file) >= 0)
        found += strstr(line, word) != NULL;
    free(line);
    fclose(file);
    return found;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *const tables[] = {"first.csv", "other.csv"};

/* Draws when the tables are no longer there. */
static mgk_status draw_without_files(const mgk_plot_options *options,
                                     const mgk_diversity_set *const *sets, FILE *svg)
{
    unlink(tables[0]);
    unlink(tables[1]);
    return mgk_api_draw_svg(options, sets, svg);
}

static void tables_are_read_once(void **state)
{
    (void)state;
    static const char *const rows = "m,head,effective_rank,,0,0,,,,3,1,4\n"
                                    "m,head,effective_rank,,0,1,,,,5,1,4\n"
                                    "m,head,distance,,0,0,,,,2,1,4\nm,head,distance,,0,1,,,,1,1,4\n"
                                    "m,model,prune_importance,,,,,,2,1,0,4\n"
                                    "m,model,prune_importance,,0,1,,,1,2,0,4\n"
                                    "m,model,prune_importance,,0,0,,,0,3,0,4\n";
    mgk_report_options o = mgk_report_options_default();
    write_table(tables[0], rows);
    write_table(tables[1], rows);
    o.inputs = tables;
    o.input_count = 2;
    o.output = "once.html";
    o.job.force = true;
    assert_ok(mgk_report_write(&o, draw_without_files));
    assert_int_not_equal(access(tables[0], F_OK), 0);
    assert_int_equal(count_lines(o.output, "<svg role=\"img\""), 3);
}

/* ---- merging --------------------------------------------------------------------------------- */

/* The only input of a table. */
static mgk_diversity_source read_source(const char *path, const char *rows, mgk_diversity_set *set)
{
    write_table(path, rows);
    assert_ok(mgk_diversity_file_read(path, set));
    assert_int_equal(set->count, 1);
    return (mgk_diversity_source){set, 0};
}

static double mean_of(const mgk_diversity_values *v, const char *name, size_t layer, size_t i)
{
    const size_t m = mgk_diversity_find(v, name);
    assert_true(m < v->layout.chosen);
    return mgk_diversity_mean(&v->means, mgk_diversity_place(v, m, layer) + i);
}

/* Measures in one table, pairs across layers in another, keys and curves in a third; all have js or
 * entropy, of which those of the first table stay. */
static void measures_of_all_are_kept(void **state)
{
    (void)state;
    enum { LAYERS = 2, HEADS = 2 };
    static const char *const rows[] = {
        "m,head,entropy,,0,0,,,,1,,4\nm,head,entropy,,0,1,,,,2,,4\n"
        "m,head,entropy,,1,0,,,,3,,4\nm,head,entropy,,1,1,,,,4,0.5,4\n"
        "m,pair,js,,0,0,0,1,,0.1,,4\nm,pair,js,,1,0,1,1,,0.2,,4\n",
        "n,pair,js,,0,0,0,1,,0.7,,4\nn,pair,js,,1,0,1,1,,0.8,,4\n"
        "n,pair,js,,0,0,1,0,,0.3,,4\nn,pair,js,,0,0,1,1,,0.4,,4\n"
        "n,pair,js,,0,1,1,0,,0.5,,4\nn,pair,js,,0,1,1,1,,0.6,,4\n",
        "o,head,entropy,,0,0,,,,9,,4\no,head,entropy,,0,1,,,,9,,4\n"
        "o,head,entropy,,1,0,,,,9,,4\no,head,entropy,,1,1,,,,9,,4\n"
        "o,head,key_use,,0,0,,,0,0.25,,4\no,head,key_use,,0,0,,,1,0.75,,4\n"
        "o,head,key_use,,0,1,,,0,0.5,,4\no,head,key_use,,0,1,,,1,0.5,,4\n"
        "o,head,key_use,,1,0,,,0,0.5,,4\no,head,key_use,,1,0,,,1,0.5,,4\n"
        "o,head,key_use,,1,1,,,0,0.125,,4\no,head,key_use,,1,1,,,1,0.875,,4\n"
        "o,layer,mean_js,,0,,,,,0.15,,4\no,layer,mean_js,,1,,,,,0.25,,4\n"
        "o,model,prune_importance,,,,,,1,1.5,,4\no,model,prune_importance,,0,1,,,0,2.5,,4\n"};
    mgk_diversity_set sets[3], merged = {.inputs = NULL};
    mgk_diversity_source sources[3];
    for (size_t i = 0; i < 3; i++)
        sources[i] = read_source("part.csv", rows[i], &sets[i]);
    assert_ok(mgk_diversity_set_merge(&merged, sources, 3));
    assert_int_equal(merged.count, 1);
    const mgk_diversity_values *v = &merged.inputs[0];
    assert_string_equal(v->name, "m");
    assert_int_equal(v->layout.chosen, 4);
    for (size_t i = 0; i < LAYERS * HEADS; i++)
        assert_close(mean_of(v, "entropy", i / HEADS, i % HEADS), (double)i + 1, 0, 1e-15);
    assert_close(mean_of(v, "js", 0, 1), 0.1, 0, 1e-15);
    assert_close(mean_of(v, "js", 1, 2), 0.2, 0, 1e-15);
    assert_close(mean_of(v, "key_use", 0, 1), 0.75, 0, 1e-15);
    assert_close(mean_of(v, "key_use", 1, 2), 0.125, 0, 1e-15);
    assert_close(mean_of(v, "mean_js", 1, 0), 0.25, 0, 1e-15);
    assert_true(v->layout.across);
    const size_t across = mgk_record_across(&v->layout, mgk_diversity_find(v, "js"));
    const size_t pair = 1 * LAYERS * HEADS + 2; /* head 1 of layer 0, head 0 of layer 1 */
    assert_close(mgk_diversity_mean(&v->means, across + pair), 0.5, 0, 1e-15);
    assert_int_equal(merged.point_count, 2);
    assert_string_equal(merged.points[1].name, "m");
    assert_close(merged.points[1].point.value, 2.5, 0, 1e-15);
    mgk_diversity_set_free(&merged);
    for (size_t i = 0; i < 3; i++)
        mgk_diversity_set_free(&sets[i]);
}

/* A table of layers alone, which has no heads, may be the first. */
static void layers_alone_are_merged(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "m,layer,effective_heads,,0,,,,,1.5,,4\n",
        "m,head,entropy,,0,0,,,,1,,4\nm,head,entropy,,0,3,,,,2,,4\n"
        "m,pair,js,,0,0,0,3,,0.1,,4\n",
        "m,layer,mean_js,,0,,,,,0.1,,4\n",
    };
    mgk_diversity_set sets[3], merged = {.inputs = NULL};
    mgk_diversity_source sources[3];
    for (size_t i = 0; i < 3; i++)
        sources[i] = read_source("part.csv", rows[i], &sets[i]);
    assert_ok(mgk_diversity_set_merge(&merged, sources, 3));
    const mgk_diversity_values *v = &merged.inputs[0];
    assert_int_equal(v->layout.heads, 2);
    assert_int_equal(v->heads[1], 3);
    assert_close(mean_of(v, "effective_heads", 0, 0), 1.5, 0, 1e-15);
    assert_close(mean_of(v, "mean_js", 0, 0), 0.1, 0, 1e-15);
    assert_close(mean_of(v, "entropy", 0, 1), 2, 0, 1e-15);
    assert_close(mean_of(v, "js", 0, 1), 0.1, 0, 1e-15);
    mgk_diversity_set_free(&merged);
    for (size_t i = 0; i < 3; i++)
        mgk_diversity_set_free(&sets[i]);
}

/* ---- which belong together ------------------------------------------------------------------- */

/* A table in JSON with these settings, and an entropy of two heads. */
static void write_json(const char *path, const char *settings, int layer)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"settings\": {%s},\n\"values\": [\n", settings);
    for (int head = 0; head < 2; head++)
        fprintf(file,
                "{\"input\": \"m\", \"level\": \"head\", \"measure\": \"entropy\", \"sample\": "
                "null, \"layer\": %d, \"head\": %d, \"other_layer\": null, \"other_head\": null, "
                "\"component\": null, \"value\": 1, \"sd\": 0, \"samples\": 4}%s\n",
                layer, head, head == 0 ? "," : "");
    fprintf(file, "]}\n");
    assert_int_equal(fclose(file), 0);
}

static size_t count_models(const char *first, const char *second, int layer)
{
    mgk_report_tables read;
    write_json("a.json", first, 0);
    write_json("b.json", second, layer);
    assert_ok(mgk_report_tables_make(2, &read));
    assert_ok(mgk_report_tables_read(&read, "a.json"));
    assert_ok(mgk_report_tables_read(&read, "b.json"));
    assert_ok(mgk_report_tables_merge(&read));
    const size_t models = read.model_count;
    mgk_report_tables_free(&read);
    return models;
}

static void models_are_told_by_hash_and_samples(void **state)
{
    (void)state;
#define MODEL(hash) "\"inputs\":[\"m\"],\"model_sha256\":[" hash "]"
    static const char known[] = MODEL("\"ab\"") ",\"samples_hash\":[\"12\"]";
    static const char run[] = MODEL("\"ab\"") ",\"text\":[\"t\"],\"length\":8,\"samples\":4";
    static const struct {
        const char *first, *second;
        int layer;
        size_t models;
    } rows[] = {
        {known, known, 0, 1},
        {known, known, 1, 2}, /* other layers */
        {known, MODEL("\"ab\"") ",\"samples_hash\":[\"13\"]", 0, 2},
        {known, MODEL("\"cd\"") ",\"samples_hash\":[\"12\"]", 0, 2},
        {known, MODEL("\"ab\"") ",\"samples_hash\":[\"12\"],\"attention\":\"mlk\"", 0, 2},
        /* Other matrices; those of attention need no name. */
        {known, MODEL("\"ab\"") ",\"samples_hash\":[\"12\"],\"dataset\":\"scores\"", 0, 2},
        {known, MODEL("\"ab\"") ",\"samples_hash\":[\"12\"],\"dataset\":\"/attention\"", 0, 1},
        {known, MODEL("\"ab\"") ",\"samples_hash\":[\"12\"],\"axes\":\"slhkq\"", 0, 2},
        {known, MODEL("\"ab\"") ",\"samples_hash\":[\"12\"],\"causal\":true", 0, 2},
        /* The samples have no hash: what they were made of tells. */
        {run, run, 0, 1},
        {run, MODEL("\"ab\"") ",\"text\":[\"u\"],\"length\":8,\"samples\":4", 0, 2},
        {run, MODEL("\"ab\"") ",\"text\":[\"t\"],\"length\":8,\"samples\":5", 0, 2},
        {known, run, 0, 2},
        {MODEL("\"ab\""), MODEL("\"ab\""), 0, 1}, /* the same store */
        /* No table names the model. */
        {MODEL("null"), MODEL("null"), 0, 2},
        {"\"software\":\"x\"", "\"software\":\"x\"", 0, 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const size_t models = count_models(rows[i].first, rows[i].second, rows[i].layer);
        if (models != rows[i].models)
            fail_msg("row %zu: %zu models, expected %zu", i, models, rows[i].models);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_read_once),
        cmocka_unit_test(measures_of_all_are_kept),
        cmocka_unit_test(layers_alone_are_merged),
        cmocka_unit_test(models_are_told_by_hash_and_samples),
    };
    case_enter("report_files");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
