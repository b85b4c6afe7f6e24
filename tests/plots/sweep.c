/* SPDX-License-Identifier: MIT */
#include "plots/charts/sweep.h"

#include <stdlib.h>

#include "base/memory.h"
#include "read_png.h"
#include "test.h"

enum { T = 25, LAYERS = 2 };

/* Pixels of this colour, up to rounding. */
static size_t count_color(const png_picture *picture, int r, int g, int b)
{
    size_t count = 0;
    for (size_t i = 0; i < picture->width * picture->height; i++) {
        mgk_rgb p = picture->pixels[i];
        count += abs(p.r - r) <= 1 && abs(p.g - g) <= 1 && abs(p.b - b) <= 1;
    }
    return count;
}

static png_picture draw(const mgk_sweep_model *models, size_t count)
{
    static const int32_t numbers[LAYERS] = {0, 3};
    const mgk_sweeps sweeps = {models, count, numbers, LAYERS, 1, "threshold", "A heading"};
    mgk_picture_options options = mgk_picture_defaults();
    options.force = true;
    assert_ok(mgk_draw_sweeps(&sweeps, &options, scratch_path("s.png")));
    return read_png(scratch_path("s.png"));
}

/* In layer 1 all ranks are in [40, 80], around 60; in layer 2 all are 50. */
static void bands_lines_and_noise(void **state)
{
    (void)state;
    double thresholds[T], median[LAYERS * T], lower[LAYERS * T], upper[LAYERS * T];
    double noise[LAYERS] = {(double)NAN, (double)NAN};
    for (int i = 0; i < LAYERS * T; i++) {
        thresholds[i % T] = pow(10, -8 + i % T / 4.0);
        median[i] = i < T ? 60 : 50;
        lower[i] = i < T ? 40 : 50;
        upper[i] = i < T ? 80 : 50;
    }
    const mgk_sweep_model model = {"model", thresholds, T, median, lower, upper, noise};
    png_picture picture = draw(&model, 1);
    /* A frame is about 550 x 350 pixels. The axis runs from 38.4 to 81.6, so the band of 40 is
     * 0.926 of its height. */
    size_t line = count_color(&picture, 0, 114, 178), clean = count_color(&picture, 230, 230, 230);
    size_t band = count_color(&picture, 199, 224, 238);
    assert_in_range(line, 2 * 500 * 2, 2 * 700 * 8 + 3000);
    assert_in_range(band, 500 * 280, 700 * 420);
    assert_in_range(clean, 0, 3000);
    mgk_free(picture.pixels);

    /* A noise floor at 1e-5 covers the left half of a frame; the legend has one more grey line. */
    noise[1] = 1e-5;
    picture = draw(&model, 1);
    size_t half = count_color(&picture, 230, 230, 230);
    assert_in_range(half, clean + 250 * 300, clean + 350 * 450);
    mgk_free(picture.pixels);
    noise[1] = 1e-9; /* left of the axis */
    picture = draw(&model, 1);
    assert_int_equal(count_color(&picture, 230, 230, 230), clean);
    mgk_free(picture.pixels);
    noise[1] = 1; /* the whole axis */
    picture = draw(&model, 1);
    assert_in_range(count_color(&picture, 230, 230, 230), 1.8 * (double)half, 2.3 * (double)half);
    mgk_free(picture.pixels);
}

/* One band cannot represent different noise floors. */
static void floors_of_several_models(void **state)
{
    (void)state;
    const double thresholds[] = {1e-8, 1e-5, 1e-2}, ranks[LAYERS * 3] = {9, 5, 1, 9, 4, 0};
    const double other[] = {2e-6, 0.8e-6, 1e-7, (double)NAN, 1e-9};
    double noise[] = {1e-5, 1e-5}, noise_of_other[LAYERS];
    const mgk_sweep_model models[] = {
        {"one", thresholds, 3, ranks, ranks, ranks, noise},
        {"other", thresholds, 3, ranks, ranks, ranks, noise_of_other}};
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
        noise_of_other[0] = noise_of_other[1] = other[i];
        png_picture picture = draw(models, 2);
        assert_true((count_color(&picture, 230, 230, 230) > 50000) == (other[i] > 1e-6));
        mgk_free(picture.pixels);
    }
    /* Floors below all thresholds are not drawn, and the legend does not mention them. */
    png_picture pictures[2];
    for (int i = 0; i < 2; i++) {
        noise[0] = noise[1] = i == 0 ? 1e-9 : (double)NAN;
        noise_of_other[0] = noise_of_other[1] = i == 0 ? 1e-10 : (double)NAN;
        pictures[i] = draw(models, 2);
    }
    assert_int_equal(pictures[0].height, pictures[1].height);
    assert_memory_equal(pictures[0].pixels, pictures[1].pixels,
                        pictures[0].width * pictures[0].height * sizeof(mgk_rgb));
    mgk_free(pictures[0].pixels);
    mgk_free(pictures[1].pixels);
}

/* Models with few and with many thresholds; the latter reach further. */
static void models_of_different_thresholds(void **state)
{
    (void)state;
    const double few[] = {1e-6, 1e-3, 0.5}, ranks[LAYERS * 3] = {9, 5, 1, 9, 4, 0};
    const double two[] = {1e-12, 1e-11}, ones[LAYERS * 2] = {0, 0, 0, 0};
    const double noise[LAYERS] = {0, (double)INFINITY};
    const mgk_sweep_model models[] = {{"few", few, 3, ranks, ranks, ranks, noise},
                                      {"two", two, 2, ones, ones, ones, noise}};
    for (size_t count = 1; count <= 2; count++) {
        png_picture picture = draw(models, count);
        assert_true(count_color(&picture, 0, 114, 178) > 1000);
        assert_true((count_color(&picture, 213, 94, 0) > 500) == (count == 2));
        mgk_free(picture.pixels);
    }
    const mgk_sweeps none = {models, 0, NULL, 1, 0, "", ""},
                     layerless = {models, 1, NULL, 0, 0, "", ""};
    mgk_picture_options options = mgk_picture_defaults();
    assert_fails(mgk_draw_sweeps(&none, &options, scratch_path("n.png")), STATUS_SHAPE);
    assert_fails(mgk_draw_sweeps(&layerless, &options, scratch_path("n.png")), STATUS_SHAPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bands_lines_and_noise, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(floors_of_several_models, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(models_of_different_thresholds, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
