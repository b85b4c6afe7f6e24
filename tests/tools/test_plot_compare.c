/* SPDX-License-Identifier: MIT */
/* mgk_plot_picture: differences between inputs, from every format of files of mgk-diversity. */
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/memory.h"
#include "plot_case.h"
#include "plots/charts/intervals.h"
#include "test.h"
#include "tiny.h"

static const char *const formats[] = {"compared.csv", "compared.json", "compared.h5"};
enum { FORMATS = 3 };

static int make_files(void **state)
{
    static const char *const softmax = "softmax.h5";
    const char *const inputs[] = {softmax, case_store};
    case_make_store("softmax", NULL);
    assert_int_equal(rename(case_store, softmax), 0);
    case_make_mgk(state);
    for (int i = 0; i < FORMATS; i++) {
        mgk_diversity_options o = mgk_diversity_options_default();
        o.job.force = true;
        o.job.threads = 1;
        o.inputs = inputs;
        o.input_count = 2;
        o.output = formats[i];
        o.compare = true;
        assert_done(mgk_measure_diversity(&o, NULL));
    }
    return 0;
}

static mgk_plot_options options(const char *const *paths, size_t count, const char *measure)
{
    mgk_plot_options o = case_options(MGK_PLOT_COMPARE, paths, count);
    o.measure = measure;
    return o;
}

static png_picture draw(const char *path, const char *measure)
{
    const mgk_plot_options o = options(&path, 1, measure);
    return case_draw(&o);
}

static void formats_agree(void **state)
{
    (void)state;
    static const char *const measures[] = {NULL, "rank", "mean_js,first"};
    for (int m = 0; m < 3; m++) {
        png_picture first = draw(formats[0], measures[m]);
        for (int i = 1; i < FORMATS; i++) {
            png_picture picture = draw(formats[i], measures[m]);
            case_assert_same(&picture, &first);
            mgk_free(picture.pixels);
        }
        mgk_free(first.pixels);
    }
}

/* ---- written tables -------------------------------------------------------------------------- */

static const char *const path = "table.csv";

/* A file with the inputs a/x.h5 and b/y.safetensors, and these rows of differences. */
static void write_table(const char *name, const char *rows)
{
    FILE *file = case_begin_table(name, true);
    fprintf(file,
            "a/x.h5,layer,mean_js,,0,,,,,0.1,,4,,,,,\n"
            "b/y.safetensors,layer,mean_js,,0,,,,,0.1,,4,,,,,\n%s",
            rows);
    assert_int_equal(fclose(file), 0);
}

static const char some_rows[] =
    "y.safetensors-x.h5,difference,mean_js,,2,,,,,-0.25,,5,-0.5,0.125,0.04,0.06,1\n"
    "y.safetensors-x.h5,difference,mean_js,,0,,,,,0.5,,4,0.25,0.75,0.01,0.04,1\n"
    "y.safetensors-x.h5,difference,mean_js,,1,,,,,0.125,,5,,,,,1\n"
    "y.safetensors-x.h5,difference,token_cosine,,0,,,,,1,,3,1,1,,,1\n"
    "y.safetensors-x.h5,difference,unheard_of,,0,,,,,7,,3,1,9,,,1\n"
    "z-x.h5,difference,token_cosine,,0,,,,,2,,3,1,4,0.01,0.01,0\n";

static const char *const about =
    "Differences of the means of layers, with 95\u00a0% bootstrap intervals over samples. Filled: "
    "p\u00a0<\u00a00.05 after Holm\u2019s correction over all rows of a comparison.";

static void expect(const mgk_intervals *intervals, const png_picture *picture)
{
    mgk_picture_options picture_options = mgk_picture_defaults();
    picture_options.force = true;
    assert_ok(mgk_draw_intervals(intervals, &picture_options, "expected.png"));
    png_picture expected = read_png("expected.png");
    case_assert_same(picture, &expected);
    mgk_free(expected.pixels);
}

/* Layers ascend; a point is filled below 0.05 after correction. */
static void points_are_those_of_the_file(void **state)
{
    (void)state;
    write_table(path, some_rows);
    const mgk_interval first[] = {{0, 0.5, 0.25, 0.75, true},
                                  {1, 0.125, NAN, NAN, false},
                                  {2, -0.25, -0.5, 0.125, false}},
                       second[] = {{0, 1, 1, 1, false}}, third[] = {{0, 2, 1, 4, true}};
    const mgk_interval_series series[] = {{first, 3}, {NULL, 0}, {second, 1}, {third, 1}};
    const char *const titles[] = {"mean js", "token cosine"},
                      *const names[] = {"y \u2212 x", "z-x.h5"},
                      *const notes[] = {"y \u2212 x: 3 to 5 samples, paired",
                                        "z-x.h5: at least 3 samples of each, not paired", about};
    const mgk_intervals intervals = {.titles = titles,
                                     .names = names,
                                     .series = series,
                                     .panel_count = 2,
                                     .series_count = 2,
                                     .x_label = "layer",
                                     .y_label = "difference",
                                     .hollow = "not significant, or not tested",
                                     .notes = notes,
                                     .note_count = 3};
    png_picture picture = draw(path, "mean_js,token_cosine");
    expect(&intervals, &picture);
    mgk_free(picture.pixels);
    picture = draw(path, "mean_js,token_cosine,mean_js"); /* a measure is drawn once */
    expect(&intervals, &picture);
    mgk_free(picture.pixels);
}

