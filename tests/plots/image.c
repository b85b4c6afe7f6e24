/* SPDX-License-Identifier: MIT */
#include "plots/charts/image.h"
#include "base/memory.h"
#include "test.h"

static void panels_are_fitted(void **state)
{
    (void)state;
    static const struct {
        size_t rows, cols, panel, out_rows, out_cols, factor;
    } cases[] = {
        {256, 256, 256, 256, 256, 1}, {64, 32, 384, 64, 32, 6},       {100, 32, 500, 100, 32, 5},
        {1, 1, 256, 1, 1, 256},       {4096, 4096, 256, 256, 256, 1}, {257, 257, 256, 256, 256, 1},
        {1000, 1, 10, 10, 1, 1},      {31, 33, 100, 31, 33, 3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t rows, cols, factor;
        mgk_fit_panel(cases[i].rows, cases[i].cols, cases[i].panel, &rows, &cols, &factor);
        assert_int_equal(rows, cases[i].out_rows);
        assert_int_equal(cols, cases[i].out_cols);
        assert_int_equal(factor, cases[i].factor);
    }
}

static void pooling_is_exact(void **state)
{
    (void)state;
    /* 5 rows of 4, the first columns of a wider array; rows are split 0-1, 2-4. */
    double values[5][6], out[4];
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 6; j++)
            values[i][j] = j < 4 ? 10 * i + j : 1e6;
    mgk_drawn_matrix view = {.f64 = values[0], .rows = 5, .cols = 4, .row_stride = 6};
    mgk_pool(&view, POOLING_MEAN, 2, 2, out);
    assert_close(out[0], (0 + 1 + 10 + 11) / 4.0, 1e-12, 0);
    assert_close(out[1], (2 + 3 + 12 + 13) / 4.0, 1e-12, 0);
    assert_close(out[2], (20 + 21 + 30 + 31 + 40 + 41) / 6.0, 1e-12, 0);
    mgk_pool(&view, POOLING_MAX, 2, 2, out);
    assert_close(out[0], 11, 0, 0);
    assert_close(out[3], 43, 0, 0);
    values[4][3] = NAN;
    mgk_pool(&view, POOLING_MAX, 2, 2, out);
    assert_close(out[2], 41, 0, 0);
    assert_true(isnan(out[3]));
}

/* Means of an even split keep the total mean; 4096 is pooled like 32 and 33. */
static void pooling_keeps_the_mean(void **state)
{
    (void)state;
    enum { N = 4096, SMALL = 64 };
    float *values;
    double sum = 0, pooled[SMALL * SMALL], pooled_sum = 0;
    assert_ok(mgk_alloc(N * N, sizeof(float), &values));
    for (size_t i = 0; i < (size_t)N * N; i++) {
        values[i] = (float)(i % 977) / 977;
        sum += (double)values[i];
    }
    mgk_drawn_matrix view = {.f32 = values, .rows = N, .cols = N, .row_stride = N};
    mgk_pool(&view, POOLING_MEAN, SMALL, SMALL, pooled);
    for (size_t i = 0; i < SMALL * SMALL; i++)
        pooled_sum += pooled[i];
    assert_close(pooled_sum / (SMALL * SMALL), sum / ((double)N * N), 0, 1e-12);
    mgk_free(values);
}

static void entries_become_squares(void **state)
{
    (void)state;
    const double values[] = {0, 1, 0.5, NAN, 1, 0};
    mgk_scale scale = {.scaling = SCALING_LINEAR, .low = 0, .high = 1};
    mgk_raster raster;
    assert_ok(mgk_color_values(values, 2, 3, 4, &scale, COLORMAP_GREY, &raster));
    assert_int_equal(raster.width, 12);
    assert_int_equal(raster.height, 8);
    for (size_t y = 0; y < 8; y++)
        for (size_t x = 0; x < 12; x++) {
            mgk_rgb expected = mgk_colormap_at(COLORMAP_GREY, values[y / 4 * 3 + x / 4]);
            assert_memory_equal(&raster.pixels[y * 12 + x], &expected, sizeof(expected));
        }
    mgk_free(raster.pixels);
}

