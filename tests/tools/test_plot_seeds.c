/* SPDX-License-Identifier: MIT */
/* Curves of runs that differ in their seed: which belong together, their mean and deviation. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "plot/logs.h"
#include "plot/seeds.h"
#include "plot_case.h"
#include "plots/charts/curves.h"
#include "test.h"
#include "tiny.h"
#include "train/log.h"

/* A row: step, and losses of training and of held-out data; NaN: none. */
typedef struct row {
    double step, train, held_out;
} row;

/* The accuracy is a tenth of the loss. token_bytes: of a token of the held-out text; 0: the model
 * predicts no text. */
static void write_log(const char *path, const row *rows, size_t count, double token_bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(MGK_LOG_HEADER "\n", file);
    for (size_t i = 0; i < count; i++) {
        const row *r = &rows[i];
        fprintf(file, "%.0f,1,0.1,", r->step);
        if (!isnan(r->train))
            fprintf(file, "%.17g", r->train);
        fputs(",1,", file);
        if (isnan(r->held_out))
            fputs(",,,\n", file);
        else if (token_bytes > 0)
            fprintf(file, "%.17g,%.17g,%.17g,2\n", r->held_out, r->held_out / 10,
                    r->held_out / log(2) / token_bytes);
        else
            fprintf(file, "%.17g,%.17g,,\n", r->held_out, r->held_out / 10);
    }
    assert_int_equal(fclose(file), 0);
}

static void seeds_are_left_out(void **state)
{
    (void)state;
    static const char *const paths[][2] = {
        {"mgk-seed0.csv", "mgk.csv"},
        {"mgk_seed-12.csv", "mgk.csv"},
        {"mgk.SEED=3.log.csv", "mgk.log.csv"},
        {"runs/seed7/mgk.csv", "runs//mgk.csv"},
        {"seed0-mgk4.csv", "mgk4.csv"},
        {"mgk seed 5.csv", "mgk.csv"},
        {"seed1.csv", ".csv"},
        {"a/seed2-x/mgk-seed3-lr.csv", "a/x/mgk-lr.csv"},
        {"mgk4.csv", "mgk4.csv"},
        {"mgk-4.csv", "mgk-4.csv"},
        {"aniseed0.csv", "aniseed0.csv"},
        {"mgk-seed.csv", "mgk-seed.csv"},
        {"mgk-seeds3.csv", "mgk-seeds3.csv"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        char *stripped;
        assert_ok(mgk_seeds_strip(paths[i][0], &stripped));
        assert_string_equal(stripped, paths[i][1]);
        mgk_free(stripped);
    }
}

static void paths_are_grouped(void **state)
{
    (void)state;
    static const char *const paths[] = {"b-seed1.csv", "a.csv", "b-seed2.csv", "a-seed3.csv",
                                        "c/b-seed1.csv"};
    static const size_t expected[] = {0, 1, 0, 1, 2};
    size_t group[5], groups;
    char *names[5];
    assert_ok(mgk_seeds_group(paths, 5, group, names, &groups));
    assert_int_equal(groups, 3);
    assert_memory_equal(group, expected, sizeof(group));
    assert_string_equal(names[0], "b.csv");
    assert_string_equal(names[2], "c/b.csv");
    for (size_t g = 0; g < groups; g++)
        mgk_free(names[g]);
}

static const char *const runs[] = {"one-seed1.csv", "two-seed1.csv", "one-seed2.csv",
                                   "one-seed3.csv"};
enum { RUNS = 4 };

/* Steps 10 to 40, of which the first run lacks the last and the third has one more. */
static void write_runs(double token_bytes)
{
    const row first[] = {{10, 3, NAN}, {20, 2, 2.5}, {30, 1.5, NAN}};
    const row other[] = {{10, 4, 3}, {20, 1, NAN}};
    const row second[] = {{10, 5, NAN}, {15, 9, 9}, {20, 4, 1.5}, {30, 2.5, NAN}, {40, 1, 1}};
    const row third[] = {{10, 1, NAN}, {20, 3, 2}, {30, 2, NAN}, {40, 1, 1}};
    write_log(runs[0], first, 3, token_bytes);
    write_log(runs[1], other, 2, token_bytes);
    write_log(runs[2], second, 5, token_bytes);
    write_log(runs[3], third, 4, token_bytes);
}

static void assert_points(const mgk_log_points *points, size_t count, const double *x,
                          const double *mean, const double *deviation)
{
    assert_int_equal(points->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_close(points->x[i], x[i], 0, 0);
        assert_close(points->y[i], mean[i], 1e-15, 0);
        assert_close(points->lower[i], mean[i] - deviation[i], 1e-15, 0);
        assert_close(points->upper[i], mean[i] + deviation[i], 1e-15, 0);
    }
}

static void means_of_runs(void **state)
{
    (void)state;
    static const size_t group[RUNS] = {0, 1, 0, 0};
    mgk_log_losses logs[RUNS] = {{.bits = 0}}, mean = {.bits = 0};
    write_runs(0);
    for (int i = 0; i < RUNS; i++)
        assert_ok(mgk_log_losses_read(runs[i], &logs[i]));
    assert_ok(mgk_log_losses_mean(logs, group, RUNS, 0, &mean));
    assert_points(&mean.train, 3, (const double[]){10, 20, 30}, (const double[]){3, 3, 2},
                  (const double[]){2, 1, 0.5});
    assert_points(&mean.held_out, 1, (const double[]){20}, (const double[]){2},
                  (const double[]){0.5});
    assert_points(&mean.accuracy, 1, (const double[]){20}, (const double[]){0.2},
                  (const double[]){0.05});
    assert_int_equal(mean.perplexity.count, 0);
    mgk_log_losses_free(&mean);
    mean = (mgk_log_losses){.bits = 0};
    assert_ok(mgk_log_losses_mean(logs, group, RUNS, 1, &mean));
    assert_points(&mean.train, 2, (const double[]){10, 20}, (const double[]){4, 1},
                  (const double[]){0, 0});
    mgk_log_losses_free(&mean);
    for (int i = 0; i < RUNS; i++)
        mgk_log_losses_free(&logs[i]);
}

/* Means of points beside each other, of fewer at the ends; what is held out stays. */
static void training_is_smoothed(void **state)
{
    (void)state;
    static const row rows[] = {{10, 8, 3}, {20, 2, 4}, {30, 5, 5}, {40, 11, NAN}, {50, 4, 1}};
    static const struct {
        size_t window;
        double y[5];
    } expected[] = {{1, {8, 2, 5, 11, 4}},
                    {2, {5, 3.5, 8, 7.5, 4}},
                    {3, {5, 5, 6, 20.0 / 3, 7.5}},
                    {1000, {6, 6, 6, 6, 6}}};
    static const double steps[] = {10, 20, 30, 40, 50}, evaluated[] = {10, 20, 30, 50};
    static const double held_out[] = {3, 4, 5, 1}, none[5] = {0};
    write_log("smooth.csv", rows, 5, 0);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        mgk_log_losses losses = {.bits = 0};
        assert_ok(mgk_log_losses_read("smooth.csv", &losses));
        assert_ok(mgk_log_losses_smooth(&losses, expected[i].window));
        assert_points(&losses.train, 5, steps, expected[i].y, none);
        assert_points(&losses.held_out, 4, evaluated, held_out, none);
        mgk_log_losses_free(&losses);
    }
    const char *name = "smooth.csv";
    mgk_plot_options o = case_options(MGK_PLOT_CURVES, &name, 1);
    png_picture plain = case_draw(&o);
    o.smooth = 1;
    png_picture same = case_draw(&o);
    o.smooth = 3;
    png_picture smooth = case_draw(&o);
    case_assert_same(&same, &plain);
    assert_true(case_differ(&smooth, &plain));
    mgk_free(same.pixels);
    mgk_free(plain.pixels);
    mgk_free(smooth.pixels);
    o.smooth = 6;
    case_refuses(o, MGK_USAGE, "smooth.csv: 5 training losses, fewer than `smooth` 6");
    o.smooth = -1;
    case_refuses(o, MGK_USAGE, "`smooth` -1: expected 0 or more");
    o = case_options(MGK_PLOT_RANKS, &name, 1);
    o.smooth = 3;
    case_refuses(o, MGK_USAGE, "`smooth`: not an option of ranks, but of curves, figure 1");
}

