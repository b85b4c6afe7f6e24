/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plots/scales/colormap.h"
#include "test.h"

static void assert_color(mgk_rgb color, int r, int g, int b)
{
    assert_int_equal(color.r, r);
    assert_int_equal(color.g, g);
    assert_int_equal(color.b, b);
}

/* CIE lightness of an sRGB colour, 0 to 100. */
static double lightness(mgk_rgb color)
{
    double component[3] = {color.r / 255.0, color.g / 255.0, color.b / 255.0};
    for (int i = 0; i < 3; i++)
        component[i] = component[i] <= 0.04045 ? component[i] / 12.92
                                               : pow((component[i] + 0.055) / 1.055, 2.4);
    double y = 0.2126 * component[0] + 0.7152 * component[1] + 0.0722 * component[2];
    return y > 0.008856 ? 116 * cbrt(y) - 16 : 903.3 * y;
}

static void known_values(void **state)
{
    (void)state;
    assert_color(mgk_colormap_at(COLORMAP_VIRIDIS, 0), 68, 1, 84);
    assert_color(mgk_colormap_at(COLORMAP_VIRIDIS, 0.5), 33, 144, 140);
    assert_color(mgk_colormap_at(COLORMAP_VIRIDIS, 1), 253, 231, 37);
    assert_color(mgk_colormap_at(COLORMAP_MAGMA, 0), 0, 0, 4);
    assert_color(mgk_colormap_at(COLORMAP_MAGMA, 1), 252, 253, 191);
    assert_color(mgk_colormap_at(COLORMAP_CIVIDIS, 0), 0, 34, 78);
    assert_color(mgk_colormap_at(COLORMAP_GREY, 0.5), 128, 128, 128);
    assert_color(mgk_colormap_at(COLORMAP_COOLWARM, 0.5), 221, 221, 221);
}

static void outside_is_clamped_and_nan_marked(void **state)
{
    (void)state;
    assert_color(mgk_colormap_at(COLORMAP_VIRIDIS, -3), 68, 1, 84);
    assert_color(mgk_colormap_at(COLORMAP_VIRIDIS, INFINITY), 253, 231, 37);
    for (int map = 0; map < COLORMAP_COUNT; map++) {
        mgk_rgb marked = mgk_colormap_at((mgk_colormap)map, NAN), expected = MGK_NAN_COLOR;
        assert_memory_equal(&marked, &expected, sizeof(marked));
        for (int i = 0; i <= 1000; i++) {
            mgk_rgb color = mgk_colormap_at((mgk_colormap)map, i / 1000.0);
            assert_true(memcmp(&color, &expected, sizeof(color)) != 0);
        }
    }
}

/* The maps are even in CAM02-UCS, whose lightness differs from CIE's by a few units. */
static void sequential_lightness_rises_evenly(void **state)
{
    (void)state;
    for (int map = 0; map < COLORMAP_COOLWARM; map++) {
        double first = lightness(mgk_colormap_at((mgk_colormap)map, 0));
        double range = lightness(mgk_colormap_at((mgk_colormap)map, 1)) - first;
        double previous = first;
        assert_true(range > 60);
        for (int i = 1; i <= 64; i++) {
            double here = lightness(mgk_colormap_at((mgk_colormap)map, i / 64.0));
            assert_true(here > previous);
            assert_close(here, first + range * i / 64, 6, 0);
            previous = here;
        }
    }
}

static void coolwarm_is_symmetric_in_lightness(void **state)
{
    (void)state;
    for (int i = 0; i <= 16; i++) {
        double left = lightness(mgk_colormap_at(COLORMAP_COOLWARM, i / 32.0));
        double right = lightness(mgk_colormap_at(COLORMAP_COOLWARM, 1 - i / 32.0));
        assert_close(left, right, 3, 0);
    }
}

static void names(void **state)
{
    (void)state;
    static const char *const known[COLORMAP_COUNT] = {"viridis", "magma", "cividis", "grey",
                                                      "coolwarm"};
    for (int map = 0; map < COLORMAP_COUNT; map++) {
        mgk_colormap parsed;
        assert_ok(mgk_colormap_parse(known[map], &parsed));
        assert_int_equal(parsed, map);
    }
    mgk_colormap untouched = COLORMAP_GREY;
    assert_fails(mgk_colormap_parse("jet", &untouched), STATUS_USAGE);
    assert_non_null(strstr(mgk_fail_message(), "cividis"));
    assert_int_equal(untouched, COLORMAP_GREY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(outside_is_clamped_and_nan_marked),
        cmocka_unit_test(sequential_lightness_rises_evenly),
        cmocka_unit_test(coolwarm_is_symmetric_in_lightness),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
