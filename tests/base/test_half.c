/* SPDX-License-Identifier: MIT */
/* 16-bit floats: each of them, and the values between two. */
#include "test.h"

#include <math.h>

#include "base/half.h"

typedef struct layout {
    int exponent_bits, fraction_bits;
    float (*widen)(uint16_t half);
    uint16_t (*from_float)(float value);
    uint16_t (*from_double)(double value);
} layout;

static const layout layouts[] = {
    {5, 10, mgk_float_from_f16, mgk_f16_from_float, mgk_f16_from_double},
    {8, 7, mgk_float_from_bf16, mgk_bf16_from_float, mgk_bf16_from_double}};

/* The value by definition. */
static double value_of(const layout *l, unsigned half)
{
    const int top = (1 << l->exponent_bits) - 1, bias = top / 2;
    const int exponent = (int)(half >> l->fraction_bits) & top;
    const int fraction = (int)half & ((1 << l->fraction_bits) - 1);
    const double magnitude = exponent == top ? (fraction ? (double)NAN : (double)INFINITY)
                             : exponent == 0 ? ldexp(fraction, 1 - bias - l->fraction_bits)
                                             : ldexp(fraction + (1 << l->fraction_bits),
                                                     exponent - bias - l->fraction_bits);
    return half >> 15 ? -magnitude : magnitude;
}

static void test_every_half(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof(layouts) / sizeof(layouts[0]); k++) {
        const layout *l = &layouts[k];
        for (unsigned half = 0; half < 1 << 16; half++) {
            const double expected = value_of(l, half);
            const float value = l->widen((uint16_t)half);
            if (isnan(expected)) {
                assert_true(isnan(value));
                assert_true(isnan(l->widen(l->from_float(value))));
                assert_true(isnan(l->widen(l->from_double((double)value))));
                continue;
            }
            assert_true((double)value == expected);
            assert_int_equal(signbit(value) != 0, half >> 15);
            assert_int_equal(l->from_float(value), half);
            assert_int_equal(l->from_double(expected), half);
        }
    }
}

/* Halfway between neighbours rounding goes to the even one; one bit off, to the nearer one. */
static void test_between(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof(layouts) / sizeof(layouts[0]); k++) {
        const layout *l = &layouts[k];
        const unsigned infinity = ((1u << l->exponent_bits) - 1) << l->fraction_bits;
        for (unsigned half = 0; half + 1 < infinity; half++) {
            const double middle = (value_of(l, half) + value_of(l, half + 1)) / 2;
            const unsigned even = half + (half & 1);
            assert_int_equal(l->from_double(middle), even);
            assert_int_equal(l->from_double(-middle), even | 0x8000);
            assert_int_equal(l->from_double(nextafter(middle, 0)), half);
            assert_int_equal(l->from_double(nextafter(middle, INFINITY)), half + 1);
            if ((double)(float)middle != middle)
                continue;
            assert_int_equal(l->from_float((float)middle), even);
            assert_int_equal(l->from_float(nextafterf((float)middle, 0)), half);
            assert_int_equal(l->from_float(nextafterf((float)middle, INFINITY)), half + 1);
        }
        assert_int_equal(l->from_double(1e300), infinity);
        assert_int_equal(l->from_double(-1e300), infinity | 0x8000);
        assert_int_equal(l->from_double(1e-300), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_half),
                                       cmocka_unit_test(test_between)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
