/* SPDX-License-Identifier: MIT */
/* Differences of means: intervals, t tests and Holm's adjustment. */
#include "test.h"

#include <string.h>

#include "analysis/measures/bootstrap.h"

enum { S = 16 };

static const double first[S] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const double steps[S] = {.5, -.2, .9, .1, .3, .8, -.4, .6, .2, .7, -.1, .4, .3, .5, 0, .6};

static mgk_difference compare(size_t a_count, const double *a, size_t b_count, const double *b,
                              bool paired)
{
    const mgk_sample_values of_a = {.count = a_count, .values = a},
                            of_b = {.count = b_count, .values = b};
    mgk_difference out;
    assert_ok(mgk_bootstrap(&of_a, &of_b, 1, paired, 5, 2, &out));
    return out;
}

/* p of scipy 1.16: ttest_rel, and ttest_ind without equal variances. */
static void probabilities_are_those_of_t_tests(void **state)
{
    (void)state;
    double second[S], third[12];
    for (size_t i = 0; i < S; i++)
        second[i] = first[i] + steps[i];
    for (size_t i = 0; i < 12; i++)
        third[i] = 1.5 * first[i] + 4;
    mgk_difference d = compare(S, first, S, second, true);
    assert_close(d.value, 0.325, 1e-14, 0);
    assert_close(d.p, 0.0032269567372932646, 0, 1e-11);
    assert_int_equal(d.samples, S);
    d = compare(S, first, S, second, false);
    assert_close(d.value, 0.325, 1e-14, 0);
    assert_close(d.p, 0.848491907130282, 0, 1e-12);
    d = compare(S, first, 12, third, false);
    assert_close(d.value, 5.25, 1e-14, 0);
    assert_close(d.p, 0.01384326249105922, 0, 1e-11);
    assert_int_equal(d.samples, 12);
}

/* The percentiles of a mean of 16 values with standard error 0.09 are near 1.96 of them away. */
static void intervals_hold_the_difference(void **state)
{
    (void)state;
    double second[S], squares = 0;
    for (size_t i = 0; i < S; i++) {
        second[i] = first[i] + steps[i];
        squares += (steps[i] - 0.325) * (steps[i] - 0.325);
    }
    const double error = sqrt(squares / S / S); /* of draws from these samples */
    const mgk_difference d = compare(S, first, S, second, true);
    const mgk_difference apart = compare(S, first, S, second, false);
    assert_close(d.low, 0.325 - 1.96 * error, 0.15 * error, 0);
    assert_close(d.high, 0.325 + 1.96 * error, 0.15 * error, 0);
    /* Without pairs the spread of the samples themselves counts. */
    assert_true(apart.low < -2 && apart.high > 2);
    const mgk_difference again = compare(S, first, S, second, true);
    assert_memory_equal(&again, &d, sizeof(d));
}

/* Of one sample, and of differences that do not vary, nothing can be tested. */
static void some_differences_have_no_p(void **state)
{
    (void)state;
    double second[S];
    for (size_t i = 0; i < S; i++)
        second[i] = first[i] + 100;
    const mgk_difference shifted = compare(S, first, S, second, true);
    assert_true(shifted.value == 100 && shifted.low == 100 && isnan(shifted.p));
    for (size_t i = 0; i < S; i++)
        second[i] = first[i] * (1 + 0x1p-52); /* the same but for rounding */
    assert_true(isnan(compare(S, first, S, second, true).p));
    for (size_t i = 0; i < S; i++)
        second[i] = first[i] * (1 + 0x1p-36);
    assert_true(compare(S, first, S, second, true).p < 1);
    const mgk_difference one = compare(1, first, 1, second, true);
    assert_true(one.value > 0 && isnan(one.p) && isnan(one.low) && isnan(one.high));
    assert_true(isnan(compare(1, first, 5, second, false).p));
    const mgk_difference same = compare(S, first, S, first, true);
    assert_true(same.value == 0 && same.low == 0 && same.high == 0 && isnan(same.p));
}

/* A sample weighs as much as the things that it is the mean of: Σ w x / Σ w, whose variance is that
 * of a ratio. Equal weights change nothing. */
