/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/memory.h"
#include "plots/figures/figures.h"
#include "read_png.h"
#include "test.h"

/* Panels whose matrices are identified in the picture by their colours. */
enum { LAYERS = 2, HEADS = 3, N = 8 };

/* Every matrix [L, H, N, N] is constant: 1, 2, 3, ... in drawing order. */
static float *numbered_matrices(size_t matrices, size_t size)
{
    float *values;
    assert_ok(mgk_alloc(matrices * size, sizeof(float), &values));
    for (size_t i = 0; i < matrices * size; i++)
        values[i] = (float)(i / size + 1);
    return values;
}

static size_t count_color(const png_picture *picture, mgk_rgb color)
{
    size_t count = 0;
    for (size_t i = 0; i < picture->width * picture->height; i++)
        count += memcmp(&picture->pixels[i], &color, sizeof(color)) == 0;
    return count;
}

/* Every panel has its pixels, and panels follow each other layer by layer. */
static void every_matrix_is_drawn_in_its_size(void **state)
{
    (void)state;
    float *values = numbered_matrices(LAYERS * HEADS, N * N);
    mgk_panels model = {.title = "softmax",
                        .f32 = values,
                        .layers = LAYERS,
                        .heads = HEADS,
                        .keys = 1,
                        .rows = N,
                        .cols = N};
    mgk_figure5_input input = {&model, 1};
    mgk_picture_options options = mgk_picture_defaults();
    options.scaling = SCALING_LINEAR;
    assert_ok(mgk_figure5(&input, &options, scratch_path("f.png")));
    png_picture picture = read_png(scratch_path("f.png"));
    for (int i = 1; i <= LAYERS * HEADS; i++) {
        mgk_rgb color = mgk_colormap_at(COLORMAP_VIRIDIS, (i - 1) / 5.0);
        size_t count = count_color(&picture, color);
        /* The colour bar may contain the colour too. */
        assert_in_range(count, 256 * 256, 256 * 256 + 1000);
    }
    mgk_free(picture.pixels);
    mgk_free(values);
}

/* Rows from 100 on contain a value that must not be drawn; strides lead to the next matrix. */
static void figure12_shows_the_first_tokens(void **state)
{
    (void)state;
    enum { TOKENS = 130, DIM = 32, KEYS = 2 };
    double *keys;
    assert_ok(mgk_alloc(KEYS * TOKENS * DIM, sizeof(double), &keys));
    for (size_t i = 0; i < KEYS * TOKENS * DIM; i++) {
        size_t token = i / DIM % TOKENS;
        keys[i] = token >= 100 ? NAN : i < TOKENS * DIM ? 1 : -1;
    }
    mgk_panels model = {.title = "MGK, 1 head",
                        .f64 = keys,
                        .layers = 1,
                        .heads = 1,
                        .keys = KEYS,
                        .rows = TOKENS,
                        .cols = DIM};
    mgk_figure12_input input = {&model, 1, 0};
    mgk_picture_options options = mgk_picture_signed_defaults();
    assert_ok(mgk_figure12(&input, &options, scratch_path("f.png")));
    png_picture picture = read_png(scratch_path("f.png"));
    assert_int_equal(count_color(&picture, MGK_NAN_COLOR), 0);
    for (int sign = 0; sign <= 1; sign++)
        assert_in_range(count_color(&picture, mgk_colormap_at(COLORMAP_COOLWARM, sign)),
                        100 * 32 * 25, 100 * 32 * 25 + 1000);
    mgk_free(picture.pixels);
    mgk_free(keys);
}

static void assert_readable(const char *path)
{
    png_picture picture = read_png(path);
    const mgk_rgb white = {255, 255, 255};
    /* Nothing is drawn at the edges of the page. */
    for (size_t x = 0; x < picture.width; x++) {
        assert_memory_equal(&picture.pixels[x], &white, 3);
        assert_memory_equal(&picture.pixels[(picture.height - 1) * picture.width + x], &white, 3);
    }
    for (size_t y = 0; y < picture.height; y++) {
        assert_memory_equal(&picture.pixels[y * picture.width], &white, 3);
        assert_memory_equal(&picture.pixels[(y + 1) * picture.width - 1], &white, 3);
    }
    assert_true(count_color(&picture, white) < picture.width * picture.height * 95 / 100);
    mgk_free(picture.pixels);
}

