/* SPDX-License-Identifier: MIT */
/* mgk_plot_picture: figures of the Performers' paper, and the numbers in them. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "plot/performer.h"
#include "plot_case.h"
#include "test.h"

/* Lemma 2 of the paper, for one random vector: with s = |x + y|^2 and d = |x - y|^2 the errors are
 * exp(s) SM^-2 (1 - exp(-d))^2 / 2 and exp(s) SM^2 (1 - exp(-s)). */
static void errors_of_the_kernel_are_those_of_the_lemma(void **state)
{
    (void)state;
    const double angles[] = {0.01, 0.4, 1.3, 2, 3}, lengths[] = {0.1, 1, 2};
    enum { ANGLES = sizeof(angles) / sizeof(*angles) };
    const mgk_job job = {.device = "cpu", .threads = 1};
    mgk_device *device;
    assert_ok(mgk_performer_open(&job, &device));
    for (size_t l = 0; l < sizeof(lengths) / sizeof(*lengths); l++) {
        double trigonometric[ANGLES], positive[ANGLES];
        const double square = lengths[l] * lengths[l];
        assert_ok(mgk_performer_kernel_errors(device, lengths[l], angles, ANGLES, trigonometric,
                                              positive));
        for (size_t a = 0; a < ANGLES; a++) {
            const double kernel = exp(square * cos(angles[a])), s = 2 * square + 2 * log(kernel),
                         d = 2 * square - 2 * log(kernel);
            const double t = exp(s) / (kernel * kernel) * expm1(-d) * expm1(-d) / 2,
                         p = -exp(s) * kernel * kernel * expm1(-s);
            assert_true(fabs(trigonometric[a] - t) <= 1e-8 * t);
            assert_true(fabs(positive[a] - p) <= 1e-8 * p);
        }
    }
    mgk_device_close(device);
}

/* Errors fall as the number of vectors rises: with 64 times as many they are less than a fifth;
 * orthogonal vectors err less than independent ones in short vectors. */
static void errors_of_the_output_fall(void **state)
{
    (void)state;
    enum { DRAWS = 5, MAPS = 2 };
    static const int maps[MAPS] = {MGK_CHOICE_POSITIVE, MGK_CHOICE_TRIGONOMETRIC};
    const mgk_job job = {.device = "cpu", .threads = 1};
    mgk_device *device;
    mgk_performer_problem problem;
    assert_ok(mgk_performer_open(&job, &device));
    assert_ok(mgk_performer_problem_open(device, DRAWS, 130, 8, 0.5, 3, &problem));
    for (size_t m = 0; m < MAPS; m++) {
        double few[DRAWS], many[DRAWS], again[DRAWS], sum = 0, fewer = 0;
        assert_ok(mgk_performer_output_errors(&problem, maps[m], MGK_DRAW_ORTHOGONAL, 8, few));
        assert_ok(mgk_performer_output_errors(&problem, maps[m], MGK_DRAW_ORTHOGONAL, 512, many));
        assert_ok(mgk_performer_output_errors(&problem, maps[m], MGK_DRAW_ORTHOGONAL, 512, again));
        assert_memory_equal(many, again, sizeof(many));
        for (size_t i = 0; i < DRAWS; i++) {
            assert_true(many[i] > 0);
            sum += few[i];
            fewer += many[i];
        }
        assert_true(fewer <= sum / 5);
    }
    double independent[DRAWS], orthogonal[DRAWS], sums[2] = {0, 0};
    assert_ok(mgk_performer_output_errors(&problem, MGK_CHOICE_TRIGONOMETRIC, MGK_DRAW_IID, 64,
                                          independent));
    assert_ok(mgk_performer_output_errors(&problem, MGK_CHOICE_TRIGONOMETRIC, MGK_DRAW_ORTHOGONAL,
                                          64, orthogonal));
    for (size_t i = 0; i < DRAWS; i++) {
        sums[0] += independent[i];
        sums[1] += orthogonal[i];
    }
    assert_true(sums[1] < sums[0] / 1.5);
    mgk_performer_problem_close(&problem);
    mgk_device_close(device);
}

static mgk_plot_options figure_options(int figure, const char *const *inputs, size_t count)
{
    mgk_plot_options o = case_options(MGK_PLOT_PERFORMER, inputs, count);
    o.figure = figure;
    return o;
}

/* The colours of the map say which features err less: both occur, over large areas. */
static void the_kernel_is_drawn(void **state)
{
    (void)state;
    const mgk_plot_options o = figure_options(2, NULL, 0);
    png_picture picture = case_draw(&o);
    size_t red = 0, blue = 0;
    for (size_t i = 0; i < picture.width * picture.height; i++) {
        const mgk_rgb color = picture.pixels[i];
        red += color.r > color.b + 40 && color.r > color.g + 80;
        blue += color.b > color.r + 60 && color.b > color.g + 40;
    }
    assert_true(red > 50000);
    assert_true(blue > 50000);
    mgk_free(picture.pixels);
}

static void wrong_inputs_are_refused(void **state)
{
    (void)state;
    case_refuses(figure_options(2, &case_store, 1), MGK_USAGE,
                 "performer 2 takes no input, got plot.h5");
    case_refuses(figure_options(10, NULL, 0), MGK_USAGE, "an input and an output file are needed");
    case_refuses(figure_options(3, &case_store, 1), MGK_USAGE,
                 "performer 3: expected 2, 4, 10, 11, 13 or 14");
    mgk_plot_options o = figure_options(4, NULL, 0);
    o.labels = true;
    case_refuses(o, MGK_USAGE, "`labels`: not an option of performer 4, but of attention");
}

int main(void)
{
    case_enter("plot_performer");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_the_kernel_are_those_of_the_lemma),
        cmocka_unit_test(errors_of_the_output_fall),
        cmocka_unit_test(the_kernel_is_drawn),
        cmocka_unit_test_setup(wrong_inputs_are_refused, case_make_mgk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
