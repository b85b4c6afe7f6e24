/* SPDX-License-Identifier: MIT */
/* Points of groups: where they are drawn, and what their labels do not cover. */
#include "plots/charts/scatter.h"

#include <stdlib.h>

#include "base/memory.h"
#include "read_png.h"
#include "test.h"

enum { MOST = 400 };

static const char *const group_names[] = {"layer 1", "layer 2", "layer 3"};

static png_picture draw(const mgk_scatter_panel *panels, size_t count, size_t groups)
{
    mgk_picture_options options = mgk_picture_defaults();
    options.force = true;
    assert_ok(mgk_draw_scatter(&(mgk_scatter){.panels = panels,
                                              .count = count,
                                              .group_names = group_names,
                                              .group_count = groups,
                                              .heading = "a heading",
                                              .x_label = "x",
                                              .y_label = "y"},
                               &options, scratch_path("scatter.png")));
    return read_png(scratch_path("scatter.png"));
}

/* The dots of one colour: their number of pixels, and the middle, below the legend. */
typedef struct blob {
    double count, x, y;
} blob;

static blob find_color(const png_picture *picture, mgk_rgb color)
{
    blob b = {0, 0, 0};
    for (size_t y = 160; y < picture->height; y++)
        for (size_t x = 0; x < picture->width; x++) {
            const mgk_rgb p = picture->pixels[y * picture->width + x];
            if (abs(p.r - color.r) > 1 || abs(p.g - color.g) > 1 || abs(p.b - color.b) > 1)
                continue;
            b.count++;
            b.x += (double)x;
            b.y += (double)y;
        }
    b.x /= b.count;
    b.y /= b.count;
    return b;
}

/* The colour of a group of three. */
static mgk_rgb color_of(size_t group)
{
    return mgk_colormap_at(COLORMAP_VIRIDIS, 0.92 * (double)group / 2);
}

/* A right angle with legs of 1, in a wide and in a high cloud: the legs are equally long. */
static void both_axes_have_one_scale(void **state)
{
    (void)state;
    static const double clouds[2][2] = {{40, 0.5}, {0.5, 40}};
    static const size_t groups[] = {0, 1, 2, 0};
    static const char *const labels[] = {"", "", "", ""};
    for (size_t c = 0; c < 2; c++) {
        const double points[] = {0, 0, 20, 0, 0, 20, clouds[c][0], clouds[c][1]};
        const mgk_scatter_panel panel = {"a panel", points, groups, labels, 4, NULL};
        png_picture picture = draw(&panel, 1, 3);
        const blob right = find_color(&picture, color_of(1)),
                   up = find_color(&picture, color_of(2));
        const double left = up.x, bottom = right.y;
        assert_true(right.count > 100 && up.count > 100);
        assert_true(right.x - left > 200);
        assert_close(right.x - left, bottom - up.y, 1.5, 0);
        mgk_free(picture.pixels);
    }
}

/* The points of a second panel do not move those of the first, if they are within their extent. */
static void panels_have_one_scale(void **state)
{
    (void)state;
    static const double wide[] = {-3, -1, 3, 1}, narrow[] = {-1, 0, 1, 0};
    static const size_t first[] = {0, 0}, second[] = {1, 2};
    static const char *const labels[] = {"", ""};
    const mgk_scatter_panel panels[] = {{"wide", wide, first, labels, 2, NULL},
                                        {"narrow", narrow, second, labels, 2, NULL}},
                            alone[] = {{"narrow", wide, first, labels, 2, NULL},
                                       {"wide", wide, second, labels, 2, NULL}};
    png_picture picture = draw(panels, 2, 3), same = draw(alone, 2, 3);
    const double of_narrow =
                     find_color(&picture, color_of(2)).x - find_color(&picture, color_of(1)).x,
                 of_wide = find_color(&same, color_of(2)).x - find_color(&same, color_of(1)).x;
    assert_close(of_wide, 3 * of_narrow, 3, 0);
    mgk_free(picture.pixels);
    mgk_free(same.pixels);
}

/* Labels leave all pixels of all dots, however many there are. */
static void labels_cover_no_point(void **state)
{
    (void)state;
    static double points[2 * MOST];
    static size_t groups[MOST];
    static const char *labels[MOST], *none[MOST];
    unsigned seed = 1;
    for (size_t i = 0; i < 2 * MOST; i++) {
        seed = seed * 1103515245u + 12345u;
        points[i] = pow((double)(seed >> 8) / (1 << 24), 2);
    }
    for (size_t i = 0; i < MOST; i++) {
        groups[i] = i % 3;
        labels[i] = "12.12";
        none[i] = "";
    }
    const mgk_scatter_panel labelled = {"a panel", points, groups, labels, MOST, NULL},
                            bare = {"a panel", points, groups, none, MOST, NULL};
    png_picture with = draw(&labelled, 1, 3), without = draw(&bare, 1, 3);
    size_t differ = 0;
    for (size_t g = 0; g < 3; g++) {
        const blob a = find_color(&with, color_of(g)), b = find_color(&without, color_of(g));
        assert_true(b.count > 1000);
        assert_close(a.count, b.count, 0, 0);
    }
    for (size_t i = 0; i < with.width * with.height; i++)
        differ += with.pixels[i].r != without.pixels[i].r;
    assert_true(differ > 1000); /* some labels are there */
    mgk_free(with.pixels);
    mgk_free(without.pixels);
}

/* The second group has squares, which have not as many pixels as circles. */
static void series_have_markers(void **state)
{
    (void)state;
    static const double points[] = {0, 0, 1, 0, 0, 1, 1, 1};
    static const size_t groups[] = {0, 1, 0, 1}, series[] = {0, 1, 0, 1};
    static const char *const labels[] = {"", "", "", ""};
    const mgk_scatter_panel circles = {"a panel", points, groups, labels, 4, NULL},
                            squares = {"a panel", points, groups, labels, 4, series};
    png_picture of_circles = draw(&circles, 1, 3), of_squares = draw(&squares, 1, 3);
    for (size_t g = 0; g < 2; g++) {
        const blob a = find_color(&of_circles, color_of(g)),
                   b = find_color(&of_squares, color_of(g));
        assert_true(a.count > 100);
        assert_true((b.count == a.count) == (g == 0));
    }
    mgk_free(of_circles.pixels);
    mgk_free(of_squares.pixels);
}

static void small_and_none(void **state)
{
    (void)state;
    static const double same[] = {0, 0, 0, 0};
    static const size_t groups[] = {0, 0};
    static const char *const labels[] = {"1.1", "1.2"};
    const mgk_scatter_panel equal = {"equal", same, groups, labels, 2, NULL},
                            empty = {"empty", same, groups, labels, 0, NULL};
    mgk_picture_options options = mgk_picture_defaults();
    mgk_free(draw(&equal, 1, 1).pixels);
    mgk_scatter scatter = {.panels = &empty, .count = 1, .heading = ""};
    assert_fails(mgk_draw_scatter(&scatter, &options, scratch_path("none.png")), STATUS_SHAPE);
    scatter.count = 0;
    assert_fails(mgk_draw_scatter(&scatter, &options, scratch_path("none.png")), STATUS_SHAPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_axes_have_one_scale), cmocka_unit_test(panels_have_one_scale),
        cmocka_unit_test(labels_cover_no_point),    cmocka_unit_test(series_have_markers),
        cmocka_unit_test(small_and_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
