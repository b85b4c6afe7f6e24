/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plots/scales/axes.h"
#include "plots/scales/bins.h"
#include "plots/scales/colorbar.h"
#include "plots/scales/ticks.h"
#include "test.h"

#include <math.h>

static void assert_labels(mgk_ticks ticks, size_t count, const char *const *labels)
{
    assert_int_equal(ticks.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(ticks.tick[i].label, labels[i]);
}

#define LABELS(ticks, ...)                                                         \
    assert_labels((ticks), sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), \
                  (const char *const[]){__VA_ARGS__})

static void linear(void **state)
{
    (void)state;
    LABELS(mgk_ticks_linear(0, 1, 6), "0.0", "0.2", "0.4", "0.6", "0.8", "1.0");
    LABELS(mgk_ticks_linear(-30, 260, 5), "0", "100", "200");
    LABELS(mgk_ticks_linear(-0.5, 0.5, 3), "\u22120.5", "0.0", "0.5");
    LABELS(mgk_ticks_linear(0, 1.5e6, 4), "0", "5\u00d710\u2075", "10\u2076", "1.5\u00d710\u2076");
    LABELS(mgk_ticks_linear(7, 7, 5), "7");
}

static void linear_is_inside_and_bounded(void **state)
{
    (void)state;
    for (double size = 1e-12; size < 1e12; size *= 3.7)
        for (size_t most = 2; most < 10; most++) {
            mgk_ticks ticks = mgk_ticks_linear(-0.3 * size, size, most);
            assert_true(ticks.count >= 1 && ticks.count <= most);
            for (size_t i = 0; i < ticks.count; i++) {
                assert_true(ticks.tick[i].value >= -0.3 * size * (1 + 1e-6));
                assert_true(ticks.tick[i].value <= size * (1 + 1e-6));
                assert_true(i == 0 || strcmp(ticks.tick[i].label, ticks.tick[i - 1].label) != 0);
            }
        }
}

static void logarithmic(void **state)
{
    (void)state;
    LABELS(mgk_ticks_log(1e-3, 1, 5), "10\u207b\u00b3", "10\u207b\u00b2", "10\u207b\u00b9",
           "10\u2070");
    LABELS(mgk_ticks_log(1e-6, 1, 4), "10\u207b\u2076", "10\u207b\u2074", "10\u207b\u00b2",
           "10\u2070");
    LABELS(mgk_ticks_log(120, 2500, 6), "200", "500", "1000", "2000");
    LABELS(mgk_ticks_log(0.0015, 0.15, 3), "10\u207b\u00b2", "10\u207b\u00b9"); /* six of 1, 2, 5 */
    LABELS(mgk_ticks_log(1, 1, 6), "1");
    /* One notation: 0.001 next to 5x10^-4 would be inconsistent. */
    LABELS(mgk_ticks_log(3e-4, 3e-3, 6), "5\u00d710\u207b\u2074", "10\u207b\u00b3",
           "2\u00d710\u207b\u00b3");
    assert_int_equal(mgk_ticks_log(0, 10, 6).count, 1);
}

static void labels(void **state)
{
    (void)state;
    char label[MGK_TICK_LABEL];
    mgk_tick_label(0, 2, label);
    assert_string_equal(label, "0");
    mgk_tick_label(0.00125, 2, label);
    assert_string_equal(label, "0.0013");
    mgk_tick_label(-250, 2, label);
    assert_string_equal(label, "\u2212250");
    mgk_tick_label(6.94e-5, 2, label);
    assert_string_equal(label, "6.9\u00d710\u207b\u2075");
    mgk_tick_label(3.96e-7, 2, label);
    assert_string_equal(label, "4\u00d710\u207b\u2077");
    mgk_tick_label(2e10, 1, label);
    assert_string_equal(label, "2\u00d710\u00b9\u2070");
    mgk_tick_label(0.5, 3, label);
    assert_string_equal(label, "0.5");
}

static void round_steps(void **state)
{
    (void)state;
    assert_close(mgk_round_step(1), 1, 0, 1e-12);
    assert_close(mgk_round_step(1.1), 2, 0, 1e-12);
    assert_close(mgk_round_step(0.03), 0.05, 0, 1e-12);
    assert_close(mgk_round_step(700), 1000, 0, 1e-12);
}

