/* SPDX-License-Identifier: MIT */
/* mgk_plot_picture: the keys of mixtures, from every format of files of mgk-diversity. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot_case.h"
#include "plots/charts/mixtures.h"
#include "test.h"
#include "tiny.h"

static const char *const formats[] = {"mixture.csv", "mixture.json", "mixture.h5", "samples.csv"};
enum { FORMATS = 4, SAMPLES = 3 };

static int make_files(void **state)
{
    case_make_mgk(state);
    for (int i = 0; i < FORMATS; i++) {
        mgk_diversity_options o = mgk_diversity_options_default();
        o.job.force = true;
        o.job.threads = 1;
        o.inputs = &case_store;
        o.input_count = 1;
        o.output = formats[i];
        o.per_sample = i == SAMPLES;
        assert_done(mgk_measure_diversity(&o, NULL));
    }
    return 0;
}

static png_picture draw(const char *path)
{
    const mgk_plot_options o = case_options(MGK_PLOT_MIXTURE, &path, 1);
    return case_draw(&o);
}

static void formats_agree(void **state)
{
    (void)state;
    static const char *const name = "the same";
    png_picture first = {.pixels = NULL};
    for (int i = 0; i < FORMATS; i++) {
        mgk_plot_options o = case_options(MGK_PLOT_MIXTURE, &formats[i], 1);
        o.names = &name;
        o.name_count = 1;
        png_picture picture = case_draw(&o);
        if (i == 0) {
            first = picture;
            continue;
        }
        case_assert_same(&picture, &first);
        mgk_free(picture.pixels);
    }
    mgk_free(first.pixels);
}

/* ---- written tables -------------------------------------------------------------------------- */

static const char *const path = "table.csv";

/* Adds the rows of a model whose key k of head h has the share (k + 1 + h) / (sum over k). */
static void put_model(FILE *file, const char *name, int layers, int heads, int keys)
{
    for (int l = 0; l < layers; l++)
        for (int h = 0; h < heads; h++) {
            double sum = 0;
            for (int k = 0; k < keys; k++)
                sum += k + 1 + h;
            for (int k = 0; k < keys; k++)
                fprintf(file, "%s,head,key_use,,%d,%d,,,%d,%.17g,,4\n", name, l, h, k,
                        (k + 1 + h) / sum);
            fprintf(file, "%s,head,key_separation,,%d,%d,,,,%d,,4\n", name, l, h, 10 * l + h);
        }
}

static void draw_written(FILE *file)
{
    assert_int_equal(fclose(file), 0);
    mgk_free(draw(path).pixels);
}

static size_t count_color(const png_picture *picture, mgk_rgb color)
{
    size_t count = 0;
    for (size_t i = 0; i < picture->width * picture->height; i++) {
        const mgk_rgb p = picture->pixels[i];
        count += abs(p.r - color.r) <= 1 && abs(p.g - color.g) <= 1 && abs(p.b - color.b) <= 1;
    }
    return count;
}

/* Chosen layers and heads of two models; a head without shares is a gap. */
static void shares_are_those_of_the_file(void **state)
{
    (void)state;
    static const int layers[] = {1}, heads[] = {0, 2};
    const int32_t layer_numbers[] = {1}, head_numbers[] = {0, 2};
    const double first[] = {1.0 / 3, 2.0 / 3, 3.0 / 7, 4.0 / 7},
                 second[] = {1.0 / 6, 2.0 / 6, 3.0 / 6, NAN, NAN, NAN}, near[] = {10, 12},
                 far[] = {10, NAN};
    FILE *file = case_begin_table(path, false);
    put_model(file, "two.h5", 2, 3, 2);
    for (int l = 0; l < 2; l++)
        for (int h = 0; h < 3; h++) {
            for (int k = 0; k < 3; k++)
                if (h == 2 && k > 0) /* one share that is missing hides the others */
                    fprintf(file, "three.h5,head,key_use,,%d,%d,,,%d,,,0\n", l, h, k);
                else
                    fprintf(file, "three.h5,head,key_use,,%d,%d,,,%d,%.17g,,4\n", l, h, k,
                            h == 2 ? 1 : (k + 1) / 6.0);
            if (h == 2)
                fprintf(file, "three.h5,head,key_separation,,%d,%d,,,,,,0\n", l, h);
            else
                fprintf(file, "three.h5,head,key_separation,,%d,%d,,,,%d,,4\n", l, h, 10);
        }
    assert_int_equal(fclose(file), 0);
    mgk_plot_options o = case_options(MGK_PLOT_MIXTURE, &path, 1);
    o.layers = layers;
    o.layer_count = 1;
    o.heads = heads;
    o.head_count = 2;
    png_picture picture = case_draw(&o);
    const mgk_key_mixture models[] = {{.title = "two",
                                       .layers = 1,
                                       .heads = 2,
                                       .keys = 2,
                                       .layer_numbers = layer_numbers,
                                       .head_numbers = head_numbers,
                                       .shares = first,
                                       .maps = {near}},
                                      {.title = "three",
                                       .layers = 1,
                                       .heads = 2,
                                       .keys = 3,
                                       .layer_numbers = layer_numbers,
                                       .head_numbers = head_numbers,
                                       .shares = second,
                                       .maps = {far}}};
    const char *const notes[] = {
        "key_use: share of the pairs of query i and key j in which component r has the largest "
        "responsibility, pi_jr exp(-|q_i - k_jr|^2 / (2 sigma_r^2)); means over 4 samples",
        "key_separation: mean_j |k_j1 - k_j2|^2; of more than two components the mean over their "
        "pairs; means over 4 samples"};
    const mgk_key_mixtures mixtures = {.models = models,
                                       .count = 2,
                                       .share_name = "share of pairs that each key wins",
                                       .map_names = {"key separation"},
                                       .map_count = 1,
                                       .notes = notes,
                                       .note_count = 2};
    mgk_picture_options options = mgk_picture_defaults();
    options.force = true;
    options.scaling = SCALING_LINEAR;
    assert_ok(mgk_draw_mixtures(&mixtures, &options, "expected.png"));
    png_picture expected = read_png("expected.png");
    case_assert_same(&picture, &expected);
    mgk_free(expected.pixels);
    mgk_free(picture.pixels);
}

