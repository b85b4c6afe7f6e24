/* SPDX-License-Identifier: MIT */
/* Quantiles lie between the order statistics around them. */
#include "test.h"

#include <float.h>
#include <math.h>

#include "base/order.h"

static void values_are_sorted(void **state)
{
    (void)state;
    double values[] = {3, -1, INFINITY, 3, 0, -INFINITY};
    const double sorted[] = {-INFINITY, -1, 0, 3, 3, INFINITY};
    mgk_sort_reals(values, 6);
    for (int i = 0; i < 6; i++)
        assert_true(values[i] == sorted[i]);
    mgk_sort_reals(NULL, 0);
}

static void quantiles_interpolate(void **state)
{
    (void)state;
    const double sorted[] = {1, 2, 4, 16};
    assert_true(mgk_quantile(sorted, 4, 0) == 1);
    assert_true(mgk_quantile(sorted, 4, 0.25) == 1.75);
    assert_true(mgk_quantile(sorted, 4, 0.5) == 3);
    assert_true(mgk_quantile(sorted, 4, 0.75) == 7);
    assert_true(mgk_quantile(sorted, 4, 1) == 16);
    assert_true(mgk_quantile(sorted, 1, 0.7) == 1);
    assert_true(isnan(mgk_quantile(NULL, 0, 0.5)));
}

/* What stands behind a value, or far below another, does not spoil it. */
static void extremes_stay_apart(void **state)
{
    (void)state;
    const double wide[] = {-DBL_MAX, DBL_MAX}, open[] = {0, 1, INFINITY};
    assert_true(mgk_quantile(wide, 2, 0.5) == 0);
    assert_true(mgk_quantile(open, 3, 0.5) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_sorted),
        cmocka_unit_test(quantiles_interpolate),
        cmocka_unit_test(extremes_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