/* In bits per byte where all are language models. */
static void check_picture(double token_bytes)
{
    const bool bits = token_bytes > 0;
    const double unit = bits ? log(2) * token_bytes : 1;
    double one[] = {3 / unit, 3 / unit, 2 / unit}, two[] = {4 / unit, 1 / unit};
    double held_one[] = {2 / unit}, low[] = {1.5 / unit}, high[] = {2.5 / unit},
           held_two[] = {3 / unit};
    const double steps[] = {10, 20, 30};
    const mgk_curve curves[] = {
        {.x = steps, .y = one, .count = 3, .series = 0, .faint = true},
        {.x = steps, .y = two, .count = 2, .series = 1, .faint = true},
        {.label = "one, 3 seeds",
         .x = steps + 1,
         .y = held_one,
         .lower = low,
         .upper = high,
         .count = 1,
         .series = 0,
         .markers = true},
        {.label = "two", .x = steps, .y = held_two, .count = 1, .series = 1, .markers = true}};
    const mgk_legend_entry keys[] = {
        {"held out, with the standard deviation of seeds", mgk_key_color, KEY_LINE},
        {"training", mgk_key_color, KEY_FAINT}};
    const mgk_curves drawing = {.curves = curves,
                                .count = 4,
                                .keys = keys,
                                .key_count = 2,
                                .x_label = "training step",
                                .y_label = bits ? "loss (bits per byte)" : "loss (nats)"};
    mgk_picture_options options = mgk_picture_defaults();
    options.force = true;
    write_runs(token_bytes);
    assert_ok(mgk_draw_curves(&drawing, &options, "expected.png"));
    mgk_plot_options o = case_options(MGK_PLOT_CURVES, runs, RUNS);
    o.bands = true;
    png_picture expected = read_png("expected.png"), picture = case_draw(&o);
    case_assert_same(&picture, &expected);
    mgk_free(picture.pixels);
    o.names = (const char *const[]){"other", "two"};
    o.name_count = 2;
    picture = case_draw(&o);
    assert_true(case_differ(&picture, &expected));
    mgk_free(picture.pixels);
    mgk_free(expected.pixels);
}

