/* SPDX-License-Identifier: MIT */
/* A character that the font of pictures lacks is drawn from another font, if the machine
 * has one. */
#include <pango/pangocairo.h>

#include "base/memory.h"
#include "plots/canvas/canvas.h"
#include "read_png.h"
#include "test.h"

static const char *const characters[] = {"\u4e2d", "\u56fd"};

static bool some_font_has(const char *text)
{
    PangoContext *context = pango_font_map_create_context(pango_cairo_font_map_get_default());
    PangoLayout *layout = pango_layout_new(context);
    pango_layout_set_text(layout, text, -1);
    bool found = pango_layout_get_unknown_glyphs_count(layout) == 0;
    g_object_unref(layout);
    g_object_unref(context);
    return found;
}

/* Pixels of ink within the inner half of the em, which is empty in the box of a missing glyph. */
static size_t inner_ink(const char *text)
{
    const mgk_font font = {100, false, {0, 0, 0}};
    mgk_canvas *canvas;
    size_t count = 0;
    assert_ok(mgk_canvas_open(scratch_path("t.png"), 100, 120, true, &canvas));
    mgk_canvas_text(canvas, 50, 90, text, font, ANCHOR_MIDDLE);
    assert_ok(mgk_canvas_save(canvas, NULL, 0));
    mgk_canvas_close(canvas);
    png_picture picture = read_png(scratch_path("t.png"));
    for (size_t y = 35; y < 75; y++)
        for (size_t x = 30; x < 70; x++)
            count += picture.pixels[y * picture.width + x].g < 128;
    mgk_free(picture.pixels);
    return count;
}

static void chinese_is_drawn(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        if (!some_font_has(characters[i]))
            skip();
    size_t first = inner_ink(characters[0]), second = inner_ink(characters[1]);
    assert_true(first > 50 && second > 50 && first != second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chinese_is_drawn, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