/* Models with different heads and components, at odd sizes and with every option. */
static void figures_of_unequal_models(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 31, 300};
    for (size_t s = 0; s < 3; s++) {
        size_t n = sizes[s];
        float *values = numbered_matrices(12, n * n);
        const mgk_panels models[3] = {{.title = "softmax, 3 heads",
                                       .f32 = values,
                                       .layers = 2,
                                       .heads = 3,
                                       .keys = 1,
                                       .rows = n,
                                       .cols = n},
                                      {.title = "MGK, 3 heads",
                                       .f32 = values,
                                       .layers = 2,
                                       .heads = 3,
                                       .keys = 2,
                                       .rows = n,
                                       .cols = n},
                                      {.f32 = values,
                                       .layers = 1,
                                       .heads = 1,
                                       .keys = 1,
                                       .rows = n,
                                       .cols = n,
                                       .layer_numbers = (const int32_t[]){6},
                                       .head_numbers = (const int32_t[]){3}}};
        const double ranks[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 300};
        const mgk_model_ranks tables[3] = {{"softmax, 3 heads", ranks, 2, 5, NULL, 300},
                                           {"MGK, 3 heads", ranks, 2, 4, NULL, 256},
                                           {NULL, ranks, 2, 1, (const int32_t[]){0, 6}, 300}};
        for (int flags = 0; flags < 2 * SCALING_COUNT; flags++) {
            mgk_picture_options options = mgk_picture_defaults();
            options.force = true;
            options.range_per_panel = flags % 2;
            options.scaling = (mgk_scaling)(flags / 2);
            options.pooling = flags % 2 ? POOLING_MAX : POOLING_MEAN;
            options.panel = 64;
            const mgk_figure2_input figure2 = {models, tables, 3, 0, 0};
            assert_ok(mgk_figure2(&figure2, &options, scratch_path("f.png")));
            assert_readable(scratch_path("f.png"));
            const mgk_figure11_input figure11 = {models, 3};
            options.colormap = COLORMAP_COOLWARM;
            options.title = "A title that is much longer than the picture under it is wide";
            assert_ok(mgk_figure11(&figure11, &options, scratch_path("f.png")));
            assert_readable(scratch_path("f.png"));
        }
        mgk_free(values);
    }
}

/* The centre of the ink in rows [first, last), which have some. */
static double middle_of(const png_picture *picture, size_t first, size_t last)
{
    size_t left = picture->width, right = 0;
    for (size_t y = first; y < last; y++)
        for (size_t x = 0; x < picture->width; x++)
            if (picture->pixels[y * picture->width + x].g < 128) {
                left = x < left ? x : left;
                right = x > right ? x : right;
            }
    assert_true(left < right);
    return (double)(left + right) / 2;
}

static bool is_blank(const png_picture *picture, size_t y)
{
    for (size_t x = 0; x < picture->width; x++)
        if (picture->pixels[y * picture->width + x].g < 128)
            return false;
    return true;
}