/* What all comparisons have in common is said once. */
static void equal_samples_have_one_note(void **state)
{
    (void)state;
    write_table(path, "y-x,difference,mean_js,,0,,,,,1,,4,0,2,0.5,0.5,1\n"
                      "z-x,difference,mean_js,,0,,,,,2,,4,1,3,0.5,0.5,1\n");
    const mgk_interval first[] = {{0, 1, 0, 2, false}}, second[] = {{0, 2, 1, 3, false}};
    const mgk_interval_series series[] = {{first, 1}, {second, 1}};
    const char *const titles[] = {"mean js"}, *const names[] = {"y-x", "z-x"},
                      *const notes[] = {"each: 4 samples, paired", about};
    png_picture picture = draw(path, NULL);
    expect(&(mgk_intervals){.titles = titles,
                            .names = names,
                            .series = series,
                            .panel_count = 1,
                            .series_count = 2,
                            .x_label = "layer",
                            .y_label = "difference",
                            .hollow = "not significant",
                            .notes = notes,
                            .note_count = 2},
           &picture);
    mgk_free(picture.pixels);
}

static void draws_without_names(const char *expected)
{
    png_picture chosen = draw(path, NULL), given = draw(path, expected);
    case_assert_same(&chosen, &given);
    mgk_free(chosen.pixels);
    mgk_free(given.pixels);
}

/* Few measures are all drawn; of many the usual ones, or else the first ones. */
static void measures_without_names(void **state)
{
    (void)state;
    static const char few[] = "y-x,difference,beauty,,0,,,,,1,,4,0,2,0.5,0.5,1\n"
                              "y-x,difference,truth,,0,,,,,1,,4,0,2,0.5,0.5,1\n";
    static const char usual[] = "y-x,difference,mean_js,,0,,,,,1,,4,0,2,0.5,0.5,1\n";
    char rows[2048];
    write_table(path, few);
    draws_without_names("beauty,truth");
    snprintf(rows, sizeof(rows), "%s%s", few, usual);
    write_table(path, rows);
    draws_without_names("beauty,truth,mean_js");
    *rows = '\0';
    for (int i = 0; i < 7; i++)
        mgk_append(rows, sizeof(rows), "y-x,difference,m%d,,0,,,,,1,,4,0,2,0.5,0.5,1\n", i);
    write_table(path, rows);
    draws_without_names("m0,m1,m2,m3,m4,m5");
    mgk_append(rows, sizeof(rows), "%s", usual);
    write_table(path, rows);
    draws_without_names("mean_js");
}

static void layers_are_chosen(void **state)
{
    (void)state;
    static const int layers[] = {0, 2};
    static const char some[] =
        "y.safetensors-x.h5,difference,mean_js,,2,,,,,-0.25,,5,-0.5,0.125,0.04,0.06,1\n"
        "y.safetensors-x.h5,difference,mean_js,,0,,,,,0.5,,5,0.25,0.75,0.01,0.04,1\n";
    write_table(path, some);
    png_picture expected = draw(path, NULL);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs("y.safetensors-x.h5,difference,mean_js,,1,,,,,9,,5,8,10,0.01,0.04,1\n", file);
    assert_int_equal(fclose(file), 0);
    mgk_plot_options o = options(&path, 1, NULL);
    o.layers = layers;
    o.layer_count = 2;
    png_picture picture = case_draw(&o);
    case_assert_same(&picture, &expected);
    mgk_free(picture.pixels);
    picture = draw(path, NULL);
    assert_true(case_differ(&picture, &expected));
    mgk_free(picture.pixels);
    mgk_free(expected.pixels);
}

/* Layers from 0 look as layers from 1 do without the 1. */
static void layers_count_from_zero_or_one(void **state)
{
    (void)state;
    mgk_plot_options o = options(&path, 1, NULL);
    write_table(path, "y-x,difference,mean_js,,0,,,,,1,,4,0,2,0.5,0.5,1\n");
    png_picture from_zero = case_draw(&o);
    o.from_one = true;
    png_picture from_one = case_draw(&o);
    o.from_one = false;
    write_table(path, "y-x,difference,mean_js,,1,,,,,1,,4,0,2,0.5,0.5,1\n");
    png_picture shifted = case_draw(&o);
    case_assert_same(&shifted, &from_one);
    assert_true(case_differ(&from_zero, &from_one));
    mgk_free(from_one.pixels);
    mgk_free(from_zero.pixels);
    mgk_free(shifted.pixels);
}