static void weights_are_those_of_means(void **state)
{
    (void)state;
    double zeros[S] = {0}, alike[S], weights[S], sum = 0, mean = 0, squares = 0;
    for (size_t i = 0; i < S; i++) {
        alike[i] = 3;
        weights[i] = 1 + (double)(i * 7 % 5);
        sum += weights[i];
        mean += weights[i] * steps[i];
    }
    mean /= sum;
    for (size_t i = 0; i < S; i++)
        squares += weights[i] * weights[i] * (steps[i] - mean) * (steps[i] - mean);
    const double error = sqrt(squares) / sum; /* of draws from these samples */
    const mgk_sample_values a = {.count = S, .values = zeros},
                            same = {.count = S, .values = steps, .weights = alike},
                            b = {.count = S, .values = steps, .weights = weights};
    mgk_difference d, plain = compare(S, zeros, S, steps, true);
    assert_ok(mgk_bootstrap(&a, &same, 1, true, 5, 2, &d));
    assert_close(d.value, plain.value, 1e-15, 0);
    assert_close(d.low, plain.low, 1e-15, 0);
    assert_close(d.high, plain.high, 1e-15, 0);
    assert_close(d.p, plain.p, 0, 1e-12);
    assert_ok(mgk_bootstrap(&a, &b, 1, true, 5, 2, &d));
    assert_close(d.value, mean, 1e-15, 0);
    assert_true(fabs(mean - plain.value) > 0.01);
    assert_close(d.low, mean - 1.96 * error, 0.2 * error, 0);
    assert_close(d.high, mean + 1.96 * error, 0.2 * error, 0);
    const double t = mean / error / sqrt(S / (S - 1.0));
    const mgk_difference three = d;
    assert_true(t > 2 && three.p < 0.05);
    /* Weights that are multiplied by a number are the same weights. */
    for (size_t i = 0; i < S; i++)
        weights[i] *= 8;
    assert_ok(mgk_bootstrap(&a, &b, 1, true, 5, 2, &d));
    assert_close(d.p, three.p, 0, 1e-12);
    assert_int_equal(d.samples, S);
    /* Differences that do not vary cannot be tested, whatever their weights. */
    for (size_t i = 0; i < S; i++) {
        alike[i] = 0.1;
        weights[i] = 3 + (double)i;
    }
    const mgk_sample_values constant = {.count = S, .values = alike, .weights = weights};
    assert_ok(mgk_bootstrap(&a, &constant, 1, true, 5, 2, &d));
    assert_true(isnan(d.p));
}

/* A sample without a value in one of the inputs is in neither mean of pairs. */
static void missing_values_are_left_out(void **state)
{
    (void)state;
    double a[S], b[S];
    memcpy(a, first, sizeof(a));
    for (size_t i = 0; i < S; i++)
        b[i] = first[i] + 1 + steps[i] / 8;
    a[3] = b[7] = NAN;
    const mgk_difference d = compare(S, a, S, b, true);
    assert_int_equal(d.samples, S - 2);
    assert_close(d.value, 1 + (0.325 * S - steps[3] - steps[7]) / 8 / (S - 2), 1e-13, 0);
    for (size_t i = 0; i < S; i++)
        b[i] = NAN;
    const mgk_difference none = compare(S, a, S, b, true);
    assert_true(isnan(none.value) && isnan(none.p) && isnan(none.low) && none.samples == 0);
}

/* 0.01, 0.02, 0.03, 0.5 of four tests: times 4, 3, 2, 1, and never below the one before. */
static void holm_keeps_the_order(void **state)
{
    (void)state;
    const double p[] = {0.03, NAN, 0.01, 0.5, 0.02}, expected[] = {0.06, NAN, 0.04, 0.5, 0.06};
    mgk_difference d[5] = {{.p_holm = NAN}, {.p_holm = NAN}, {.p_holm = NAN}};
    for (size_t i = 0; i < 5; i++)
        d[i].p = p[i];
    assert_ok(mgk_adjust_by_holm(5, d));
    for (size_t i = 0; i < 5; i++) {
        if (isnan(expected[i]))
            assert_true(isnan(d[i].p_holm));
        else
            assert_close(d[i].p_holm, expected[i], 1e-15, 0);
    }
    d[0].p = 0.9;
    assert_ok(mgk_adjust_by_holm(5, d));
    assert_true(d[0].p_holm == 1 && d[3].p_holm == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_those_of_t_tests),
        cmocka_unit_test(intervals_hold_the_difference),
        cmocka_unit_test(some_differences_have_no_p),
        cmocka_unit_test(weights_are_those_of_means),
        cmocka_unit_test(missing_values_are_left_out),
        cmocka_unit_test(holm_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
