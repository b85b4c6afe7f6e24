/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "analysis/counting/float_format.h"

static void formats_are_recognised(void **state)
{
    (void)state;
    const double f64[] = {0.1, 0.5};
    const double f32[] = {(double)0.1f, (double)0.7f, 0};
    const double f16[] = {0x1.998p-4, 0x1.004p-9, 1};  /* 0.1 in f16, and 11 significant bits */
    const double bf16[] = {0x1.9ap-4, 0x1.02p-100, 0}; /* 8 significant bits */
    assert_int_equal(mgk_float_format_detect(2, f64), MGK_FLOAT_F64);
    assert_int_equal(mgk_float_format_detect(3, f32), MGK_FLOAT_F32);
    assert_int_equal(mgk_float_format_detect(3, f16), MGK_FLOAT_F16);
    assert_int_equal(mgk_float_format_detect(3, bf16), MGK_FLOAT_BF16);
}

static void one_finer_entry_decides(void **state)
{
    (void)state;
    const double entries[] = {0x1.9ap-4, 0x1.9ap-3, -0.1};
    assert_int_equal(mgk_float_format_detect(2, entries), MGK_FLOAT_BF16);
    assert_int_equal(mgk_float_format_detect(3, entries), MGK_FLOAT_F64);
}

static void powers_of_two_prove_nothing(void **state)
{
    (void)state;
    const double identity[] = {1, 0, 0, 1, 0.25, -0.0};
    assert_int_equal(mgk_float_format_detect(6, identity), MGK_FLOAT_F64);
    assert_int_equal(mgk_float_format_detect(0, NULL), MGK_FLOAT_F64);
}

static void names_and_roundoffs(void **state)
{
    (void)state;
    assert_string_equal(mgk_float_format_names[MGK_FLOAT_BF16], "bf16");
    assert_true(mgk_float_format_roundoff(MGK_FLOAT_F32) == 0x1p-24);
    assert_true(mgk_float_format_roundoff(MGK_FLOAT_F16) == 0x1p-11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_recognised),
        cmocka_unit_test(one_finer_entry_decides),
        cmocka_unit_test(powers_of_two_prove_nothing),
        cmocka_unit_test(names_and_roundoffs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
