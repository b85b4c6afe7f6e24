/* SPDX-License-Identifier: MIT */
#include "plots/scales/scale.h"
#include "plots/scales/colorbar.h"
#include "test.h"

static mgk_status fit(mgk_scale_rule rule, const double *values, size_t count, mgk_scale *scale)
{
    mgk_sample sample;
    assert_ok(mgk_sample_open(count, &sample));
    mgk_sample_add(&sample, values, count);
    mgk_status status = mgk_scale_fit(rule, &sample, scale);
    mgk_sample_close(&sample);
    return status;
}

#define FIT(rule, ...)                                                                           \
    fit((rule), (const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double), \
        &scale)

static const mgk_scale_rule linear = {.scaling = SCALING_LINEAR};
static const mgk_scale_rule logarithmic = {.scaling = SCALING_LOG};
static const mgk_scale_rule percentile = {.scaling = SCALING_PERCENTILE};

static void linear_spans_the_finite_values(void **state)
{
    (void)state;
    mgk_scale scale;
    assert_ok(FIT(linear, 3, NAN, -1, INFINITY, 1));
    assert_close(mgk_scale_at(&scale, -1), 0, 0, 0);
    assert_close(mgk_scale_at(&scale, 0), 0.25, 1e-15, 0);
    assert_close(mgk_scale_at(&scale, 3), 1, 0, 0);
    assert_close(mgk_scale_at(&scale, 7), 1, 0, 0);
    assert_true(isnan(mgk_scale_at(&scale, NAN)));
    assert_true(isnan(mgk_scale_at(&scale, -INFINITY)));
    assert_ok(FIT(linear, -1.7e308, 1.7e308));
    assert_close(mgk_scale_at(&scale, 0), 0.5, 1e-15, 0);
}

static void log_takes_its_floor(void **state)
{
    (void)state;
    mgk_scale scale;
    mgk_scale_rule rule = {.scaling = SCALING_LOG, .floor = 1e-4};
    assert_ok(FIT(rule, 0, 1e-9, 1e-2, 1));
    assert_close(mgk_scale_at(&scale, 1e-2), 0.5, 1e-12, 0);
    assert_close(mgk_scale_at(&scale, 1), 1, 0, 0);
    assert_close(mgk_scale_at(&scale, 1e-9), 0, 0, 0);
    assert_close(mgk_scale_at(&scale, 0), 0, 0, 0);
}

static void log_chooses_its_floor(void **state)
{
    (void)state;
    mgk_scale scale;
    assert_ok(FIT(logarithmic, 0, 0, 1e-3, 1));
    assert_close(scale.low, 1e-3, 0, 1e-15);
    assert_true(scale.clipped);
    assert_ok(FIT(logarithmic, 1e-3, 1));
    assert_false(scale.clipped);
    /* At most six decades. */
    assert_ok(FIT(logarithmic, 1e-300, 1));
    assert_close(scale.low, 1e-6, 0, 1e-15);
}

/* "\u2264 10^-3" at the lower end is wider than "10^-3". */
static void a_clipped_bar_says_so(void **state)
{
    (void)state;
    mgk_scale scale;
    assert_ok(FIT(logarithmic, 1e-3, 1));
    mgk_colorbar bar = {&scale, COLORMAP_VIRIDIS, NULL, mgk_style_of(MGK_TEXT_SIZE)};
    double whole = mgk_colorbar_width(&bar, 500);
    scale.clipped = true;
    assert_true(mgk_colorbar_width(&bar, 500) > whole + MGK_TEXT_SIZE / 2);
}

static void percentile_is_the_rank(void **state)
{
    (void)state;
    enum { COUNT = 1001 };
    double values[COUNT];
    mgk_scale scale;
    for (int i = 0; i < COUNT; i++)
        values[i] = exp(i * 0.01);
    assert_ok(fit(percentile, values, COUNT, &scale));
    for (int i = 0; i < COUNT; i += 50)
        assert_close(mgk_scale_at(&scale, values[i]), i / 1000.0, 0.002, 0);
    assert_close(mgk_scale_at(&scale, 0), 0, 0, 0);
    assert_close(mgk_scale_at(&scale, 1e9), 1, 0, 0);
}