/* Bars are as large as the shares. */
static void bars_are_proportional(void **state)
{
    (void)state;
    const mgk_rgb blue = {0, 114, 178}, orange = {213, 94, 0};
    size_t blues[2], oranges[2];
    for (int i = 0; i < 2; i++) {
        FILE *file = case_begin_table(path, false);
        fprintf(file, "m,head,key_use,,0,0,,,0,%g,,4\nm,head,key_use,,0,0,,,1,%g,,4\n",
                i ? 0.25 : 0.75, i ? 0.75 : 0.25);
        assert_int_equal(fclose(file), 0);
        png_picture picture = draw(path);
        blues[i] = count_color(&picture, blue);
        oranges[i] = count_color(&picture, orange);
        mgk_free(picture.pixels);
    }
    /* The legend has an equal patch of both. */
    assert_int_equal(blues[0] - blues[1], oranges[1] - oranges[0]);
    assert_true(blues[0] > 2 * blues[1]);
}

/* Cosines have both signs: 0 is the middle of a diverging colour map. */
static void cosines_diverge(void **state)
{
    (void)state;
    FILE *file = case_begin_table(path, false);
    put_model(file, "m", 1, 2, 2);
    fputs("m,head,key_weight_cosine,,0,0,,,,0,,4\nm,head,key_weight_cosine,,0,1,,,,-0.4,,4\n",
          file);
    assert_int_equal(fclose(file), 0);
    png_picture picture = draw(path);
    assert_true(count_color(&picture, mgk_colormap_at(COLORMAP_COOLWARM, 0.5)) > 1000);
    assert_true(count_color(&picture, mgk_colormap_at(COLORMAP_COOLWARM, 0)) > 1000);
    mgk_free(picture.pixels);
}

/* From one head of one key to 48 layers of 64 heads, and to 16 models of 1 to 16 keys. */
static void sizes(void **state)
{
    (void)state;
    static const int shapes[][3] = {{1, 1, 1}, {1, 12, 2}, {6, 8, 4}, {48, 64, 2}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        FILE *file = case_begin_table(path, false);
        put_model(file, "m", shapes[i][0], shapes[i][1], shapes[i][2]);
        draw_written(file);
    }
    FILE *file = case_begin_table(path, false);
    for (int k = 0; k < 16; k++) {
        char name[128];
        snprintf(name, sizeof(name),
                 "%d-a-model-with-a-name-that-is-longer-than-the-line-above-its-bars-and-is-cut",
                 k);
        put_model(file, name, 2 + k % 3, 1 + k % 5, 1 + k);
    }
    draw_written(file);
    file = case_begin_table(path, false); /* one key has no component */
    fputs("m,head,key_use,,0,0,,,,1,,4\n", file);
    draw_written(file);
}

static void refuses_rows(const char *rows, const char *message)
{
    FILE *file = case_begin_table(path, false);
    fputs(rows, file);
    assert_int_equal(fclose(file), 0);
    case_refuses(case_options(MGK_PLOT_MIXTURE, &path, 1), MGK_INPUT, message);
}

static void refusals(void **state)
{
    (void)state;
    static const char none[] =
        "table.csv: \"m\" has no \"key_use\", which is a measure of mixtures of keys";
    refuses_rows("m,head,entropy,,0,0,,,,1,,4\n", none);
    refuses_rows("m,layer,key_use,,0,,,,,1,,4\n", none);
    refuses_rows("m,head,key_use,,0,0,,,0,,,0\nm,head,key_use,,0,0,,,1,,,0\n", none);
    refuses_rows("m,head,key_use,,0,0,,,0,0.5,,4\nm,head,key_use,,0,0,,,1,-0.5,,4\n",
                 "table.csv: \"key_use\" is -0.5, expected 0 to 1");
    mgk_plot_options o = case_options(MGK_PLOT_MIXTURE, formats, 1);
    o.measure = "key_use";
    case_refuses(
        o, MGK_USAGE,
        "`measure`: not an option of mixture, but of ranks, curves, heads, depth, pairs, ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(shares_are_those_of_the_file),
        cmocka_unit_test(bars_are_proportional),
        cmocka_unit_test(cosines_diverge),
        cmocka_unit_test(sizes),
        cmocka_unit_test(refusals),
    };
    case_enter("plot_mixture_files");
    return cmocka_run_group_tests(tests, make_files, NULL);
}
