/* SPDX-License-Identifier: MIT */
/* Maps of cells with numbers and trees, and bands around curves. */
#include "plots/charts/maps.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plots/canvas/style.h"
#include "plots/charts/curves.h"
#include "read_png.h"
#include "test.h"

enum { MOST = 64 };

static const int32_t numbers[MOST] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

static mgk_map map_of(const double *values, size_t rows, size_t cols)
{
    return (mgk_map){.values = values,
                     .rows = rows,
                     .cols = cols,
                     .row_numbers = numbers,
                     .col_numbers = numbers,
                     .row_name = "layer",
                     .col_name = "head"};
}

static mgk_picture_options options_of(bool own_scales)
{
    mgk_picture_options options = mgk_picture_defaults();
    options.force = true;
    options.scaling = SCALING_LINEAR;
    options.range_per_panel = own_scales;
    return options;
}

static png_picture draw(const mgk_maps *maps, bool own_scales)
{
    const mgk_picture_options options = options_of(own_scales);
    assert_ok(mgk_draw_maps(maps, &options, scratch_path("m.png")));
    return read_png(scratch_path("m.png"));
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

/* Nothing touches the edge of the picture, so no text is cut. */
static void assert_margins(const png_picture *picture)
{
    const mgk_rgb white = {255, 255, 255};
    for (size_t i = 0; i < picture->width * picture->height; i++) {
        const size_t x = i % picture->width, y = i / picture->width;
        const bool edge = x < 4 || y < 4 || x + 4 >= picture->width || y + 4 >= picture->height;
        if (edge && memcmp(&picture->pixels[i], &white, sizeof(white)) != 0)
            fail_msg("ink at %zu, %zu of %zu x %zu", x, y, picture->width, picture->height);
    }
}

/* A cell of 96 x 66 pixels; its number covers less than a third of it. */
static void cells_have_their_colors(void **state)
{
    (void)state;
    const double values[] = {0, 0.25, 1, 0.5, NAN, 0.75};
    const mgk_map map = map_of(values, 2, 3);
    const mgk_maps maps = {.maps = &map, .count = 1, .value_name = "value"};
    png_picture picture = draw(&maps, false);
    for (size_t i = 0; i < 6; i++) {
        const mgk_rgb color = mgk_colormap_at(COLORMAP_VIRIDIS, values[i]);
        const size_t found = count_color(&picture, color);
        if (isnan(values[i]))
            assert_int_equal(found, 0); /* hatched, and not in the colour of numbers that fail */
        else
            assert_in_range(found, 96 * 66 * 2 / 3, 96 * 66 + 4000);
    }
    assert_true(count_color(&picture, (mgk_rgb){20, 20, 20}) > 100); /* numbers on light cells */
    assert_margins(&picture);
    mgk_free(picture.pixels);
}

/* One scale shows that the second map is brighter; scales of their own do not. */
static void scales(void **state)
{
    (void)state;
    const double low[] = {0.1, 0.2}, high[] = {0.3, 0.9};
    const mgk_map list[] = {map_of(low, 1, 2), map_of(high, 1, 2)};
    const mgk_maps maps = {.maps = list, .count = 2, .value_name = "v"};
    const mgk_rgb darkest = mgk_colormap_at(COLORMAP_VIRIDIS, 0),
                  brightest = mgk_colormap_at(COLORMAP_VIRIDIS, 1);
    const size_t cell = 96 * 66 * 2 / 3;
    for (int own = 0; own <= 1; own++) {
        png_picture picture = draw(&maps, own);
        assert_int_equal(count_color(&picture, darkest) / cell, own ? 2 : 1);
        assert_int_equal(count_color(&picture, brightest) / cell, own ? 2 : 1);
        mgk_free(picture.pixels);
    }
}

/* Cells of few rows grow with the label of the bar, so that the map is about as high, up to three
 * times; no white column is left of them, where a pixel of the raster is hundreds wide. */
static void few_cells_are_large(void **state)
{
    (void)state;
    static const char *const labels[] = {"v", "a label that is long"};
    const double values[] = {0, 1};
    const mgk_map map = map_of(values, 1, 2);
    const mgk_rgb darkest = mgk_colormap_at(COLORMAP_VIRIDIS, 0), white = {255, 255, 255};
    size_t before = 0;
    for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
        const mgk_maps maps = {.maps = &map, .count = 1, .value_name = labels[i]};
        png_picture picture = draw(&maps, false);
        const size_t found = count_color(&picture, darkest);
        assert_in_range(found, before + 1, 9 * 96 * 66 + 4000);
        before = found;
        size_t gaps = 0; /* places of the first cell beside white */
        for (size_t k = 0; k + 1 < picture.width * picture.height; k++)
            gaps += memcmp(&picture.pixels[k], &white, sizeof(white)) == 0 &&
                    memcmp(&picture.pixels[k + 1], &darkest, sizeof(darkest)) == 0;
        assert_int_equal(gaps, 0);
        mgk_free(picture.pixels);
    }
}