static void axes_never_are_empty(void **state)
{
    (void)state;
    mgk_axis axis = mgk_axis_over(5, 5, false, true, 5);
    assert_true(axis.low < 5 && axis.high > 5);
    axis = mgk_axis_over(0, 0, false, false, 5);
    assert_true(axis.low < 0 && axis.high > 0);
    axis = mgk_axis_over(5, 5, true, false, 5);
    assert_true(axis.low > 0 && axis.low < 5 && axis.high > 5);
    axis = mgk_axis_over(0.3, 8.1, false, true, 6);
    assert_close(axis.low, 0, 1e-12, 0);
    assert_close(axis.high, 10, 1e-12, 0);
}

/* Ranges without a step between two numbers: those that differ by rounding, that are smaller than
 * normal numbers, and that exceed the largest. */
static void odd_ranges_have_ticks(void **state)
{
    (void)state;
    static const double ranges[][2] = {{5e-324, 1e-323},
                                       {0, 5e-324},
                                       {1 - 2.3e-16, 1},
                                       {-1e-300, 1e-323},
                                       {1e30 * (1 + 1e-15), 1e30 * (1 + 2e-15)},
                                       {-1.7e308, 1.7e308},
                                       {1e308, 1.79e308},
                                       {-1e300 * (1 + 2e-11), -1e300}};
    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
        for (size_t most = 2; most <= 8; most++) {
            const double low = ranges[i][0], high = ranges[i][1];
            const mgk_ticks all[] = {mgk_ticks_linear(low, high, most),
                                     mgk_axis_over(low, high, false, true, most).ticks,
                                     mgk_axis_over(low, high, false, false, most).ticks};
            for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
                assert_in_range(all[k].count, 1, MGK_TICKS_MAX);
                for (size_t t = 0; t < all[k].count; t++) {
                    const char *label = all[k].tick[t].label;
                    assert_true(isfinite(all[k].tick[t].value));
                    assert_true(strlen(label) > 0 && strlen(label) < MGK_TICK_LABEL - 1);
                    assert_true(t == 0 || all[k].tick[t].value > all[k].tick[t - 1].value);
                }
            }
        }
    assert_int_equal(mgk_ticks_linear(1 - 2.3e-16, 1, 5).count, 1);
}

static void bins(void **state)
{
    (void)state;
    double shares[64];
    mgk_rank_bins one = mgk_bins_over(17, 17, 0);
    assert_close(one.low, 14.5, 0, 0);
    assert_close(one.width, 1, 0, 0);
    assert_int_equal(one.count, 5);
    mgk_bin_shares(one, (const double[]){17, 17}, 2, shares);
    assert_close(shares[2], 100, 1e-12, 0);
    assert_close(mgk_bins_over(0, 1, 0).low, -0.5, 0, 0);
    mgk_rank_bins many = mgk_bins_over(3, 256, 0);
    assert_close(many.width, 20, 0, 1e-12);
    assert_close(many.low, -0.5, 0, 0);
    assert_int_equal(many.count, 13);
    mgk_bin_shares(many, (const double[]){3, 19, 20, 256}, 4, shares);
    assert_close(shares[0], 50, 1e-12, 0);
    assert_close(shares[1], 25, 1e-12, 0);
    assert_close(shares[12], 25, 1e-12, 0);
}

/* No bin extends beyond N, every rank has a bin, and the last one ends at N if N is near. */
/* Bins of real numbers hold both ends; NaN is no value. */
static void bins_of_real_numbers(void **state)
{
    (void)state;
    static const double values[] = {0.31, 0.5, 0.75, 1, 1, NAN};
    double shares[64];
    const mgk_rank_bins some = mgk_real_bins_over(0.31, 1);
    assert_true(some.low <= 0.31 && some.low + some.width * (double)some.count >= 1 - 1e-12);
    assert_in_range(some.count, 10, 40);
    mgk_bin_shares(some, values, 6, shares);
    assert_close(shares[some.count - 1], 40, 1e-9, 0);
    assert_close(shares[0], 20, 1e-9, 0);
    double sum = 0;
    for (size_t b = 0; b < some.count; b++)
        sum += shares[b];
    assert_close(sum, 100, 1e-9, 0);
    const mgk_rank_bins same = mgk_real_bins_over(1, 1), zero = mgk_real_bins_over(0, 0);
    mgk_bin_shares(same, values + 3, 2, shares);
    assert_true(same.count <= 2 && shares[0] + shares[same.count - 1] * (same.count > 1) == 100);
    assert_true(zero.count >= 1 && zero.width > 0);
    mgk_bin_shares(some, values + 5, 1, shares);
    assert_true(shares[0] == 0);
}