/* Nothing of training, and no bits. */
static void accuracies(void **state)
{
    (void)state;
    const double steps[] = {10, 20}, one[] = {0.2}, low[] = {0.15}, high[] = {0.25}, two[] = {0.3};
    const mgk_curve curves[] = {
        {.label = "one, 3 seeds",
         .x = steps + 1,
         .y = one,
         .lower = low,
         .upper = high,
         .count = 1,
         .series = 0,
         .markers = true},
        {.label = "two", .x = steps, .y = two, .count = 1, .series = 1, .markers = true}};
    const mgk_legend_entry key = {"held out, with the standard deviation of seeds", mgk_key_color,
                                  KEY_LINE};
    const mgk_curves drawing = {.curves = curves,
                                .count = 2,
                                .keys = &key,
                                .key_count = 1,
                                .x_label = "training step",
                                .y_label = "accuracy"};
    mgk_picture_options options = mgk_picture_defaults();
    options.force = true;
    write_runs(2.75);
    assert_ok(mgk_draw_curves(&drawing, &options, "expected.png"));
    mgk_plot_options o = case_options(MGK_PLOT_CURVES, runs, RUNS);
    o.bands = true;
    o.measure = "accuracy";
    png_picture expected = read_png("expected.png"), picture = case_draw(&o);
    case_assert_same(&picture, &expected);
    mgk_free(picture.pixels);
    mgk_free(expected.pixels);
}

static void pictures_show_bands(void **state)
{
    (void)state;
    check_picture(0);
    check_picture(1);
    check_picture(2.75);
}

/* Linear models have a column of their own, language models perplexities on a log axis. */
static void figures_of_training(void **state)
{
    (void)state;
    const row points[] = {{10, 3, 2.5}, {20, 2, 2}};
    const char *files[] = {"one-seed1.csv", "one-seed3.csv", "two-smlk-2.csv"};
    mgk_plot_options o = case_options(MGK_PLOT_FIGURE, files, 3);
    o.figure = 1;
    write_runs(0);
    write_log(files[2], points, 2, 0);
    png_picture classes = case_draw(&o);
    files[2] = "two-smlks-2.csv";
    write_log(files[2], points, 2, 0);
    png_picture single = case_draw(&o);
    assert_true(classes.width > single.width);
    write_runs(1);
    case_refuses(o, MGK_USAGE,
                 "one.csv is the log of a language model, and two-smlks-2.csv of a classifier");
    write_log(files[2], points, 2, 1);
    png_picture words = case_draw(&o);
    assert_true(case_differ(&words, &single));
    files[2] = "two-none.csv";
    write_log(files[2], &(const row){10, 3, NAN}, 1, 0);
    write_runs(0);
    case_refuses(o, MGK_INPUT, "two-none.csv: no evaluation on held-out data");
    mgk_free(words.pixels);
    mgk_free(classes.pixels);
    mgk_free(single.pixels);
}

static void refusals(void **state)
{
    (void)state;
    const row later[] = {{50, 1, 1}};
    const char *files[] = {"one-seed1.csv", "one-seed4.csv"};
    mgk_plot_options o = case_options(MGK_PLOT_CURVES, runs, 2);
    write_runs(0);
    write_log(files[1], later, 1, 0);
    o.bands = true;
    case_refuses(o, MGK_USAGE, "no two logs have names that differ in a seed alone");
    o.inputs = files;
    case_refuses(o, MGK_INPUT, "one.csv: its 2 logs have no step in common");
    o.inputs = runs;
    o.input_count = RUNS;
    o.names = files;
    o.name_count = 1;
    case_refuses(o, MGK_USAGE, "1 name for 2 models");
    o = case_options(MGK_PLOT_CURVES, files + 1, 1);
    write_log(files[1], (const row[]){{10, 1, NAN}}, 1, 0);
    o.measure = "accuracy";
    case_refuses(o, MGK_INPUT, "one-seed4.csv: no accuracy of held-out data");
    o = case_options(MGK_PLOT_RANKS, runs, 2);
    o.bands = true;
    case_refuses(o, MGK_USAGE, "`bands`: not an option of ranks, but of curves");
}

static int enter(void **state)
{
    (void)state;
    case_enter("plot_seeds");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_are_left_out), cmocka_unit_test(paths_are_grouped),
        cmocka_unit_test(means_of_runs),      cmocka_unit_test(pictures_show_bands),
        cmocka_unit_test(accuracies),         cmocka_unit_test(figures_of_training),
        cmocka_unit_test(refusals),           cmocka_unit_test(training_is_smoothed),
    };
    return cmocka_run_group_tests(tests, enter, NULL);
}
