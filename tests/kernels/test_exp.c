/* SPDX-License-Identifier: MIT */
/* The vectorisable exponential and tanh against the C library's, in one precision. */
#include <float.h>

#include "kernels/cpu/tanh.h"
#include "test.h"

#if MGK_CPU_REAL == 64
enum { DIGITS = DBL_MANT_DIG };
#else
enum { DIGITS = FLT_MANT_DIG };
#endif

static const double lowest = (double)MGK_EXP_LOWEST, highest = (double)MGK_EXP_HIGHEST;

/* Error in units in the last place of the exact result. */
static double ulps(real x)
{
    long double exact = expl((long double)x);
    int exponent;
    frexpl(exact, &exponent);
    return (double)fabsl(((long double)mgk_exp(x) - exact) / ldexpl(1, exponent - DIGITS));
}

static void is_accurate_over_the_normal_range(void **state)
{
    (void)state;
    const int steps = 1000000;
    for (int i = 0; i <= steps; i++) {
        double part = (double)i / steps;
        real wide = (real)(0.9999999 * (lowest + part * (highest - lowest)));
        real narrow = (real)(2 * part - 1);
        if (!(ulps(wide) <= 2))
            fail_msg("exp(%.17g): %g units in the last place", (double)wide, ulps(wide));
        if (!(ulps(narrow) <= 2))
            fail_msg("exp(%.17g): %g units in the last place", (double)narrow, ulps(narrow));
    }
}

static void special_values_are_exact(void **state)
{
    (void)state;
    assert_true(mgk_exp(0) == 1);
    assert_true(mgk_exp((real)-0.0) == 1);
    assert_true(mgk_exp((real)-INFINITY) == 0);
    assert_true(mgk_exp((real)INFINITY) == (real)INFINITY);
    assert_true(isnan(mgk_exp((real)NAN)));
    assert_true(isnan(mgk_exp((real)-NAN)));
}

static void leaves_the_range_at_its_ends(void **state)
{
    (void)state;
    const real inside_low = (real)(lowest * 0.999999), outside_low = (real)(lowest * 1.000001);
    const real inside_high = (real)(highest * 0.999999), outside_high = (real)(highest * 1.000001);
    assert_true(mgk_exp(inside_low) > 0);
    assert_true(mgk_exp(outside_low) == 0);
    assert_true(isfinite(mgk_exp(inside_high)));
    assert_true(isinf(mgk_exp(outside_high)));
    for (real x = 1000; x < (real)1e30; x *= 10) {
        assert_true(mgk_exp(-x) == 0);
        assert_true(mgk_exp(x) == (real)INFINITY);
    }
}

static void tanh_is_accurate(void **state)
{
    (void)state;
    const int steps = 1000000;
    for (int i = -steps; i <= steps; i++) {
        const real x = (real)(20.0 * i / steps) * (i % 2 ? 1 : (real)0.05);
        const long double exact = tanhl((long double)x);
        if (!(fabsl((long double)mgk_tanh(x) - exact) <= 4 * ldexpl(fabsl(exact), 1 - DIGITS)))
            fail_msg("tanh(%.17g) is %.17g", (double)x, (double)mgk_tanh(x));
    }
    assert_true(mgk_tanh((real)INFINITY) == 1 && mgk_tanh((real)-INFINITY) == -1);
    assert_true(isnan(mgk_tanh((real)NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_accurate_over_the_normal_range),
        cmocka_unit_test(special_values_are_exact),
        cmocka_unit_test(leaves_the_range_at_its_ends),
        cmocka_unit_test(tanh_is_accurate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
