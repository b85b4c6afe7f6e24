/* SPDX-License-Identifier: MIT */
/* Linear attention with every feature map against its formula, gradients against differences. */
#include "feature_case.h"

static const int token_counts[] = {1, 31, 32, 33, MGK_TEST_LARGEST < 100 ? MGK_TEST_LARGEST : 100},
                 dims[] = {5, 16, 3, 20, 6};
static const size_t omega_counts[] = {7, 24, 65, 9, 40};

static void check_maps(workspace *space)
{
    for (int k = 0; k < FEATURE_MAPS * 5; k += TEST_STEP)
        for (int form = 0; form < 3; form++) {
            if (form == (k + k / 5) % 3) /* two of three forms */
                continue;
            feature_case p = feature_make(space, &feature_maps[k / 5], token_counts[k % 5],
                                          dims[k % 5], omega_counts[k % 5]);
            p.causal = form > 0;
            p.gated = form > 1;
            p.fixed_normalizer = k % 5 == 1 && form == 0 ? 3 : 0;
            feature_compare(space, &p);
        }
}

/* Positive features with an offset, which has no gradients and looks ahead. */
static void check_offset(workspace *space)
{
    static const map_row row = {"positive, offset",
                                {.map = MGK_FEATURES_POSITIVE, .omega_rows = 1, .epsilon = 1e-3}};
    for (int k = 0; k < 10; k++) {
        feature_case p =
            feature_make(space, &row, token_counts[k % 5], dims[k % 5], omega_counts[k % 5]);
        p.causal = k >= 5;
        feature_compare(space, &p);
    }
}

static void offsets_match_their_formula(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 3, check_offset);
}

static void maps_match_their_formulas(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 3, check_maps);
}

static void check_gradients(workspace *space)
{
    for (int k = 0; k < FEATURE_MAPS * 5; k += TEST_STEP)
        for (int form = 0; form < 5; form++) {
            if (form != (k + k / 5) % 5 && form != (k + k / 5 + 2) % 5) /* each with two sizes */
                continue;
            feature_case p = feature_make(space, &feature_maps[k / 5], token_counts[k % 5],
                                          dims[k % 5], omega_counts[k % 5]);
            p.causal = form > 0;
            p.gated = form % 2 == 0 && form > 0;
            p.epsilon = form == 2 ? 0.1 : 0;
            p.fixed_normalizer = form == 3 ? 7 : 0;
            p.least_sum = form == 4 ? 3 : 0;
            feature_compare_gradient(space, &p);
            workspace_release(space);
        }
}

static void gradients_match_differences(void **state)
{
    (void)state;
    on_whole_devices(MGK_DOUBLE, 1, check_gradients);
}

/* Single precision computes the gradients of double, on every level. */
static void single_precision_gradients_match(void **state)
{
    (void)state;
    for (int k = 0; k < FEATURE_MAPS * 3; k++) {
        workspace space[2] = {0};
        double *result[2][GATE + 1];
        feature_case p = {0};
        for (int precision = 0; precision < 2; precision++) {
            assert_ok(mgk_device_open("cpu", precision ? MGK_DOUBLE : MGK_SINGLE, 2,
                                      &space[precision].device));
            p = feature_make(&space[precision], &feature_maps[k / 3], 100, 20, 40);
            p.causal = k % 3 > 0;
            p.gated = k % 3 > 1;
            p.least_sum = mgk_features_signed(&p.features) ? 1 : 0;
            feature_differentiate(&space[precision], &p,
                                  random_values(&space[precision], p.count[OUTPUT]),
                                  result[precision]);
        }
        for (int array = 0; array <= (p.gated ? GATE : VALUE); array++) {
            double largest = 0;
            for (size_t at = 0; at < p.count[array]; at++)
                if (feature_counts(&p, array, at))
                    largest = fmax(largest, fabs(result[1][array][at]));
            assert_true(largest > 0);
            for (size_t at = 0; at < p.count[array]; at++)
                if (feature_counts(&p, array, at))
                    assert_close(result[0][array][at], result[1][array][at], 1e-4 * largest, 0);
        }
        for (int precision = 0; precision < 2; precision++) {
            workspace_release(&space[precision]);
            mgk_device_close(space[precision].device);
        }
    }
}

