/* SPDX-License-Identifier: MIT */
/* Numbers in text: extremes, and text that is not a number. */
#include "test.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"
#include "base/reference_real.h"

static void test_integers(void **state)
{
    (void)state;
    const char *end;
    int64_t value;
    uint64_t natural;
    assert_true(mgk_read_int64("-9223372036854775808", &end, &value));
    assert_true(value == INT64_MIN && !*end);
    assert_true(mgk_read_int64("9223372036854775807,", &end, &value));
    assert_true(value == INT64_MAX);
    assert_string_equal(end, ",");
    assert_true(mgk_read_int64("+007", &end, &value));
    assert_int_equal(value, 7);
    assert_true(mgk_read_uint64("18446744073709551615", &end, &natural));
    assert_true(natural == UINT64_MAX && !*end);
    static const char *const bad[] = {
        "", "-", "+", " 1", "\t1", "x", "--1", "0x1", "- 1", ".5", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        value = 5;
        natural = 5;
        assert_false(mgk_read_int64(bad[i], &end, &value));
        assert_false(mgk_read_uint64(bad[i], &end, &natural));
        assert_true(value == 5 && natural == 5);
    }
    assert_false(mgk_read_uint64("-1", &end, &natural));
    assert_false(mgk_read_int64("9223372036854775808", &end, &value));
}

static void test_reals(void **state)
{
    (void)state;
    const char *end;
    double value;
    assert_true(mgk_read_real("-1.5e3 ", &end, &value));
    assert_true(value == -1500);
    assert_string_equal(end, " ");
    assert_true(mgk_read_real(".25", &end, &value));
    assert_true(value == 0.25 && !*end);
    assert_true(mgk_read_real("1e-400", &end, &value));
    assert_true(value == 0);
    static const char *const bad[] = {"",   ".",     "e5",   "inf",    "-inf", "nan",
                                      " 1", "1e400", "0x10", "-0X1p3", "--1",  "+"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        value = 5;
        assert_false(mgk_read_real(bad[i], &end, &value));
        assert_true(value == 5);
    }
}

static void test_nouns(void **state)
{
    (void)state;
    assert_string_equal(MGK_NOUN((size_t)1, "matrix", "matrices"), "matrix");
    assert_string_equal(MGK_NOUN(0, "matrix", "matrices"), "matrices");
    assert_string_equal(MGK_NOUN((int64_t)2, "matrix", "matrices"), "matrices");
    assert_string_equal(MGK_NOUN(-1, "matrix", "matrices"), "matrices");
}

/* What mgk_print_real prints. */
static void print_real(double value, char text[REFERENCE_REAL])
{
    memset(text, 0, REFERENCE_REAL);
    FILE *file = fmemopen(text, REFERENCE_REAL, "w");
    assert_non_null(file);
    mgk_print_real(file, value);
    assert_int_equal(fclose(file), 0);
}

/* In locales with a decimal comma, files and command lines still use a point. */
static void test_locale(void **state)
{
    (void)state;
    const char *end;
    double value;
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        skip();
    assert_true(mgk_read_real("1.5", &end, &value));
    assert_true(value == 1.5 && !*end);
    char text[REFERENCE_REAL];
    const double values[] = {1.5, 0x1p-22, 1e15 + 0.25};
    const char *const texts[] = {"1.5", "2.384185791015625e-07", "1000000000000000.2"};
    for (int i = 0; i < 3; i++) {
        print_real(values[i], text);
        assert_string_equal(text, texts[i]);
    }
    setlocale(LC_ALL, "C");
}

static void check_print(double value)
{
    char text[REFERENCE_REAL], expected[REFERENCE_REAL];
    for (int sign = 0; sign < 2; sign++, value = -value) {
        print_real(value, text);
        reference_real(value, expected);
        if (strcmp(text, expected) != 0)
            fail_msg("%a is printed as %s, expected %s", value, text, expected);
    }
}

/* The double and its neighbours. */
static void check_around(double value)
{
    check_print(value);
    if (value < DBL_MAX)
        check_print(nextafter(value, DBL_MAX));
    if (value > 0)
        check_print(nextafter(value, 0));
}

static void test_print_edges(void **state)
{
    (void)state;
    char text[32];
    check_print(0);
    check_around(DBL_MAX);
    check_around(DBL_MIN);
    check_around(1e15 + 0.25); /* the middle of two numbers with 17 digits */
    for (int e = -1074; e < 1024; e++)
        for (int f = 1; f < 64; f += 2)
            if (e + 6 < 1024)
                check_around(ldexp(f, e));
    for (int e = -324; e <= 308; e++)
        for (int digits = 1; digits < 1000; digits += digits < 20 ? 1 : 97) {
            snprintf(text, sizeof(text), "%de%d", digits, e);
            const double value = strtod(text, NULL);
            if (isfinite(value))
                check_around(value);
        }
}

static void test_print_random(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    for (uint64_t i = 0; i < COUNT; i += TEST_STEP * TEST_STEP) {
        const uint64_t bits = mgk_random_u64(3, 0, i);
        double value;
        memcpy(&value, &bits, sizeof(value));
        if (isfinite(value))
            check_print(value);
        check_print(mgk_random_uniform(3, 1, i));
        check_print((float)mgk_random_uniform(3, 2, i));
        check_print((double)(bits >> 11) * 0x1p-30); /* rounding may meet a 5 and nothing behind */
        check_print((double)(bits & 0xFFFFF) / 1000);
        check_print((double)(bits >> 40) * 0x1p-1074);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        double bytes;
        const char *text;
    } cases[] = {{0, "0 bytes"},    {1, "1 byte"},       {999, "999 bytes"},
                 {1000, "1.00 kB"}, {9994, "9.99 kB"},   {9996, "10.0 kB"},
                 {99960, "100 kB"}, {999600, "1.00 MB"}, {24552680000.0, "24.6 GB"},
                 {508e9, "508 GB"}, {1.5e12, "1.50 TB"}, {9.2e18, "9.20 EB"},
                 {2e22, "20000 EB"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[MGK_SIZE_TEXT];
        mgk_size_text(cases[i].bytes, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void shapes_have_no_blanks(void **state)
{
    (void)state;
    const size_t shape[] = {64, 0, 32};
    char text[16];
    mgk_shape_text(3, shape, text, sizeof(text));
    assert_string_equal(text, "[64,0,32]");
    mgk_shape_text(0, NULL, text, sizeof(text));
    assert_string_equal(text, "[]");
    mgk_shape_text(3, shape, text, 6);
    assert_string_equal(text, "[64,0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),     cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_reals),        cmocka_unit_test(test_nouns),
        cmocka_unit_test(test_locale),       cmocka_unit_test(test_print_edges),
        cmocka_unit_test(test_print_random), cmocka_unit_test(shapes_have_no_blanks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