/* A scale may include more than the values: then 0.5 of 0 to 1 has the middle colour. */
static void scale_includes(void **state)
{
    (void)state;
    const double values[] = {0.25, 0.5};
    const mgk_map map = map_of(values, 1, 2);
    const mgk_maps maps = {.maps = &map, .count = 1, .value_name = "value", .least = 0, .most = 1};
    png_picture picture = draw(&maps, false);
    for (size_t i = 0; i < 2; i++)
        assert_true(count_color(&picture, mgk_colormap_at(COLORMAP_VIRIDIS, values[i])) >=
                    96 * 66 * 2 / 3);
    mgk_free(picture.pixels);
}

/* A tree of three leaves, whose lines are in the area right of the map. */
static void trees(void **state)
{
    (void)state;
    const double values[] = {0, 0.1, 0.5, 0.1, 0, 0.5, 0.5, 0.5, 0};
    const mgk_tree_node nodes[] = {{0, 1, 0.1}, {3, 2, 0.5}};
    const size_t rows[] = {0, 1, 2};
    const mgk_dendrogram tree = {nodes, rows, 3}, none = {NULL, rows, 3};
    mgk_map map = map_of(values, 3, 3);
    map.self = map.ordered = true;
    mgk_maps maps = {.maps = &map, .trees = &tree, .count = 1, .value_name = "distance"};
    png_picture with = draw(&maps, false);
    maps.trees = &none;
    png_picture without = draw(&maps, false);
    assert_int_equal(with.width, without.width);
    size_t differ = 0, leftmost = with.width;
    for (size_t i = 0; i < with.width * with.height; i++)
        if (memcmp(&with.pixels[i], &without.pixels[i], sizeof(mgk_rgb)) != 0) {
            differ++;
            leftmost = i % with.width < leftmost ? i % with.width : leftmost;
        }
    assert_true(differ > 300);
    assert_true(leftmost > 3 * 96); /* the map is the same */
    assert_margins(&with);
    mgk_free(with.pixels);
    mgk_free(without.pixels);
}

/* From one cell to 48 layers of 64 heads, with long titles and notes: the text is never cut, and
 * the picture stays near a page's width. */
static void sizes(void **state)
{
    (void)state;
    static const size_t rows[] = {1, 1, 6, 48}, cols[] = {1, 64, 1, 64};
    static double values[48 * MOST];
    const char *const titles[] = {"a model with a long name, as some people have them", "b", "c"};
    const char *const notes[] = {
        "a note of so many words that it needs several lines below a narrow picture of one cell",
        "another"};
    for (size_t i = 0; i < 48 * MOST; i++)
        values[i] = (double)(i % 97) / 10;
    for (size_t s = 0; s < 4; s++)
        for (size_t count = 1; count <= 3; count += 2) {
            const mgk_map map = map_of(values, rows[s], cols[s]);
            const mgk_map list[] = {map, map, map};
            const mgk_maps maps = {.maps = list,
                                   .titles = titles,
                                   .count = count,
                                   .value_name = "value in some unit",
                                   .notes = notes,
                                   .note_count = 2};
            for (int own = 0; own <= 1; own++) {
                if (rows[s] * cols[s] == 1 && own)
                    continue;
                png_picture picture = draw(&maps, own);
                assert_margins(&picture);
                assert_in_range(picture.width, 300, 2300);
                mgk_free(picture.pixels);
            }
        }
}

