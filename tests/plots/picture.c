/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "plots/canvas/canvas.h"
#include "plots/charts/curves.h"
#include "plots/charts/matrix.h"
#include "read_png.h"
#include "test.h"

static const double values[6] = {0, 1, 2, 3, NAN, 5};
static const mgk_drawn_matrix matrix = {.f64 = values, .rows = 2, .cols = 3, .row_stride = 3};

static mgk_picture_options grey_options(void)
{
    mgk_picture_options options = mgk_picture_defaults();
    options.colormap = COLORMAP_GREY;
    options.scaling = SCALING_LINEAR;
    return options;
}

static void matrix_is_pixel_exact(void **state)
{
    (void)state;
    mgk_picture_options options = grey_options();
    assert_ok(mgk_draw_matrix(&matrix, &options, scratch_path("m.png")));
    png_picture picture = read_png(scratch_path("m.png"));
    assert_int_equal(picture.width, 3);
    assert_int_equal(picture.height, 2);
    for (size_t i = 0; i < 6; i++) {
        mgk_rgb expected = mgk_colormap_at(COLORMAP_GREY, values[i] / 5);
        assert_memory_equal(&picture.pixels[i], &expected, sizeof(expected));
    }
    mgk_free(picture.pixels);
}

static void texts_are_in_the_file(void **state)
{
    (void)state;
    const mgk_text_pair texts[] = {{"Software", "mgk"}, {"Command", "mgk-plot \u00fc <a&b>"}};
    mgk_picture_options options = grey_options();
    options.texts = texts;
    options.text_count = 2;
    assert_ok(mgk_draw_matrix(&matrix, &options, scratch_path("m.png")));
    png_picture picture = read_png(scratch_path("m.png"));
    assert_string_equal(picture.texts, "Software=mgk\nCommand=mgk-plot \u00fc <a&b>\n");
    mgk_free(picture.pixels);
    mgk_mapping file;
    assert_ok(mgk_draw_matrix(&matrix, &options, scratch_path("m.svg")));
    assert_ok(mgk_map_file(scratch_path("m.svg"), &file));
    assert_non_null(memmem(file.data, file.size, "Command: mgk-plot \u00fc &lt;a&amp;b&gt;", 36));
    mgk_unmap_file(&file);
}

static void assert_starts(const char *name, const char *start)
{
    mgk_mapping file;
    mgk_picture_options options = grey_options();
    assert_ok(mgk_draw_matrix(&matrix, &options, scratch_path(name)));
    assert_ok(mgk_map_file(scratch_path(name), &file));
    assert_true(file.size > strlen(start));
    assert_memory_equal(file.data, start, strlen(start));
    mgk_unmap_file(&file);
}

static void formats_have_their_signatures(void **state)
{
    (void)state;
    assert_starts("m.png", "\x89PNG\r\n\x1a\n");
    assert_starts("m.pdf", "%PDF-1.");
    assert_starts("m.SVG", "<?xml");
}

static void draw_curve_to(const char *name)
{
    const double x[] = {1, 2, 3}, y[] = {1, NAN, 3};
    const mgk_curve curve = {.label = "loss", .x = x, .y = y, .count = 3, .markers = true};
    const mgk_curves curves = {.curves = &curve, .count = 1, .x_label = "step", .y_label = "loss"};
    mgk_picture_options options = mgk_picture_defaults();
    options.title = "Title";
    options.force = true;
    assert_ok(mgk_draw_curves(&curves, &options, scratch_path(name)));
}

static void bytes_are_reproducible(void **state)
{
    (void)state;
    static const char *const names[] = {"a.png", "a.pdf"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        mgk_mapping first, second;
        draw_curve_to(names[i]);
        assert_ok(mgk_map_file(scratch_path(names[i]), &first));
        draw_curve_to(names[i]);
        assert_ok(mgk_map_file(scratch_path(names[i]), &second));
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);
        assert_null(memmem(first.data, first.size, "CreationDate", 12));
        mgk_unmap_file(&first);
        mgk_unmap_file(&second);
    }
}

static void existing_files_are_kept(void **state)
{
    (void)state;
    mgk_picture_options options = grey_options();
    assert_ok(mgk_write_file(scratch_path("m.png"), false, "mine", 4));
    assert_fails(mgk_draw_matrix(&matrix, &options, scratch_path("m.png")), STATUS_EXISTS);
    mgk_mapping file;
    assert_ok(mgk_map_file(scratch_path("m.png"), &file));
    assert_int_equal(file.size, 4);
    mgk_unmap_file(&file);
    options.force = true;
    assert_ok(mgk_draw_matrix(&matrix, &options, scratch_path("m.png")));
    assert_int_equal(scratch_count(), 1);
}

