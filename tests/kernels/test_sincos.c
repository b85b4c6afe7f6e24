/* SPDX-License-Identifier: MIT */
/* The vectorisable sine and cosine against the C library's, in one precision. */
#include <float.h>

#include "kernels/cpu/sincos.h"
#include "test.h"

#if MGK_CPU_REAL == 64
static const double unit = DBL_EPSILON;
#else
static const double unit = FLT_EPSILON;
#endif

static void assert_both(real x, real sine, real cosine)
{
    const double s = (double)(sinl((long double)x) - (long double)sine);
    const double c = (double)(cosl((long double)x) - (long double)cosine);
    if (!(fabs(s) <= 2 * unit) || !(fabs(c) <= 2 * unit))
        fail_msg("x = %.17g: sine %.17g, cosine %.17g", (double)x, (double)sine, (double)cosine);
}

static void is_accurate_up_to_the_limit(void **state)
{
    (void)state;
    const int steps = 1000000;
    for (int i = -steps; i <= steps; i++) {
        const double part = (double)i / steps;
        const real sizes[] = {(real)part, (real)(100 * part),
                              (real)((double)MGK_SINCOS_LIMIT * part)};
        for (int k = 0; k < 3; k++) {
            real sine, cosine;
            mgk_sincos(sizes[k], &sine, &cosine);
            assert_both(sizes[k], sine, cosine);
        }
    }
    real sine, cosine;
    mgk_sincos(0, &sine, &cosine);
    assert_true(sine == 0 && cosine == 1);
}

/* Near multiples of π/2 the smaller of the two has an absolute error. */
static void is_accurate_where_quarters_meet(void **state)
{
    (void)state;
    for (int n = -2000; n <= 2000; n++)
        for (int side = -1; side <= 1; side++) {
            const double edge = n * 0.78539816339744830962 * (1 + side * 4 * unit);
            real sine, cosine;
            mgk_sincos((real)edge, &sine, &cosine);
            assert_both((real)edge, sine, cosine);
        }
}

static void rows_take_any_size(void **state)
{
    (void)state;
    real x[37], sine[37], cosine[37];
    for (int large = 0; large < 2; large++) {
        for (int i = 0; i < 37; i++)
            x[i] = (real)((i - 18) * 0.37);
        if (large) {
            x[3] = (real)1e9;
            x[36] = (real)-1e20;
        }
        mgk_sincos_row(37, x, sine, cosine);
        for (int i = 0; i < 37; i++)
            assert_both(x[i], sine[i], cosine[i]);
        mgk_sincos_row(37, x, x, cosine);
        assert_memory_equal(x, sine, sizeof x);
    }
    x[0] = (real)NAN;
    x[1] = (real)INFINITY;
    mgk_sincos_row(2, x, sine, cosine);
    for (int i = 0; i < 2; i++)
        assert_true(isnan(sine[i]) && isnan(cosine[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_accurate_up_to_the_limit),
        cmocka_unit_test(is_accurate_where_quarters_meet),
        cmocka_unit_test(rows_take_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