static size_t height_of(const mgk_map *list, size_t count)
{
    static const char *const titles[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    png_picture picture =
        draw(&(mgk_maps){.maps = list, .titles = titles, .count = count, .value_name = "v"}, false);
    assert_margins(&picture);
    mgk_free(picture.pixels);
    return picture.height;
}

/* Long titles change neither the arrangement nor the size of cells; they shrink and lose their
 * middle instead. */
static void long_titles_take_no_room(void **state)
{
    (void)state;
    enum { COUNT = 24, HEADS = 16 };
    static double values[HEADS * HEADS];
    const mgk_dendrogram tree = {NULL, NULL, HEADS};
    mgk_map list[COUNT];
    mgk_dendrogram trees[COUNT];
    const char *brief[COUNT], *lengthy[COUNT];
    for (size_t i = 0; i < HEADS * HEADS; i++)
        values[i] = (double)(i % 7);
    for (size_t i = 0; i < COUNT; i++) {
        list[i] = map_of(values, HEADS, HEADS);
        trees[i] = tree;
        brief[i] = "A, layer 1";
        lengthy[i] = "bert-base-uncased-finetuned-squad-and-then-on-something-else-seed-1, layer 1";
    }
    for (int tree_count = 0; tree_count <= 1; tree_count++) {
        mgk_maps maps = {.maps = list,
                         .titles = brief,
                         .trees = tree_count ? trees : NULL,
                         .count = COUNT,
                         .value_name = "value"};
        png_picture usual = draw(&maps, false);
        maps.titles = lengthy;
        png_picture picture = draw(&maps, false);
        assert_margins(&picture);
        assert_int_equal(picture.height, usual.height);
        assert_in_range(picture.width, usual.width, 2100);
        mgk_free(usual.pixels);
        mgk_free(picture.pixels);
    }
}

/* Small values have numbers in cells, with three digits of the greatest; smaller ones than the axes
 * write without a power of ten have none. */
static void small_values_have_numbers(void **state)
{
    (void)state;
    const double small[] = {0.061, 0.0549}, tiny[] = {0.0004, 0.0002};
    mgk_map map = map_of(small, 1, 2);
    mgk_map_look look = {.style = mgk_style_of(MGK_TEXT_SIZE)};
    mgk_map_measure_numbers(&map, 1, &look);
    assert_int_equal(look.numbers[0].decimals, 4);
    assert_true(look.numbers[0].widest > 0);
    map.values = tiny;
    mgk_map_measure_numbers(&map, 1, &look);
    assert_true(look.numbers[0].widest == 0 && look.numbers[2].widest == 0);
}

/* Values that are nearly alike have more digits where they fit, five at most. */
static void alike_values_have_more_digits(void **state)
{
    static const struct {
        double values[3];
        int usual, finer;
    } rows[] = {
        {{5.889, 5.916, 5.901}, 2, 3},     {{1009.41, 1010.2, 1009.9}, 0, 1},
        {{0.98, 0.02, 0.5}, 3, 3},         {{-0.61, -0.6101, -0.6102}, 3, 5},
        {{62.1, 62.1, 62.1}, 1, 1},        {{10000, 10000.5, 10001}, 0, 0},
        {{0.061, 0.0609999, 0.061}, 4, 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mgk_map map = map_of(rows[i].values, 1, 3);
        mgk_map_look look = {.style = mgk_style_of(MGK_TEXT_SIZE), .cell_height = 100};
        mgk_map_measure_numbers(&map, 1, &look);
        assert_int_equal(look.numbers[0].decimals, rows[i].usual);
        assert_int_equal(look.numbers[MGK_MAP_NUMBERS - 1].decimals, rows[i].finer);
        /* In cells that are just too narrow for some, those with a decimal less are drawn. */
        for (int k = 1; k < MGK_MAP_NUMBERS; k++) {
            if (look.numbers[k].decimals == look.numbers[k - 1].decimals)
                continue;
            assert_true(look.numbers[k].widest > look.numbers[k - 1].widest);
            look.cell_width = look.numbers[k].widest * look.style.small.size / 0.86 * 0.999;
            assert_int_equal(mgk_map_numbers_that_fit(&look)->decimals,
                             look.numbers[k - 1].decimals);
        }
        look.cell_width = 1000;
        assert_int_equal(mgk_map_numbers_that_fit(&look)->decimals, rows[i].finer);
    }
}

/* Each model has rows of its own, in whatever order its maps come; a map that is missing leaves its
 * place empty. */
static void models_have_rows(void **state)
{
    (void)state;
    enum { COUNT = 6 };
    const double values[COUNT] = {1, 2, 3, 4, 5, 6};
    const mgk_map_place by_model[] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}},
                        by_item[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}};
    const char *const titles[] = {"A 0", "A 1", "A 2", "B 0", "B 1", "B 2"};
    mgk_map list[COUNT], sorted[COUNT];
    const char *sorted_titles[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        list[i] = map_of(&values[i], 1, 1);
    for (size_t i = 0; i < COUNT; i++) {
        const size_t from = by_item[i].model * 3 + by_item[i].item;
        sorted[i] = list[from];
        sorted_titles[i] = titles[from];
    }
    mgk_maps maps = {
        .maps = list, .places = by_model, .titles = titles, .count = COUNT, .value_name = "v"};
    png_picture first = draw(&maps, false);
    maps.count--;
    list[4].values = &values[5]; /* the greatest value stays */
    png_picture hole = draw(&maps, false);
    maps = (mgk_maps){.maps = sorted,
                      .places = by_item,
                      .titles = sorted_titles,
                      .count = COUNT,
                      .value_name = "v"};
    png_picture second = draw(&maps, false);
    assert_int_equal(second.width, first.width);
    assert_int_equal(second.height, first.height);
    assert_memory_equal(second.pixels, first.pixels,
                        first.width * first.height * sizeof(*first.pixels));
    assert_int_equal(hole.width, first.width);
    assert_int_equal(hole.height, first.height);
    assert_true(first.width > first.height); /* three columns, two rows */
    mgk_free(first.pixels);
    mgk_free(second.pixels);
    mgk_free(hole.pixels);
}

