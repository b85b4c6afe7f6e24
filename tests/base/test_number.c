/* Numbers in text: extremes, and text that is not a number. */
#include "test.h"

#include <locale.h>
#include <string.h>

#include "base/number.h"

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
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
