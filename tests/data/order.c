/* SPDX-License-Identifier: MIT */
/* The epoch permutation, the names of tasks, and options that contradict each other. */
#include "data/fixture.h"

#include <string.h>

static void order_is_a_bijection(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 2, 3, 31, 1000, 1024, 1025};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            unsigned char seen[1025] = {0};
            for (uint64_t position = 0; position < sizes[s]; position++) {
                uint64_t index = mgk_dataset_order(7, epoch, position, sizes[s]);
                assert_true(index < sizes[s]);
                assert_false(seen[index]++);
            }
        }
    }
}

static void order_is_uniform_over_epochs(void **state)
{
    (void)state;
    /* Each of 3 indices at each of 3 positions: 3000 +- 45 of 9000 (one standard deviation). */
    enum { EPOCHS = 9000, SIZE = 3 };
    int count[SIZE][SIZE] = {{0}};
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        for (uint64_t position = 0; position < SIZE; position++)
            count[position][mgk_dataset_order(1, epoch, position, SIZE)]++;
    }
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++)
            assert_close(count[i][j], EPOCHS / SIZE, 225, 0);
    }
}

static void order_changes_with_seed_and_epoch(void **state)
{
    (void)state;
    int same_epoch = 0, same_seed = 0, fixed = 0;
    for (uint64_t position = 0; position < 1000; position++) {
        uint64_t index = mgk_dataset_order(1, 1, position, 1000);
        same_epoch += index == mgk_dataset_order(1, 2, position, 1000);
        same_seed += index == mgk_dataset_order(2, 1, position, 1000);
        fixed += index == position;
    }
    /* Poisson of mean 1 each. */
    assert_true(same_epoch < 10 && same_seed < 10 && fixed < 10);
}

static void order_accepts_every_argument(void **state)
{
    (void)state;
    assert_true(mgk_dataset_order(1, 0, 12345, 0) == 12345);
    assert_true(mgk_dataset_order(1, 0, 12, 10) == mgk_dataset_order(1, 0, 2, 10));
    assert_true(mgk_dataset_order(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX) < UINT64_MAX);
}

static void names_of_tasks(void **state)
{
    (void)state;
    mgk_task task;
    assert_ok(mgk_task_from_name("lm", &task));
    assert_int_equal(task, MGK_TASK_LM);
    assert_ok(mgk_task_from_name("tokens", &task));
    assert_int_equal(task, MGK_TASK_TOKENS);
    assert_fails(mgk_task_from_name("lms", &task), STATUS_USAGE);
    assert_non_null(strstr(mgk_fail_message(), "retrieval"));
    assert_fails(mgk_task_from_name("", &task), STATUS_USAGE);
}

static void options_are_checked(void **state)
{
    (void)state;
    const char *path = "absent";
    mgk_dataset_options options = options_for(MGK_TASK_LM, NULL, 8);
    assert_refused(&options, STATUS_USAGE, "lm: no data given (`data`)");
    options = options_for(MGK_TASK_RETRIEVAL, &path, 0);
    assert_refused(&options, STATUS_USAGE, "length 0");
    options = options_for(MGK_TASK_RETRIEVAL, &path, (size_t)INT32_MAX + 1);
    assert_refused(&options, STATUS_USAGE, "length 2147483648");
    options = options_for(MGK_TASK_TOKENS, &path, 0);
    options.vocabulary = 0;
    assert_refused(&options, STATUS_USAGE, "vocabulary 0");
    mgk_dataset_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_a_bijection),
        cmocka_unit_test(order_is_uniform_over_epochs),
        cmocka_unit_test(order_changes_with_seed_and_epoch),
        cmocka_unit_test(order_accepts_every_argument),
        cmocka_unit_test(names_of_tasks),
        cmocka_unit_test(options_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