/* A row of maps is as high as its own highest map, but no lower than the name beside it. */
static void low_rows_take_less_room(void **state)
{
    (void)state;
    enum { HIGH = 24, COUNT = 8 };
    static double values[HIGH * HIGH];
    mgk_map high[COUNT], low[COUNT];
    for (size_t i = 0; i < HIGH * HIGH; i++)
        values[i] = (double)i;
    for (size_t i = 0; i < COUNT; i++) {
        high[i] = low[i] = map_of(values, HIGH, HIGH);
        if (i >= COUNT / 2)
            low[i].rows = low[i].cols = 1;
    }
    const size_t tall = height_of(high, COUNT), mixed = height_of(low, COUNT);
    assert_in_range(mixed, tall / 2, tall * 8 / 10);
}

/* Sixteen models have colours of their own. */
static void colors_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < 16; i++)
        for (size_t k = 0; k < i; k++) {
            const mgk_rgb a = mgk_series_color(i), b = mgk_series_color(k);
            assert_true(abs(a.r - b.r) + abs(a.g - b.g) + abs(a.b - b.b) > 40);
        }
}

/* Draws maps of n x n with trees. */
static png_picture draw_trees(size_t n, const mgk_map_place *places, size_t count)
{
    enum { MAPS = 48 };
    static double values[MOST * MOST];
    static mgk_map list[MAPS];
    static mgk_dendrogram list_of_trees[MAPS];
    static const char *titles[MAPS];
    mgk_tree_node nodes[MOST];
    size_t rows[MOST];
    for (size_t i = 0; i < n * n; i++)
        values[i] = (double)((i / n + i % n) % 64) / 64;
    for (size_t i = 0; i < n; i++) {
        rows[i] = i;
        nodes[i] = (mgk_tree_node){i == 0 ? 0 : n + i - 1, i + 1, (double)i / (double)n};
    }
    for (size_t i = 0; i < count; i++) {
        list[i] = map_of(values, n, n);
        list[i].self = list[i].ordered = true;
        list_of_trees[i] = (mgk_dendrogram){nodes, rows, n};
        titles[i] = "layer 48";
    }
    const mgk_maps maps = {.maps = list,
                           .places = places,
                           .titles = titles,
                           .trees = list_of_trees,
                           .count = count,
                           .value_name = "distance"};
    return draw(&maps, false);
}