/* Zeros right of the diagonal are hatched, in one pixel or many, pooled or not. */
static void masked_entries_are_hatched(void **state)
{
    (void)state;
    const double values[] = {1, 0, 0, 0, 1, 0.5, 0, 0, 1};
    mgk_scale scale = {.scaling = SCALING_LINEAR, .low = 0, .high = 1};
    mgk_raster raster;
    /* 4 rows pooled to 3: keys 0, 1, 2-3. */
    for (size_t size = 3; size <= 4; size++) {
        assert_ok(mgk_color_values(values, 3, 3, 8, &scale, COLORMAP_GREY, &raster));
        assert_true(mgk_hatch_masked(values, 3, 3, 8, size, &raster));
        for (size_t y = 0; y < 24; y++)
            for (size_t x = 0; x < 24; x++) {
                double value = values[y / 8 * 3 + x / 8];
                bool masked = value == 0 && x / 8 > y / 8;
                mgk_rgb expected =
                    masked ? mgk_hatch_at(x, y) : mgk_colormap_at(COLORMAP_GREY, value);
                assert_memory_equal(&raster.pixels[y * 24 + x], &expected, sizeof(expected));
            }
        mgk_free(raster.pixels);
    }
    assert_ok(mgk_color_values(values, 1, 1, 1, &scale, COLORMAP_GREY, &raster));
    assert_false(mgk_hatch_masked(values, 1, 1, 1, 1, &raster));
    mgk_free(raster.pixels);
}

static void sizes_are_checked(void **state)
{
    (void)state;
    const double value = 1;
    mgk_scale scale = {.high = 1};
    mgk_raster raster;
    assert_fails(mgk_color_values(&value, 0, 1, 1, &scale, COLORMAP_GREY, &raster), STATUS_SHAPE);
    assert_fails(mgk_color_values(&value, 1, 1, 1 << 15, &scale, COLORMAP_GREY, &raster),
                 STATUS_SHAPE);
    assert_fails(mgk_color_values(&value, SIZE_MAX, 2, 1, &scale, COLORMAP_GREY, &raster),
                 STATUS_MEMORY);
    assert_null(raster.pixels);
    mgk_pooling pooling;
    assert_fails(mgk_pooling_parse("median", &pooling), STATUS_USAGE);
    assert_ok(mgk_pooling_parse("max", &pooling));
    assert_int_equal(pooling, POOLING_MAX);
}

/* Columns are padding if all that was pooled to them is. */
static void padding_is_hatched(void **state)
{
    (void)state;
    enum { SIZE = 12, COLS = 4, FACTOR = 2, WIDTH = COLS * FACTOR };
    const mgk_rgb red = {255, 0, 0};
    mgk_rgb pixels[FACTOR * FACTOR * WIDTH];
    for (size_t i = 0; i < FACTOR * FACTOR * WIDTH; i++)
        pixels[i] = red;
    mgk_raster raster = {WIDTH, FACTOR * FACTOR, pixels};
    mgk_hatch_padding(FACTOR, COLS, FACTOR, SIZE, 4, 3, &raster); /* of 3 columns to each */
    for (size_t y = 0; y < FACTOR * FACTOR; y++)
        for (size_t x = 0; x < WIDTH; x++) {
            const bool hatched = x / FACTOR == 0 || x / FACTOR == 3;
            const mgk_rgb expected = hatched ? mgk_hatch_at(x, y) : red;
            assert_memory_equal(&pixels[y * WIDTH + x], &expected, sizeof(expected));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_are_fitted),      cmocka_unit_test(pooling_is_exact),
        cmocka_unit_test(pooling_keeps_the_mean), cmocka_unit_test(entries_become_squares),
        cmocka_unit_test(sizes_are_checked),      cmocka_unit_test(masked_entries_are_hatched),
        cmocka_unit_test(padding_is_hatched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
