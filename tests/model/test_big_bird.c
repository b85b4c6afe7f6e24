/* SPDX-License-Identifier: MIT */
/* The random blocks of Big Bird against the code that drew them; tests/golden/efficient.py. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/attention.h"
#include "model/containers/tensors.h"

enum { MOST_BLOCKS = 64 };

/* Whether a query of the pattern sees a key; one head's tiles. */
static bool sees(const mgk_pattern *pattern, int head, int query, int key)
{
    const int32_t *starts = pattern->starts + (size_t)head * pattern->head_stride;
    const size_t row = (size_t)(query % MGK_PATTERN_TILE);
    for (int32_t t = starts[query / MGK_PATTERN_TILE]; t < starts[query / MGK_PATTERN_TILE + 1];
         t++)
        if (pattern->columns[t] == key / MGK_PATTERN_TILE)
            return pattern->masks[(size_t)t * MGK_PATTERN_TILE + row] >> key % MGK_PATTERN_TILE & 1;
    return false;
}

/* A row of blocks in a head sees these by design, and the `count` drawn ones, in whole. */
static void check_row(const mgk_pattern *pattern, int head, int row, int blocks, int length,
                      const double *drawn, size_t count)
{
    bool expected[MOST_BLOCKS] = {false};
    expected[0] = expected[row - 1] = expected[row] = expected[row + 1] = true;
    expected[blocks - 1] = true;
    for (size_t r = 0; r < count; r++)
        expected[(int)drawn[r]] = true;
    for (int key = 0; key < blocks * length; key++)
        if (sees(pattern, head, row * length, key) != expected[key / length] ||
            sees(pattern, head, row * length + length - 1, key) != expected[key / length])
            fail_msg("head %d, row %d, key %d", head, row, key);
}

static void check_plan(const mgk_tensor_info *plan, const double *drawn)
{
    int tokens, block, random;
    assert_int_equal(sscanf(plan->name, "%d.%d.%d", &tokens, &block, &random), 3);
    const mgk_attention_settings settings = {.block = block, .random = random};
    const int blocks = tokens / block, layers = (int)plan->shape[0], heads = (int)plan->shape[1];
    for (int layer = 0; layer < layers; layer++) {
        const mgk_attention_size size = {.heads = heads,
                                         .tokens = tokens,
                                         .dim = 1,
                                         .length = tokens,
                                         .layer = layer,
                                         .layers = layers,
                                         .settings = &settings};
        mgk_pattern pattern;
        assert_ok(mgk_attention_pattern(mgk_attention_find("bigbird-published"), &size, &pattern));
        for (int head = 0; head < heads; head++)
            for (int row = 1; row < blocks - 1; row++, drawn += plan->shape[3])
                check_row(&pattern, head, row, blocks, block, drawn, plan->shape[3]);
        mgk_pattern_release(&pattern);
    }
}

static void plans_are_those_of_training(void **state)
{
    mgk_tensors *plans;
    (void)state;
    assert_ok(mgk_tensors_open(MGK_TEST_GOLDEN "/hugging_face/big_bird-plans.safetensors", &plans));
    assert_int_equal(mgk_tensors_count(plans), 5);
    for (size_t i = 0; i < mgk_tensors_count(plans); i++) {
        const mgk_tensor_info *plan = mgk_tensors_at(plans, i);
        double *drawn;
        assert_ok(mgk_alloc(plan->count, sizeof *drawn, &drawn));
        assert_ok(mgk_tensors_read(plans, plan, 0, plan->count, MGK_DTYPE_F64, drawn));
        check_plan(plan, drawn);
        mgk_free(drawn);
    }
    mgk_tensors_close(plans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_are_those_of_training)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
