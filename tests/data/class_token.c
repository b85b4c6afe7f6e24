/* SPDX-License-Identifier: MIT */
/* Datasets whose sequences begin with a class token, against the same without it. */
#include "data/datasets/class_token.h"

#include <string.h>

#include "fixture.h"
#include "test.h"

enum { MOST = 64 };

/* A sample: rows [sequences, N]. */
typedef struct rows {
    int32_t tokens[2 * MOST], lengths[2], targets[2 * MOST];
} rows;

static rows take(const mgk_dataset *data, uint64_t index)
{
    rows r;
    memset(&r, 0x55, sizeof(r));
    assert_ok(mgk_dataset_sample(data, index, r.tokens, r.lengths, r.targets));
    return r;
}

static void compare(const mgk_dataset_options *options, uint64_t samples, bool fitted)
{
    mgk_dataset *plain, *inner, *begun;
    uint64_t hash, other;
    assert_ok(mgk_dataset_open(options, &plain));
    assert_ok(mgk_dataset_open(options, &inner));
    assert_ok(mgk_class_token_add(inner, &begun));
    assert_int_equal(mgk_dataset_size(begun), mgk_dataset_size(plain));
    assert_ok(mgk_dataset_hash(plain, &hash));
    assert_ok(mgk_dataset_hash(begun, &other));
    assert_true(hash != other);
    for (uint64_t i = 0; i < samples; i++) {
        if (fitted) {
            mgk_dataset_fit(plain, &i, 1);
            mgk_dataset_fit(begun, &i, 1);
        }
        const mgk_dataset_shape a = mgk_dataset_shape_of(plain), b = mgk_dataset_shape_of(begun);
        const rows x = take(plain, i), y = take(begun, i);
        assert_int_equal(b.length, a.length + 1);
        assert_int_equal(b.vocabulary, a.vocabulary + 1);
        assert_int_equal(b.classes, a.classes);
        for (size_t s = 0; s < a.sequences; s++) {
            assert_int_equal(y.tokens[s * b.length], a.vocabulary);
            assert_memory_equal(y.tokens + s * b.length + 1, x.tokens + s * a.length,
                                a.length * sizeof(int32_t));
            assert_int_equal(y.lengths[s], x.lengths[s] + 1);
        }
        if (a.classes > 0)
            assert_int_equal(y.targets[0], x.targets[0]);
        else {
            assert_int_equal(y.targets[0], -1);
            assert_memory_equal(y.targets + 1, x.targets, a.length * sizeof(int32_t));
        }
    }
    mgk_dataset_close(plain);
    mgk_dataset_close(begun);
}

static void every_task(void **state)
{
    const char *content =
        "\n = A = \n\nThe first article, which has passages.\nAnd some more of them.\n"
        "\n = B = \n\nThe second article, which has others.\nAnd a few more of these.\n";
    const char *const text = write_text(state, "text", content);
    static const mgk_task tasks[] = {MGK_TASK_LM, MGK_TASK_LISTOPS, MGK_TASK_RETRIEVAL};
    for (size_t i = 0; i < 3; i++) {
        mgk_dataset_options options = mgk_dataset_defaults(tasks[i]);
        options.split = MGK_SPLIT_EVAL;
        options.length = i == 1 ? 40 : 20;
        options.listops_above = 5;
        options.listops_below = 40;
        options.samples = 6;
        options.paths = &text;
        options.path_count = i != 1;
        compare(&options, 6, false);
        compare(&options, 6, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {folder_test(every_task)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
