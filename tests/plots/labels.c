/* SPDX-License-Identifier: MIT */
/* Labels of matrices are thinned if they do not fit, cut if they are long, and never overlap each
 * other or the edge of the picture. */
#include "plots/charts/labels.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "plots/charts/heatmap_grid.h"
#include "read_png.h"
#include "test.h"

enum { MOST = 400 };

static const char *labels[MOST];

static void fill(size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        labels[i] = text;
}

static void as_many_as_fit(void **state)
{
    (void)state;
    const mgk_style style = mgk_style_of(MGK_TEXT_SIZE);
    fill(MOST, "word");
    assert_null(mgk_labels_measure(NULL, 5, 20, style).texts);
    assert_true(mgk_labels_measure(NULL, 5, 20, style).space == 0);
    for (double pitch = 0.05; pitch < 100; pitch *= 1.3) {
        mgk_labels found = mgk_labels_measure(labels, MOST, pitch, style);
        double step = (double)found.every * pitch;
        assert_true(step >= found.font.size);
        /* As many as fit. */
        assert_true(found.every == 1 || step - pitch < 1.2 * found.font.size);
        assert_true(found.font.size >= 10 && found.font.size <= style.small.size);
        assert_true(found.space > 0 && found.space < 5 * found.font.size);
    }
    assert_int_equal(mgk_labels_measure(labels, MOST, MGK_LABEL_PITCH, style).every, 1);
}

static void long_ones_are_cut(void **state)
{
    (void)state;
    static char text[5000];
    const mgk_style style = mgk_style_of(MGK_TEXT_SIZE);
    memset(text, 'w', sizeof(text) - 1);
    labels[0] = text;
    mgk_labels found = mgk_labels_measure(labels, 1, 30, style);
    assert_true(found.space > 8 * found.font.size && found.space < 10 * found.font.size);
}

/* Draws a grid [L, H, N, N] with these labels in grey: only paper is white. */
static png_picture draw(size_t layers, size_t heads, size_t n, size_t panel)
{
    float *values;
    mgk_heatmap_plan plan;
    assert_ok(mgk_alloc(layers * heads * n * n, sizeof(*values), &values));
    for (size_t i = 0; i < layers * heads * n * n; i++)
        values[i] = (float)(i % 7) / 7;
    const mgk_panels group = {.title = "title",
                              .f32 = values,
                              .layers = layers,
                              .heads = heads,
                              .keys = 1,
                              .rows = n,
                              .cols = n,
                              .labels = labels};
    const mgk_heatmap_grid grid = {.groups = &group,
                                   .group_count = 1,
                                   .panel = 100,
                                   .value_name = "attention",
                                   .row_name = "query",
                                   .col_name = "key"};
    mgk_picture_options options = mgk_picture_defaults();
    options.panel = panel;
    options.range_per_panel = true;
    options.force = true;
    assert_ok(mgk_heatmap_measure(&grid, &options, &plan));
    mgk_heatmap_free(&plan);
    assert_ok(mgk_draw_heatmap_grid(&grid, &options, scratch_path("labels.png")));
    mgk_free(values);
    return read_png(scratch_path("labels.png"));
}

static bool is_ink(const png_picture *picture, size_t x, size_t y)
{
    mgk_rgb pixel = picture->pixels[y * picture->width + x];
    return pixel.r < 250 || pixel.g < 250 || pixel.b < 250;
}

static size_t ink_of_column(const png_picture *picture, size_t x)
{
    size_t count = 0;
    for (size_t y = 0; y < picture->height; y++)
        count += is_ink(picture, x, y);
    return count;
}

static void assert_empty_margin(const png_picture *picture)
{
    enum { MARGIN = 6 };
    for (size_t y = 0; y < picture->height; y++)
        for (size_t x = 0; x < picture->width; x++)
            if (x < MARGIN || y < MARGIN || x >= picture->width - MARGIN ||
                y >= picture->height - MARGIN)
                assert_false(is_ink(picture, x, y));
}

static void nothing_is_cut_off(void **state)
{
    (void)state;
    static const char *const texts[] = {"[CLS]",
                                        "internationalisationally",
                                        "\xe6\x9d\xb1\xe4\xba\xac",
                                        "\xf0\x9f\x98\x80\xf0\x9f\x8f\xb4\xe2\x80\x8d",
                                        "e\xcc\x81\xcc\x81\xcc\x81",
                                        "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
                                        "",
                                        "\xe2\x90\xa3",
                                        "jgq",
                                        "\x01\x02\xff"};
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
    for (size_t n = 1; n < MOST; n = 3 * n + 4)
        for (size_t panel = 0; panel <= 50; panel += 50) {
            for (size_t i = 0; i < n; i++)
                labels[i] = texts[i % TEXTS];
            png_picture picture = draw(2, 3, n, panel);
            assert_empty_margin(&picture);
            mgk_free(picture.pixels);
        }
}

/* Rows of ink and gaps between them: as many labels as rows, without overlap. */
static void none_over_another(void **state)
{
    (void)state;
    enum { N = 9, PANEL = N * MGK_LABEL_PITCH };
    fill(N, "XXXX");
    png_picture picture = draw(1, 1, N, PANEL);
    /* The left side of the frame is the first column with ink along the whole panel. */
    size_t frame = 0;
    while (ink_of_column(&picture, frame) < PANEL)
        frame++;
    size_t runs = 0;
    bool inside = false;
    for (size_t y = 0; y < picture.height; y++) {
        bool ink = false;
        for (size_t x = frame - 40; x < frame - 4; x++)
            ink = ink || is_ink(&picture, x, y);
        runs += ink && !inside;
        inside = ink;
    }
    assert_int_equal(runs, N);
    mgk_free(picture.pixels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_fit),
        cmocka_unit_test(long_ones_are_cut),
        cmocka_unit_test(nothing_is_cut_off),
        cmocka_unit_test(none_over_another),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
