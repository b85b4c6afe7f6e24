/* SPDX-License-Identifier: MIT */
/* Text in other scripts: shaped, in its own direction, and visible if no font has it. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "plots/canvas/canvas.h"
#include "plots/canvas/fit.h"
#include "read_png.h"
#include "test.h"

static const mgk_font font = {40, false, {0, 0, 0}};

static void draw_to(const char *name, const char *text, mgk_anchor anchor)
{
    mgk_canvas *canvas;
    assert_ok(mgk_canvas_open(scratch_path(name), 400, 100, true, &canvas));
    mgk_canvas_text(canvas, 200, 60, text, font, anchor);
    assert_ok(mgk_canvas_save(canvas, NULL, 0));
    mgk_canvas_close(canvas);
}

/* The left and right end of the ink of a text that starts at 200, and its amount. */
typedef struct ink {
    size_t left, right, count;
} ink;

static ink ink_of(const png_picture *picture)
{
    ink found = {picture->width, 0, 0};
    for (size_t i = 0; i < picture->width * picture->height; i++) {
        size_t x = i % picture->width;
        if (picture->pixels[i].g > 128)
            continue;
        found.left = x < found.left ? x : found.left;
        found.right = x > found.right ? x : found.right;
        found.count++;
    }
    return found;
}

static png_picture draw(const char *text, mgk_anchor anchor)
{
    draw_to("t.png", text, anchor);
    return read_png(scratch_path("t.png"));
}

static bool look_alike(const char *a, const char *b)
{
    png_picture first = draw(a, ANCHOR_START), second = draw(b, ANCHOR_START);
    bool same =
        memcmp(first.pixels, second.pixels, first.width * first.height * sizeof(mgk_rgb)) == 0;
    mgk_free(first.pixels);
    mgk_free(second.pixels);
    return same;
}

/* "shalom" has its first letter at the right, like letters that are forced there. */
static void right_to_left(void **state)
{
    (void)state;
    assert_true(look_alike("\u05e9\u05dc\u05d5\u05dd", "\u202d\u05dd\u05d5\u05dc\u05e9\u202c"));
    assert_false(look_alike("\u05e9\u05dc\u05d5\u05dd", "\u202d\u05e9\u05dc\u05d5\u05dd\u202c"));
    /* The ellipsis of a cut label is at the end in reading order. */
    assert_true(look_alike("\u05e9\u05dc\u2026", "\u202d\u2026\u05dc\u05e9\u202c"));
}

/* Arabic letters join and become narrower. */
static void letters_are_joined(void **state)
{
    (void)state;
    double joined = mgk_text_width("\u0633\u0633\u0633", font);
    double apart = mgk_text_width("\u0633\u200c\u0633\u200c\u0633", font);
    assert_true(joined > 0 && joined < 0.9 * apart);
}

/* The ink lies within the measured width from its anchor, for either direction. */
static void text_lies_within_its_width(void **state)
{
    (void)state;
    static const char *const texts[] = {"\u05e9\u05dc\u05d5\u05dd",
                                        "\u0645\u0631\u062d\u0628\u0627", "word", "\U0010fffd",
                                        "\u0645 2 x \u05e9"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        for (mgk_anchor anchor = ANCHOR_START; anchor <= ANCHOR_END; anchor++) {
            double width = mgk_text_width(texts[i], font);
            double start = 200 - width * (double)anchor / 2;
            png_picture picture = draw(texts[i], anchor);
            ink found = ink_of(&picture);
            assert_true(found.count > 20);
            assert_in_range(found.left, start - 4, start + 8);
            assert_in_range(found.right, start + width - 10, start + width + 4);
            mgk_free(picture.pixels);
        }
}

/* A character that no font has is drawn as its code, not left out. */
static void a_character_without_glyph_is_visible(void **state)
{
    (void)state;
    assert_true(mgk_text_width("a\U0010fffdb", font) > mgk_text_width("ab", font) + 10);
    assert_false(look_alike("\U0010fffd", "\U0010fffc"));
}

static void one_line_whatever_is_in_it(void **state)
{
    (void)state;
    assert_true(mgk_text_width("", font) == 0);
    png_picture picture = draw("a\nb\rc\u2029d", ANCHOR_MIDDLE);
    for (size_t i = 0; i < picture.width * picture.height; i++)
        if (picture.pixels[i].g < 128)
            assert_in_range(i / picture.width, 20, 75);
    mgk_free(picture.pixels);
}

/* The user's language does not influence the glyphs. */
static void languages_draw_the_same(void **state)
{
    (void)state;
    static const char *const text = "\u76f4\u9aa8 \u0431\u0434";
    png_picture first = draw(text, ANCHOR_START);
    setenv("PANGO_LANGUAGE", "ja:sr", 1);
    png_picture second = draw(text, ANCHOR_START);
    unsetenv("PANGO_LANGUAGE");
    assert_memory_equal(first.pixels, second.pixels, first.width * first.height * sizeof(mgk_rgb));
    mgk_free(first.pixels);
    mgk_free(second.pixels);
}

/* Drawing again gives the same bytes; in an SVG, numbers continue within a process. */
static void bytes_are_reproducible(void **state)
{
    (void)state;
    static const char *const names[] = {"t.png", "t.pdf"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        mgk_mapping first, second;
        draw_to(names[i], "\u0645\u0631\u062d\u0628\u0627 \u4e2d", ANCHOR_START);
        assert_ok(mgk_map_file(scratch_path(names[i]), &first));
        draw_to(names[i], "\u0645\u0631\u062d\u0628\u0627 \u4e2d", ANCHOR_START);
        assert_ok(mgk_map_file(scratch_path(names[i]), &second));
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);
        mgk_unmap_file(&first);
        mgk_unmap_file(&second);
    }
}

/* Of a text that is too long for its width or its place, the ends are kept, in whole characters. */
static void middles_give_way(void **state)
{
    (void)state;
    static const char text[] = "\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc, 11";
    char out[64], small[12];
    mgk_fit_middle(text, font, 1e4, out, sizeof(out));
    assert_string_equal(out, text);
    for (double width = mgk_text_width(text, font) - 1; width > 60; width -= 7) {
        mgk_fit_middle(text, font, width, out, sizeof(out));
        const char *cut = strstr(out, "\u2026");
        assert_non_null(cut);
        const char *end = cut + strlen("\u2026");
        assert_true(mgk_text_width(out, font) <= width);
        assert_int_equal(mgk_utf8_valid(out, strlen(out)), strlen(out));
        assert_memory_equal(out, text, (size_t)(cut - out));
        assert_string_equal(end, text + strlen(text) - strlen(end));
    }
    mgk_fit_middle(text, font, 1e4, small, sizeof(small));
    assert_string_equal(small, "\u00e4\u00f6\u2026, 11");
    mgk_fit_middle(text, font, 0, out, sizeof(out));
    assert_string_equal(out, "\u2026");
    assert_true(mgk_fit_font(font, text, 1e4).size == font.size);
    assert_true(mgk_text_width(text, mgk_fit_font(font, text, 100)) < 104);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(right_to_left),
        TEST(letters_are_joined),
        TEST(text_lies_within_its_width),
        TEST(a_character_without_glyph_is_visible),
        TEST(one_line_whatever_is_in_it),
        TEST(languages_draw_the_same),
        TEST(bytes_are_reproducible),
        TEST(middles_give_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