/* Later keys, values and gates change nothing before them; before their chunk not even a bit. */
static void check_look_ahead(workspace *space)
{
    for (int k = 0; k < FEATURE_MAPS * 2; k++) {
        feature_case p = feature_make(space, &feature_maps[k / 2], 100, 6, 9);
        p.causal = true;
        p.gated = k % 2;
        const double *before = feature_output(space, &p);
        for (int t = 70; t < p.tokens; t++)
            for (size_t c = 0; c < p.stride; c++) {
                p.host[KEY][(size_t)t * p.stride + c] *= -3;
                p.host[VALUE][(size_t)t * p.stride + c] += 100;
            }
        for (size_t at = 70 * p.gate_stride; at < 100 * p.gate_stride; at++)
            p.host[GATE][at] = 0.5;
        const double *after = feature_output(space, &p);
        for (size_t at = 0; at < 70 * p.stride; at++) {
            const bool exact = at < 64 * p.stride && p.features.map != MGK_FEATURES_ELU;
            if (!feature_counts(&p, OUTPUT, at))
                continue;
            if (exact && !(after[at] == before[at]))
                fail_msg("%s: %.17g, before %.17g", p.name, after[at], before[at]);
            assert_close(after[at], before[at], 10 * space->tolerance, 10 * space->tolerance);
        }
        double moved = 0;
        for (size_t at = 80 * p.stride; at < 81 * p.stride; at++)
            if (feature_counts(&p, OUTPUT, at))
                moved = fmax(moved, fabs(after[at] - before[at]));
        assert_true(moved > 1);
        workspace_release(space);
    }
}

static void causal_rows_do_not_look_ahead(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 1, check_look_ahead);
}

/* Keys of the length `size[chunk]` √D. */
static void resize_keys(feature_case *p, const double *size)
{
    for (int row = 0; row < SAMPLES * p->tokens * HEADS; row++) {
        const int token = row / HEADS, chunk = token % p->tokens / 32;
        double *key = p->host[KEY] + (size_t)token * p->stride + row % HEADS * p->dim, square = 0;
        for (int d = 0; d < p->dim; d++)
            square += key[d] * key[d];
        for (int d = 0; d < p->dim; d++)
            key[d] = (double)(float)(key[d] * size[chunk] * sqrt(p->dim / square));
    }
}

/*
 * Exponents of keys that fall and grow by more than 88 from chunk to chunk: without shifts their
 * features leave the range of single precision. An exponent of 200 has lost 8 bits.
 */
static void check_shifts(workspace *space)
{
    static const double sizes[] = {12, 2, 9, 14};
    const double tolerance = space->tolerance;
    for (int form = 0; form < 6; form++) {
        feature_case p = feature_make(space, &feature_maps[form < 3 ? 1 : 2], 100, 6, 40);
        p.causal = form % 3 > 0;
        p.gated = form % 3 > 1;
        resize_keys(&p, sizes);
        if (space->device->precision == MGK_DOUBLE)
            feature_compare_gradient(space, &p);
        space->tolerance = 20 * tolerance;
        feature_compare(space, &p);
        space->tolerance = tolerance;
    }
}

static void exponents_of_any_size_are_shifted(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 1, check_shifts);
}

/* Sums below the least one are replaced; rows whose signed sum is 0 are 0 and pass no gradient. */
static void check_small_sums(workspace *space)
{
    for (int k = 0; k < FEATURE_MAPS; k++) {
        feature_case p = feature_make(space, &feature_maps[k], 33, 5, 7);
        p.causal = k % 3 > 0;
        p.gated = k % 3 > 1;
        p.least_sum = 2;
        feature_compare(space, &p);
    }
    for (int form = 0; form < 3; form++) { /* sums of either sign */
        feature_case p = feature_make(space, &feature_maps[14], 33, 5, 7);
        p.features.epsilon = 0;
        p.causal = form > 0;
        p.epsilon = form > 1 ? 0 : 0.5;
        feature_compare(space, &p);
    }
    feature_case p = feature_make(space, &feature_maps[14], 33, 5, 7);
    p.features.epsilon = 0;
    for (size_t c = 0; c < p.stride; c++)
        p.host[QUERY][4 * p.stride + c] = 0;
    const double *weight = random_values(space, p.count[OUTPUT]);
    double *gradient[GATE + 1];
    const double *output = feature_output(space, &p);
    feature_differentiate(space, &p, weight, gradient);
    for (size_t c = 0; c < (size_t)(HEADS * p.dim); c++) {
        assert_true(output[4 * p.stride + c] == 0);
        assert_true(gradient[QUERY][4 * p.stride + c] == 0);
        assert_true(isfinite(gradient[KEY][c]) && isfinite(gradient[VALUE][c]));
    }
}

static void small_sums_are_as_documented(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 1, check_small_sums);
}