static mgk_status draw_sized(size_t rows, size_t cols)
{
    mgk_picture_options options = grey_options();
    mgk_drawn_matrix view = {.f64 = values, .rows = rows, .cols = cols, .row_stride = cols};
    return mgk_draw_matrix(&view, &options, scratch_path("m.png"));
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    const double nothing[2] = {NAN, INFINITY};
    mgk_picture_options options = grey_options();
    mgk_drawn_matrix blank = {.f64 = nothing, .rows = 1, .cols = 2, .row_stride = 2};
    assert_fails(mgk_draw_matrix(&blank, &options, scratch_path("m.png")), STATUS_NUMERIC);
    assert_fails(draw_sized(0, 3), STATUS_SHAPE);
    assert_fails(draw_sized(3, 0), STATUS_SHAPE);
    assert_fails(draw_sized(1, 32768), STATUS_SHAPE);
    assert_fails(draw_sized(30000, 30000), STATUS_SHAPE);
    assert_fails(draw_sized(SIZE_MAX, SIZE_MAX), STATUS_SHAPE);
    assert_fails(mgk_draw_matrix(&matrix, &options, scratch_path("m.jpg")), STATUS_USAGE);
    assert_fails(mgk_draw_matrix(&matrix, &options, scratch_path("png")), STATUS_USAGE);
    assert_fails(mgk_draw_matrix(&matrix, &options, scratch_path("none/m.png")), STATUS_IO);
    options.texts = &(mgk_text_pair){"", "no key"};
    options.text_count = 1;
    assert_fails(mgk_draw_matrix(&matrix, &options, scratch_path("m.png")), STATUS_USAGE);
    assert_int_equal(scratch_count(), 0);
}

/* A program that is killed while drawing leaves no file. */
static void no_file_before_the_picture_is_whole(void **state)
{
    (void)state;
    mgk_canvas *canvas;
    assert_ok(mgk_canvas_open(scratch_path("a.png"), 20, 10, false, &canvas));
    mgk_canvas_fill(canvas, (mgk_rect){2, 2, 5, 5}, (mgk_rgb){255, 0, 0}, 1);
    assert_int_equal(scratch_count(), 0);
    assert_ok(mgk_canvas_save(canvas, NULL, 0));
    assert_int_equal(scratch_count(), 1);
    assert_fails(mgk_canvas_save(canvas, NULL, 0), STATUS_USAGE);
    mgk_canvas_close(canvas);
}

static void bad_text_is_an_error(void **state)
{
    (void)state;
    static const char *const names[] = {"a.png", "a.pdf", "a.svg"};
    const double x[] = {1, 2}, y[] = {1, 2};
    const mgk_curve curve = {.label = "\xff\xfe", .x = x, .y = y, .count = 2};
    const mgk_curves curves = {.curves = &curve, .count = 1};
    mgk_picture_options options = mgk_picture_defaults();
    for (size_t i = 0; i < 3; i++)
        assert_fails(mgk_draw_curves(&curves, &options, scratch_path(names[i])), STATUS_FORMAT);
    assert_int_equal(scratch_count(), 0);
}

static void charts_without_data_are_errors(void **state)
{
    (void)state;
    const double x[] = {-1, 0};
    const mgk_curve curve = {.x = x, .y = x, .count = 2};
    mgk_curves curves = {.curves = &curve, .count = 1, .log_x = true};
    mgk_picture_options options = mgk_picture_defaults();
    assert_fails(mgk_draw_curves(&curves, &options, scratch_path("a.png")), STATUS_NUMERIC);
    curves.count = 0;
    assert_fails(mgk_draw_curves(&curves, &options, scratch_path("a.png")), STATUS_SHAPE);
    assert_int_equal(scratch_count(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(matrix_is_pixel_exact),
        TEST(texts_are_in_the_file),
        TEST(formats_have_their_signatures),
        TEST(bytes_are_reproducible),
        TEST(existing_files_are_kept),
        TEST(failures_leave_nothing),
        TEST(no_file_before_the_picture_is_whole),
        TEST(bad_text_is_an_error),
        TEST(charts_without_data_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