/* The titles of picture, model and head, and "1 key 8", are centred on the panel. */
static void titles_and_axes_have_one_centre(void **state)
{
    (void)state;
    float *values = numbered_matrices(1, N * N);
    mgk_panels model = {
        .title = "(a)", .f32 = values, .layers = 1, .heads = 1, .keys = 1, .rows = N, .cols = N};
    const mgk_figure5_input input = {&model, 1};
    const mgk_rgb color = mgk_colormap_at(COLORMAP_VIRIDIS, 0.5);
    mgk_picture_options options = mgk_picture_defaults();
    options.scaling = SCALING_LINEAR;
    options.title = "ooooo ooooo";
    options.force = true;
    for (int own = 0; own < 2; own++) {
        options.range_per_panel = own;
        assert_ok(mgk_figure5(&input, &options, scratch_path("f.png")));
        png_picture picture = read_png(scratch_path("f.png"));
        size_t first = 0, last = 0, left = 0;
        while (memcmp(&picture.pixels[first], &color, sizeof(color)) != 0)
            first++;
        left = first % picture.width;
        first /= picture.width;
        for (last = first; memcmp(&picture.pixels[last * picture.width + left], &color, 3) == 0;)
            last++;
        double centre = (double)left + 128;
        size_t lines = 0;
        for (size_t y = 0, end = 0; y < first - 20; y = end + 1) {
            for (end = y; !is_blank(&picture, end);)
                end++;
            if (end > y && lines++ < 3)
                assert_close(middle_of(&picture, y, end), centre, 5, 0);
        }
        assert_int_equal(lines, 3);
        assert_close(middle_of(&picture, last + 20, picture.height), centre, 12, 0);
        mgk_free(picture.pixels);
    }
    mgk_free(values);
}

/* The ink of column x: from its first to its last row; 0 without ink. */
static size_t ink_height(const png_picture *picture, size_t x)
{
    size_t first = picture->height, last = 0;
    for (size_t y = 0; y < picture->height; y++)
        if (picture->pixels[y * picture->width + x].g < 128) {
            first = y < first ? y : first;
            last = y;
        }
    return first <= last ? last - first + 1 : 0;
}

/* Rows too low for "layer 0" have the number, and the word once: the leftmost ink is longer than a
 * digit. */
static void low_rows_name_their_axis(void **state)
{
    (void)state;
    float *values = numbered_matrices(1, 16);
    const mgk_panels model = {
        .f32 = values, .layers = 1, .heads = 1, .keys = 1, .rows = 2, .cols = 8};
    const mgk_heatmap_grid grid = {.groups = &model,
                                   .group_count = 1,
                                   .panel = 320,
                                   .value_name = "v",
                                   .row_name = "query",
                                   .col_name = "key"};
    mgk_picture_options options = mgk_picture_defaults();
    options.scaling = SCALING_LINEAR;
    options.force = true;
    assert_ok(mgk_draw_heatmap_grid(&grid, &options, scratch_path("f.png")));
    png_picture picture = read_png(scratch_path("f.png"));
    size_t x = 0, highest = 0;
    while (ink_height(&picture, x) == 0)
        x++;
    for (; ink_height(&picture, x) > 0; x++)
        highest = ink_height(&picture, x) > highest ? ink_height(&picture, x) : highest;
    assert_in_range(highest, (size_t)(1.5 * MGK_TEXT_SIZE), 80);
    mgk_free(picture.pixels);
    mgk_free(values);
}

static size_t count_stripes(const png_picture *picture)
{
    return count_color(picture, mgk_hatch_at(0, 0));
}

/* A legend explains colours that the bar does not contain, if they occur. */
static void masked_and_missing_entries_have_a_legend(void **state)
{
    (void)state;
    float values[] = {1, 0, 0, 0.5, 0.5, 0, 0.3F, 0.3F, 0.4F};
    mgk_panels model = {.f32 = values, .layers = 1, .heads = 1, .keys = 1, .rows = 3, .cols = 3};
    const mgk_figure5_input input = {&model, 1};
    mgk_picture_options options = mgk_picture_defaults();
    const size_t cell = 85 * 85;
    size_t heights[3];
    options.force = true;
    for (int i = 0; i < 3; i++) {
        model.causal = i > 0;
        values[8] = i == 2 ? NAN : 0.4F;
        assert_ok(mgk_figure5(&input, &options, scratch_path("f.png")));
        png_picture picture = read_png(scratch_path("f.png"));
        heights[i] = picture.height;
        if (i == 0)
            assert_true(count_stripes(&picture) < 500);
        else /* a quarter of three cells, and the legend's key */
            assert_in_range(count_stripes(&picture), 3 * cell / 4, 3 * cell / 4 + 1000);
        size_t missing = count_color(&picture, MGK_NAN_COLOR);
        if (i == 2)
            assert_in_range(missing, cell + 100, cell + 2000);
        else
            assert_int_equal(missing, 0);
        mgk_free(picture.pixels);
    }
    assert_true(heights[1] > heights[0]);
}