static void bins_end_at_the_largest_rank(void **state)
{
    (void)state;
    static const double numbers[] = {1, 2, 5, 9, 100, 256, 1000, 1024};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        for (double high = 0; high <= numbers[i]; high = ceil(1.3 * high + 1))
            for (double low = 0; low <= high; low = ceil(1.7 * low + 1)) {
                double most = numbers[i], values[2] = {low, high}, shares[64];
                mgk_rank_bins bins = mgk_bins_over(low, high, most);
                double end = bins.low + bins.width * (double)bins.count;
                assert_true(bins.count <= 32 && end <= most + 0.5);
                mgk_bin_shares(bins, values, 2, shares);
                double sum = 0;
                for (size_t b = 0; b < bins.count; b++)
                    sum += shares[b];
                assert_close(sum, 100, 1e-9, 0);
                if (most - high <= high - low)
                    assert_close(end, most + 0.5, 0, 0);
            }
    /* Ranks far below N keep narrow bins. */
    assert_close(mgk_bins_over(3, 16, 1024).width, 1, 0, 0);
}

static void rank_axes_have_whole_ticks(void **state)
{
    (void)state;
    for (double width = 1; width < 3000; width = 1.4 * width + 0.3)
        for (size_t most = 2; most < 9; most++) {
            mgk_axis axis = mgk_axis_whole(7.5, 7.5 + width, most);
            assert_true(axis.ticks.count <= most);
            for (size_t i = 0; i < axis.ticks.count; i++)
                assert_close(axis.ticks.tick[i].value, round(axis.ticks.tick[i].value), 0, 0);
        }
    /* Labels of any length below a frame do not overlap. */
    const mgk_style style = mgk_style_of(MGK_TEXT_SIZE);
    for (double high = 3; high < 4e4; high *= 1.21) {
        mgk_axis axis = mgk_axis_whole_across(-0.5, floor(high) + 0.5, 300, style);
        for (size_t i = 1; i < axis.ticks.count; i++) {
            const mgk_tick *left = &axis.ticks.tick[i - 1], *right = &axis.ticks.tick[i];
            double distance = 300 * (right->value - left->value) / (axis.high - axis.low);
            double half = (mgk_text_width(left->label, style.small) +
                           mgk_text_width(right->label, style.small)) /
                          2;
            assert_true(distance > half + 4);
        }
    }
}

/* Every colour bar has two ticks or more, which are apart, in its range, and have different labels:
 * between less than two no colour can be read. */
static void colour_bars_can_be_read(void **state)
{
    (void)state;
    const mgk_style style = mgk_style_of(MGK_TEXT_SIZE);
    for (double height = 120; height < 700; height *= 1.7)
        for (double low = -5; low < 0.1; low = low < -1e-4 ? low / 7 : low + 0.03)
            for (double range = 1e-4; range < 1e3; range *= 1.37)
                for (int kind = 0; kind < 3; kind++) {
                    mgk_scale scale = {.scaling = kind == 2 ? SCALING_LOG : SCALING_LINEAR,
                                       .symmetric = kind == 1,
                                       .low = kind == 2   ? fabs(low) + 1e-3
                                              : kind == 1 ? 0
                                                          : low};
                    scale.high = scale.low + range;
                    const mgk_colorbar bar = {.scale = &scale, .style = style};
                    const mgk_ticks ticks = mgk_colorbar_ticks(&bar, height);
                    assert_true(ticks.count >= 2);
                    for (size_t i = 0; i < ticks.count; i++) {
                        const double at = mgk_scale_at(&scale, ticks.tick[i].value);
                        assert_true(at >= 0 && at <= 1);
                        for (size_t k = 0; k < i; k++) {
                            const double other = mgk_scale_at(&scale, ticks.tick[k].value);
                            assert_string_not_equal(ticks.tick[i].label, ticks.tick[k].label);
                            if (kind < 2)
                                assert_true(height * fabs(at - other) >= style.small.size);
                        }
                    }
                }
    const mgk_scale constant = {.scaling = SCALING_LINEAR, .low = 2, .high = 2};
    const mgk_colorbar bar = {.scale = &constant, .style = style};
    assert_int_equal(mgk_colorbar_ticks(&bar, 200).count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear),
        cmocka_unit_test(linear_is_inside_and_bounded),
        cmocka_unit_test(logarithmic),
        cmocka_unit_test(labels),
        cmocka_unit_test(round_steps),
        cmocka_unit_test(axes_never_are_empty),
        cmocka_unit_test(odd_ranges_have_ticks),
        cmocka_unit_test(bins),
        cmocka_unit_test(bins_end_at_the_largest_rank),
        cmocka_unit_test(bins_of_real_numbers),
        cmocka_unit_test(rank_axes_have_whole_ticks),
        cmocka_unit_test(colour_bars_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