/* Files with the same comparison are told apart; --name replaces the names. */
static void titles_differ(void **state)
{
    (void)state;
    static const char *const two[] = {"table.csv", "other.csv"}, *const names[] = {
                                                                     "table.csv: y \u2212 x",
                                                                     "other.csv: y \u2212 x"};
    static const char row[] = "y.safetensors-x.h5,difference,mean_js,,0,,,,,1,,4,0,2,0.5,0.5,1\n";
    write_table(two[0], row);
    write_table(two[1], row);
    mgk_plot_options o = options(two, 2, NULL);
    png_picture chosen = case_draw(&o);
    o.names = names;
    o.name_count = 2;
    png_picture given = case_draw(&o);
    case_assert_same(&chosen, &given);
    mgk_free(chosen.pixels);
    mgk_free(given.pixels);
}

/* From one point to sixteen comparisons of 96 layers with long names. */
static void sizes(void **state)
{
    (void)state;
    static const char longest[] = "a-model-with-a-name-that-is-longer-than-a-line-of-any-legend-"
                                  "and-goes-on-and-on-and-on-until-it-is-cut-off";
    write_table(path, "y-x,difference,mean_js,,0,,,,,0,,1,,,,,0\n");
    mgk_free(draw(path, NULL).pixels);
    FILE *file = case_begin_table(path, true);
    fputs("x,layer,mean_js,,0,,,,,0.1,,4,,,,,\n", file);
    for (int k = 0; k < 16; k++)
        for (int l = 0; l < 96; l++)
            fprintf(file, "%s%d-x,difference,mean_js,,%d,,,,,%g,,4,%g,%g,0.5,0.5,1\n", longest, k,
                    l, (k * l) % 7 - 3.0, (k * l) % 7 - 4.0, (k * l) % 7 - 1.0);
    assert_int_equal(fclose(file), 0);
    mgk_free(draw(path, NULL).pixels);
    file = fopen(path, "a");
    assert_non_null(file);
    fputs("one-more-x,difference,mean_js,,0,,,,,1,,4,,,,,1\n", file);
    assert_int_equal(fclose(file), 0);
    case_refuses(options(&path, 1, NULL), MGK_USAGE, "table.csv: too many comparisons");
}

static void refusals(void **state)
{
    (void)state;
    static const int nine = 9, zero = 0;
    static const char row[] = "y-x,difference,mean_js,,0,,,,,1,,4,0,2,0.5,0.5,1\n";
    write_table(path, "");
    case_refuses(options(&path, 1, NULL), MGK_INPUT,
                 "table.csv: no differences between inputs (option compare of mgk-diversity)");
    write_table(path, "y-x,difference,mean_js,,0,,,,,,,0,,,,,1\n");
    case_refuses(options(&path, 1, NULL), MGK_INPUT, "table.csv: no difference has a value");
    write_table(path, row);
    case_refuses(options(&path, 1, "mean_js,beauty"), MGK_INPUT,
                 "table.csv: no difference of \"beauty\" with a value; there are mean_js");
    mgk_plot_options o = options(&path, 1, NULL);
    o.layers = &nine;
    o.layer_count = 1;
    case_refuses(o, MGK_INPUT, "table.csv: no layer 9");
    o = options(&path, 1, NULL);
    o.names = formats;
    o.name_count = 2;
    case_refuses(o, MGK_USAGE, "2 names for 1 comparison");
    o = options(&path, 1, NULL);
    o.heads = &zero;
    o.head_count = 1;
    case_refuses(o, MGK_USAGE, "`heads`: not an option of compare, but of attention");
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(row, file);
    assert_int_equal(fclose(file), 0);
    case_refuses(options(&path, 1, NULL), MGK_INPUT,
                 "table.csv: \"mean_js\" of \"y-x\" is there twice for layer 0");
    case_refuses(options(&case_store, 1, NULL), MGK_INPUT, "plot.h5: not measures of diversity");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(points_are_those_of_the_file),
        cmocka_unit_test(equal_samples_have_one_note),
        cmocka_unit_test(measures_without_names),
        cmocka_unit_test(layers_are_chosen),
        cmocka_unit_test(layers_count_from_zero_or_one),
        cmocka_unit_test(titles_differ),
        cmocka_unit_test(sizes),
        cmocka_unit_test(refusals),
    };
    case_enter("plot_compare_files");
    return cmocka_run_group_tests(tests, make_files, NULL);
}
