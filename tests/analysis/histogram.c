/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/histogram.h"

static void quartiles_interpolate(void **state)
{
    (void)state;
    size_t values[] = {9, 1, 4, 2};
    mgk_sort_values(4, values);
    mgk_summary summary = mgk_summarize(4, values);
    assert_int_equal(summary.count, 4);
    assert_close(summary.mean, 4, 0, 0);
    assert_close(summary.quartile[0], 1.75, 0, 0);
    assert_close(summary.quartile[1], 3, 0, 0);
    assert_close(summary.quartile[2], 5.25, 0, 0);
}

static void one_value_and_none(void **state)
{
    (void)state;
    size_t value = 7;
    mgk_summary summary = mgk_summarize(1, &value);
    assert_close(summary.quartile[2], 7, 0, 0);
    mgk_bins bins = mgk_choose_bins(1, &value, MGK_BINS_MAX);
    assert_int_equal(bins.left, 7);
    assert_int_equal(bins.width, 1);
    assert_int_equal(bins.count, 1);
    assert_true(isnan(mgk_summarize(0, NULL).mean));
    assert_int_equal(mgk_choose_bins(0, NULL, MGK_BINS_MAX).count, 0);
}

/* For any spread, all values fall into bins, and the bins are few. */
static void bins_hold_every_value(void **state)
{
    (void)state;
    for (size_t range = 1; range < 5000; range = range * 3 / 2 + 1)
        for (size_t bins_max = 1; bins_max <= MGK_BINS_MAX; bins_max += 13) {
            size_t values[101], counts[MGK_BINS_MAX] = {0}, sum = 0;
            for (size_t i = 0; i < 101; i++)
                values[i] = 50 + i * range / 100;
            mgk_bins bins = mgk_choose_bins(101, values, bins_max);
            assert_in_range(bins.count, 1, bins_max);
            mgk_count_bins(bins, 101, values, counts);
            for (size_t k = 0; k < bins.count; k++)
                sum += counts[k];
            assert_int_equal(sum, 101);
            assert_true(counts[0] > 0 && counts[bins.count - 1] > 0);
        }
}

/* 1000 values, IQR 500 (nearly): width 2 * 500 / 10 = 100. */
static void width_follows_the_spread(void **state)
{
    (void)state;
    size_t values[1000], outside[] = {0, 99, 1100, 5000}, counts[10] = {0};
    for (size_t i = 0; i < 1000; i++)
        values[i] = 100 + i;
    mgk_bins bins = mgk_choose_bins(1000, values, MGK_BINS_MAX);
    assert_int_equal(bins.width, 100);
    assert_int_equal(bins.count, 10);
    mgk_count_bins(bins, 4, outside, counts);
    mgk_count_bins(bins, 1000, values, counts);
    for (size_t k = 0; k < 10; k++)
        assert_int_equal(counts[k], 100);
}

static void text_is_what_it_should_be(void **state)
{
    (void)state;
    size_t values[] = {3, 3, 3, 3, 4, 6}, size;
    char *text;
    FILE *file = open_memstream(&text, &size);
    assert_ok(mgk_print_histogram(file, "layer 2", 6, values, 12, 34));
    fclose(file);
    assert_string_equal(text, "layer 2: 6 matrices, mean 3.7, median 3, quartiles 3 to 3.75\n"
                              "            3         4  ########\n"
                              "            4         1  ##\n"
                              "            5         0  \n"
                              "            6         1  ##\n");
    free(text);
}

static void text_of_nothing_and_of_wide_bins(void **state)
{
    (void)state;
    size_t values[] = {0, 4096}, size;
    char *text;
    FILE *file = open_memstream(&text, &size);
    assert_ok(mgk_print_histogram(file, "empty", 0, NULL, 12, 80));
    assert_ok(mgk_print_histogram(file, "wide", 2, values, 1, 0));
    fclose(file);
    assert_string_equal(text, "empty: 0 matrices\n"
                              "wide: 2 matrices, mean 2048.0, median 2048, quartiles 1024 to 3072\n"
                              "    0 -  4096         2  #\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quartiles_interpolate),
        cmocka_unit_test(one_value_and_none),
        cmocka_unit_test(bins_hold_every_value),
        cmocka_unit_test(width_follows_the_spread),
        cmocka_unit_test(text_is_what_it_should_be),
        cmocka_unit_test(text_of_nothing_and_of_wide_bins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
