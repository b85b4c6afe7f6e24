/* SPDX-License-Identifier: MIT */
/* The linear attention of the paper's own code against its definition: rows without normalisation,
 * and keys that are mixed before φ. */
#include <string.h>

#include "attention_case.h"

static const attention_shape plain = {
    .samples = 2, .heads = 2, .tokens = 33, .dim = 16, .mixtures = 2};

static bool has_features(const mgk_attention_kind *kind)
{
    return strcmp(kind->name, "linear") == 0 || (kind->mixture && !kind->gaussian);
}

static void compare(workspace *space, attention_shape shape)
{
    if (has_features(shape.kind))
        attention_compare(space, shape);
}

static void variants_match(void **state)
{
    static const int tokens[] = {1, 33, MGK_TEST_LARGEST};
    for (int i = 0; i < 9; i++) { /* pairs each value of a field with each value of another */
        attention_shape shape = plain;
        shape.tokens = tokens[i % 3];
        shape.dim = 5 + 8 * (i % 2);
        shape.mixtures = 3;
        shape.shortened = i % 4 * 8;
        shape.interleaved = i % 2;
        shape.causal = i / 2 % 2;
        shape.prior = (prior_shape)(i / 3);
        shape.fixed_normalizer = i % 3 == 1 ? 0 : 2.5;
        shape.mix_keys = i % 3 > 0;
        attention_for_kinds(*state, shape, compare);
    }
}

/* Queries of any size: without normalisation nothing cancels, so nothing may be lost. */
static void compare_sizes(workspace *space, attention_shape shape)
{
    static const double sizes[] = {1e-30, 1000, 1e15};
    for (size_t i = 0; has_features(shape.kind) && i < sizeof sizes / sizeof *sizes; i++) {
        attention_case problem = attention_case_make(space, shape);
        for (size_t k = 0; k < problem.count[QUERY]; k++)
            problem.input[QUERY][k] *= sizes[i];
        attention_compare_case(space, &problem);
        workspace_release(space);
    }
}

static void queries_of_any_size_match(void **state)
{
    attention_shape shape = plain;
    shape.fixed_normalizer = 7;
    attention_for_kinds(*state, shape, compare_sizes);
}

static void refuse(workspace *space, attention_shape shape)
{
    if (!has_features(shape.kind))
        return;
    mgk_attention_view view = {.samples = 1, .heads = 1, .tokens = 1, .dim = 1, .mixtures = 1};
    mgk_attention_layer layer = {.kind = shape.kind, .unit_features = true};
    assert_int_equal(
        shape.kind->methods->backward(space->device, &view, &layer, NULL, NULL, 1, NULL),
        STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "cannot be trained"));
    if (shape.kind->methods->add_responsibilities)
        assert_int_equal(
            shape.kind->methods->add_responsibilities(space->device, &view, &layer, NULL),
            STATUS_UNSUPPORTED);
}

static void variants_are_not_trained(void **state)
{
    attention_for_kinds(*state, plain, refuse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variants_match),
        cmocka_unit_test(queries_of_any_size_match),
        cmocka_unit_test(variants_are_not_trained),
    };
    return attention_run_tests(false, sizeof tests / sizeof *tests, tests);
}
