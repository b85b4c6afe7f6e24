/* SPDX-License-Identifier: MIT */
#include "store/schema/convert.h"
#include "test.h"

/* binary16 by definition. */
static double half_value(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent == 0    ? ldexp(fraction, -24)
                       : exponent == 31 ? (fraction ? NAN : INFINITY)
                                        : ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

static uint16_t from_double(double value)
{
    uint16_t half;
    mgk_convert_reals(STORE_F64, STORE_F16, 1, &value, &half);
    return half;
}

static uint16_t from_float(float value)
{
    uint16_t half;
    mgk_convert_reals(STORE_F32, STORE_F16, 1, &value, &half);
    return half;
}

static void every_half_is_kept(void **state)
{
    (void)state;
    for (unsigned half = 0; half <= 0xffff; half++) {
        double value = half_value((uint16_t)half);
        if (isnan(value))
            continue;
        assert_int_equal(from_double(value), half);
        assert_int_equal(from_float((float)value), half);
    }
}

/* Between every two neighbours a tie rounds to the even one, any other value to the nearer one. */
static void rounds_to_nearest_even(void **state)
{
    (void)state;
    for (unsigned half = 0; half < 0x7bff; half++) {
        uint16_t low = (uint16_t)half, high = (uint16_t)(half + 1);
        uint16_t even = half & 1 ? high : low;
        double middle = (half_value(low) + half_value(high)) / 2;
        float middle_single = (float)middle;
        assert_int_equal(from_double(middle), even);
        assert_int_equal(from_float(middle_single), even);
        assert_int_equal(from_double(-middle), even | 0x8000);
        assert_int_equal(from_double(nextafter(middle, INFINITY)), high);
        assert_int_equal(from_double(nextafter(middle, 0)), low);
        assert_int_equal(from_float(nextafterf(middle_single, INFINITY)), high);
        assert_int_equal(from_float(nextafterf(middle_single, 0)), low);
    }
}

static void extremes(void **state)
{
    (void)state;
    assert_int_equal(from_double(nextafter(65520, 0)), 0x7bff);
    assert_int_equal(from_float(65520), 0x7c00);
    assert_int_equal(from_double(1e300), 0x7c00);
    assert_int_equal(from_double(-INFINITY), 0xfc00);
    assert_int_equal(from_double(1e-300), 0);
    assert_int_equal(from_double(-0.0), 0x8000);
    assert_true(isnan(half_value(from_double(NAN))));
    assert_true(isnan(half_value(from_float(NAN))));
}

static void single_and_double(void **state)
{
    (void)state;
    const double wide[] = {1.0 / 3, -2, 1e300};
    const float single[] = {0.1f, -3};
    float narrowed[3];
    double widened[2];
    mgk_convert_reals(STORE_F64, STORE_F32, 3, wide, narrowed);
    mgk_convert_reals(STORE_F32, STORE_F64, 2, single, widened);
    assert_true(narrowed[0] == 1.0f / 3 && narrowed[1] == -2 && isinf(narrowed[2]));
    assert_true(widened[0] == (double)0.1f && widened[1] == -3);
}

/* Every half converts to its value. */
static void halves_are_widened(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= 0xffff; bits++) {
        const uint16_t half = (uint16_t)bits;
        float single;
        double wide, expected = half_value(half);
        mgk_convert_reals(STORE_F16, STORE_F32, 1, &half, &single);
        mgk_convert_reals(STORE_F16, STORE_F64, 1, &half, &wide);
        if (isnan(expected))
            assert_true(isnan(single) && isnan(wide));
        else
            assert_true((double)single == expected && wide == expected &&
                        !signbit(single) == !signbit(expected));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_is_kept), cmocka_unit_test(rounds_to_nearest_even),
        cmocka_unit_test(extremes),           cmocka_unit_test(single_and_double),
        cmocka_unit_test(halves_are_widened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