/* y = [1, 0, 0, 2] for x = (1, −2); roll by 1 gives [2, 1, 0, 0]: the product is [2, 0, 0, 0]. */
static void check_dpfp(workspace *space)
{
    feature_case p = feature_make(space, &feature_maps[16], 1, 2, 0);
    double scores = 0;
    const int32_t head = 0;
    p.host[QUERY][0] = p.host[KEY][0] = 1;
    p.host[QUERY][1] = p.host[KEY][1] = -2;
    for (p.features.rolls = 1; p.features.rolls <= 3; p.features.rolls += 2) {
        const placed on = feature_place(space, &p);
        void *matrix = upload(space, 1, &scores);
        assert_ok(space->device->op->linear_matrix(space->device, &on.view, &on.linear,
                                                   MGK_MATRIX_SCORES, 0, 1, &head, 1, matrix));
        /* Rolls by 1, 2 and 3 give the products [2, 0, 0, 0], zeros and [0, 0, 0, 2]. */
        assert_close(download(space, 1, matrix)[0], p.features.rolls == 1 ? 4 : 8, 1e-6, 0);
    }
}

static void dpfp_by_hand(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 1, check_dpfp);
}

/* φ of the queries on the device, [B, N, GAP + H R]. */
static const double *mapped(workspace *space, const feature_case *p, size_t y_stride)
{
    const placed on = feature_place(space, p);
    const size_t count = (size_t)(SAMPLES * p->tokens) * y_stride;
    void *y = upload(space, count, host_array(space, count));
    assert_ok(space->device->op->feature_map(space->device, &on.linear.features, SAMPLES,
                                             (size_t)p->tokens, HEADS, (size_t)p->dim,
                                             on.view.query, p->stride, y, y_stride));
    return download(space, count, y);
}

/* The derivative of Σ weight · φ(q) along a random direction; the arrays are as for the gradient.
 */
static void compare_map_gradient(workspace *space, feature_case *p, size_t y_stride)
{
    const double step = 1e-7;
    const placed on = feature_place(space, p);
    const size_t count = (size_t)(SAMPLES * p->tokens) * y_stride;
    const size_t width = HEADS * mgk_feature_count(&p->features, (size_t)p->dim);
    const double *weight = random_values(space, count);
    const double *direction = random_values(space, p->count[QUERY]);
    void *dx = upload(space, p->count[QUERY], p->host[QUERY]);
    double *values = p->host[QUERY], *moved = host_array(space, p->count[QUERY]);
    double expected = 0, size = 0, difference = 0;
    assert_ok(space->device->op->feature_map_backward(
        space->device, &on.linear.features, SAMPLES, (size_t)p->tokens, HEADS, (size_t)p->dim,
        on.view.query, p->stride, upload(space, count, weight), y_stride, dx));
    const double *gradient = download(space, p->count[QUERY], dx);
    for (size_t at = 0; at < p->count[QUERY]; at++)
        if (feature_counts(p, QUERY, at)) {
            expected += gradient[at] * direction[at];
            size += fabs(gradient[at] * direction[at]);
        }
    p->host[QUERY] = moved;
    for (int end = -1; end <= 1; end += 2) {
        for (size_t at = 0; at < p->count[QUERY]; at++)
            moved[at] = values[at] + end * step * direction[at];
        const double *y = mapped(space, p, y_stride);
        for (size_t at = 0; at < count; at++)
            difference += at % y_stride < width ? end * weight[at] * y[at] / (2 * step) : 0;
    }
    p->host[QUERY] = values;
    assert_true(size > 0);
    assert_close(expected, difference, 1e-6 * size + 1e-7, 0);
}

static void check_arrays(workspace *space)
{
    for (int k = 0; k < FEATURE_MAPS * 2; k++) {
        feature_case p = feature_make(space, &feature_maps[k / 2], k % 2 ? 33 : 70, dims[k % 5],
                                      omega_counts[k % 5]);
        const size_t features = mgk_feature_count(&p.features, (size_t)p.dim);
        const size_t y_stride = HEADS * features + GAP;
        const double *y = mapped(space, &p, y_stride);
        double *phi = host_array(space, features);
        for (int row = 0; row < SAMPLES * p.tokens * HEADS; row++) {
            const size_t token = (size_t)(row / HEADS), head = (size_t)(row % HEADS);
            feature_reference(&p, (int)head, (int)token % p.tokens,
                              p.host[QUERY] + token * p.stride + head * (size_t)p.dim, phi);
            assert_rows_close(1, features, y + token * y_stride + head * features, phi,
                              2 * space->tolerance);
        }
        if (space->device->precision == MGK_DOUBLE)
            compare_map_gradient(space, &p, y_stride);
        workspace_release(space);
    }
}

static void arrays_of_features_match(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 3, check_arrays);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_match_their_formulas),
        cmocka_unit_test(offsets_match_their_formula),
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(single_precision_gradients_match),
        cmocka_unit_test(causal_rows_do_not_look_ahead),
        cmocka_unit_test(exponents_of_any_size_are_shifted),
        cmocka_unit_test(small_sums_are_as_documented),
        cmocka_unit_test(dpfp_by_hand),
        cmocka_unit_test(arrays_of_features_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