static void figure6_shares_its_axes(void **state)
{
    (void)state;
    const double ranks[6] = {10, 20, 30, 40, 50, 60};
    const mgk_model_ranks tables[2] = {{"softmax", ranks, 6, 1, NULL, 0},
                                       {"MGK", ranks, 2, 3, NULL, 64}};
    mgk_figure6_input input = {tables, 1, NULL, 0, false};
    mgk_picture_options options = mgk_picture_defaults();
    assert_ok(mgk_figure6(&input, &options, scratch_path("f.png")));
    assert_readable(scratch_path("f.png"));
    options.force = true;
    input.model_count = 2;
    /* The second model has no fifth layer. */
    assert_fails(mgk_figure6(&input, &options, scratch_path("f.png")), STATUS_SHAPE);
    input.layers = (const size_t[]){1, 0};
    input.layer_count = 2;
    assert_ok(mgk_figure6(&input, &options, scratch_path("f.png")));
    assert_readable(scratch_path("f.png"));
}

static void bad_input(void **state)
{
    (void)state;
    float value = -1;
    mgk_panels model = {.f32 = &value, .layers = 1, .heads = 1, .keys = 1, .rows = 1, .cols = 1};
    const double none[] = {NAN}, negative[] = {-1};
    mgk_model_ranks table = {NULL, none, 1, 1, NULL, 0};
    mgk_figure5_input input = {&model, 1};
    mgk_figure6_input histograms = {&table, 1, NULL, 0, false};
    mgk_picture_options options = mgk_picture_defaults();
    const char *path = scratch_path("f.png");
    assert_fails(mgk_figure5(&input, &options, path), STATUS_NUMERIC);
    value = NAN;
    assert_fails(mgk_figure5(&input, &options, path), STATUS_NUMERIC);
    value = 1;
    options.panel = 1 << 20;
    assert_fails(mgk_figure5(&input, &options, path), STATUS_USAGE);
    options.panel = 32767;
    assert_fails(mgk_figure5(&input, &options, path), STATUS_SHAPE);
    options.panel = 0;
    model.heads = 0;
    assert_fails(mgk_figure5(&input, &options, path), STATUS_SHAPE);
    model.heads = SIZE_MAX;
    assert_fails(mgk_figure5(&input, &options, path), STATUS_SHAPE);
    model.heads = 1;
    model.f32 = NULL;
    assert_fails(mgk_figure5(&input, &options, path), STATUS_USAGE);
    input.model_count = 0;
    assert_fails(mgk_figure5(&input, &options, path), STATUS_SHAPE);
    assert_fails(mgk_figure6(&histograms, &options, path), STATUS_NUMERIC);
    table.ranks = negative;
    assert_fails(mgk_figure6(&histograms, &options, path), STATUS_NUMERIC);
    table.count = 0;
    assert_fails(mgk_figure6(&histograms, &options, path), STATUS_SHAPE);
    histograms.model_count = 0;
    assert_fails(mgk_figure6(&histograms, &options, path), STATUS_SHAPE);
    const mgk_figure2_input nothing = {0};
    assert_fails(mgk_figure2(&nothing, &options, path), STATUS_SHAPE);
    assert_int_equal(scratch_count(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_matrix_is_drawn_in_its_size), TEST(figure12_shows_the_first_tokens),
        TEST(figures_of_unequal_models),         TEST(titles_and_axes_have_one_centre),
        TEST(low_rows_name_their_axis),          TEST(masked_and_missing_entries_have_a_legend),
        TEST(figure6_shares_its_axes),           TEST(bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