/* A causal mask of zeros has the lowest colour and does not shift the others. */
static void zero_is_background(void **state)
{
    (void)state;
    mgk_scale with, scale;
    assert_ok(FIT(percentile, 0, 0, 0, 0, 0, 0, 0.1, 0.2, 0.7));
    with = scale;
    assert_ok(FIT(percentile, 0.1, 0.2, 0.7));
    assert_close(mgk_scale_at(&with, 0), 0, 0, 0);
    assert_close(mgk_scale_at(&with, 0.2), mgk_scale_at(&scale, 0.2), 1e-15, 0);
    for (int scaling = 0; scaling < SCALING_COUNT; scaling++) {
        assert_ok(FIT((mgk_scale_rule){.scaling = (mgk_scaling)scaling}, 0, 0, 0, 0));
        assert_close(mgk_scale_at(&scale, 0), 0, 0, 0);
    }
}

static void constant_data_is_in_the_middle(void **state)
{
    (void)state;
    mgk_scale scale;
    for (int scaling = 0; scaling < SCALING_COUNT; scaling++) {
        assert_ok(FIT((mgk_scale_rule){.scaling = (mgk_scaling)scaling}, 2, 2, 2));
        assert_close(mgk_scale_at(&scale, 2), 0.5, 1e-15, 0);
    }
}

static void symmetric_puts_zero_in_the_middle(void **state)
{
    (void)state;
    mgk_scale scale;
    for (int scaling = 0; scaling < SCALING_COUNT; scaling++) {
        mgk_scale_rule rule = {.scaling = (mgk_scaling)scaling, .symmetric = true};
        assert_ok(FIT(rule, -4, -0.5, 1, 2));
        assert_close(mgk_scale_at(&scale, 0), 0.5, 0, 0);
        assert_close(mgk_scale_at(&scale, -4), 0, 1e-15, 0);
        assert_close(mgk_scale_at(&scale, 1) + mgk_scale_at(&scale, -1), 1, 1e-15, 0);
        assert_true(mgk_scale_at(&scale, 2) > mgk_scale_at(&scale, 1));
    }
    assert_ok(FIT((mgk_scale_rule){.symmetric = true}, -4, 2));
    assert_close(mgk_scale_at(&scale, 2), 0.75, 1e-15, 0);
}

static void large_samples_stay_small(void **state)
{
    (void)state;
    enum { COUNT = 3000001 };
    mgk_sample sample;
    mgk_scale scale;
    assert_ok(mgk_sample_open(COUNT, &sample));
    for (int i = 0; i < COUNT; i++)
        mgk_sample_add(&sample, &(double){1 + i}, 1);
    assert_true(sample.count <= 1 << 20);
    assert_true(sample.count > 1 << 19);
    assert_ok(mgk_scale_fit(percentile, &sample, &scale));
    mgk_sample_close(&sample);
    assert_close(mgk_scale_at(&scale, 0.3 * COUNT), 0.3, 1e-3, 0);
    assert_close(mgk_scale_at(&scale, COUNT), 1, 0, 0);
}

static void bad_values(void **state)
{
    (void)state;
    mgk_scale scale;
    assert_fails(FIT(linear, NAN, NAN), STATUS_NUMERIC);
    assert_fails(fit(linear, NULL, 0, &scale), STATUS_NUMERIC);
    assert_fails(FIT(logarithmic, -1, 1), STATUS_NUMERIC);
    assert_fails(FIT(((mgk_scale_rule){SCALING_LOG, false, NAN}), 1, 2), STATUS_USAGE);
    assert_fails(FIT(((mgk_scale_rule){SCALING_LOG, false, -1}), 1, 2), STATUS_USAGE);
    mgk_scaling scaling;
    assert_fails(mgk_scaling_parse("cubic", &scaling), STATUS_USAGE);
    assert_ok(mgk_scaling_parse("percentile", &scaling));
    assert_int_equal(scaling, SCALING_PERCENTILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_spans_the_finite_values),
        cmocka_unit_test(log_takes_its_floor),
        cmocka_unit_test(log_chooses_its_floor),
        cmocka_unit_test(a_clipped_bar_says_so),
        cmocka_unit_test(percentile_is_the_rank),
        cmocka_unit_test(zero_is_background),
        cmocka_unit_test(constant_data_is_in_the_middle),
        cmocka_unit_test(symmetric_puts_zero_in_the_middle),
        cmocka_unit_test(large_samples_stay_small),
        cmocka_unit_test(bad_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