/* 48 maps of 64 x 64 with trees fit on a page. */
static void many_trees(void **state)
{
    (void)state;
    png_picture picture = draw_trees(MOST, NULL, 48);
    assert_margins(&picture);
    assert_in_range(picture.width, 1500, 2300);
    assert_in_range(picture.height, 1000, 3300);
    mgk_free(picture.pixels);
}

/* Six layers of three models, with 8 heads: three maps are beside each other, so that heads have
 * numbers. Those of six models would be too high. */
static void heads_have_numbers(void **state)
{
    (void)state;
    mgk_map_place places[36];
    for (size_t i = 0; i < 36; i++)
        places[i] = (mgk_map_place){i / 6, i % 6};
    png_picture one = draw_trees(8, NULL, 6), few = draw_trees(8, places, 18),
                many = draw_trees(8, places, 36);
    assert_int_equal(few.width, one.width); /* as many columns */
    assert_true(few.height > 2 * one.height);
    assert_true(many.width > many.height);
    mgk_free(one.pixels);
    mgk_free(few.pixels);
    mgk_free(many.pixels);
}

static void nothing_to_draw(void **state)
{
    (void)state;
    const double gaps[] = {NAN, NAN};
    const mgk_map map = map_of(gaps, 1, 2), empty = map_of(gaps, 0, 2);
    mgk_maps maps = {.maps = &map, .count = 1, .value_name = "value"};
    const mgk_picture_options options = options_of(false);
    assert_fails(mgk_draw_maps(&maps, &options, scratch_path("n.png")), STATUS_NUMERIC);
    maps.maps = &empty;
    assert_fails(mgk_draw_maps(&maps, &options, scratch_path("n.png")), STATUS_SHAPE);
    assert_int_equal(scratch_count(), 0);
}

/* The band is as large as it should be, and is interrupted at a point without it. */
static void bands(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4}, y[] = {1, 1, 1, 1}, upper[] = {2, 2, 2, 2};
    double lower[] = {0, 0, 0, 0};
    mgk_curve curve = {.x = x, .y = y, .lower = lower, .upper = upper, .count = 4};
    const mgk_curves curves = {.curves = &curve, .count = 1, .whole_x = true};
    mgk_picture_options options = options_of(false);
    size_t areas[3];
    for (int i = 0; i < 3; i++) {
        if (i == 1)
            lower[1] = NAN; /* leaves layers 3 to 4, and a line at layer 1 */
        curve.lower = i == 2 ? NULL : lower;
        curve.upper = i == 2 ? NULL : upper;
        assert_ok(mgk_draw_curves(&curves, &options, scratch_path("c.png")));
        png_picture picture = read_png(scratch_path("c.png"));
        areas[i] = count_color(&picture, (mgk_rgb){204, 227, 240});
        mgk_free(picture.pixels);
    }
    assert_in_range(areas[0], 600 * 600, 1100 * 800);
    assert_in_range(areas[1], areas[0] * 3 / 10, areas[0] * 4 / 10);
    assert_int_equal(areas[2], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cells_have_their_colors, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(scales, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(scale_includes, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(trees, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(sizes, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(long_titles_take_no_room, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(few_cells_are_large, scratch_setup, scratch_teardown),
        cmocka_unit_test(small_values_have_numbers),
        cmocka_unit_test(alike_values_have_more_digits),
        cmocka_unit_test_setup_teardown(models_have_rows, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(heads_have_numbers, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(low_rows_take_less_room, scratch_setup, scratch_teardown),
        cmocka_unit_test(colors_differ),
        cmocka_unit_test_setup_teardown(many_trees, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(nothing_to_draw, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(bands, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
