/* SPDX-License-Identifier: MIT */
/* The learning rate at chosen steps. */
#include "test.h"

#include "train/schedule.h"

static void test_warmup(void **state)
{
    (void)state;
    for (int decay = MGK_DECAY_LINEAR; decay <= MGK_DECAY_COSINE; decay++) {
        assert_close(mgk_schedule_rate((mgk_decay)decay, 2, 4, 12, 1), 0.5, 0, 1e-15);
        assert_close(mgk_schedule_rate((mgk_decay)decay, 2, 4, 12, 3), 1.5, 0, 1e-15);
        assert_close(mgk_schedule_rate((mgk_decay)decay, 2, 4, 12, 4), 2, 0, 1e-15);
        assert_close(mgk_schedule_rate((mgk_decay)decay, 2, 4, 12, 5), 2, 0, 1e-15);
        assert_close(mgk_schedule_rate((mgk_decay)decay, 2, 0, 12, 1), 2, 0, 1e-15);
    }
}

static void test_decay(void **state)
{
    (void)state;
    assert_close(mgk_schedule_rate(MGK_DECAY_LINEAR, 2, 4, 12, 9), 1, 0, 1e-15);
    assert_close(mgk_schedule_rate(MGK_DECAY_LINEAR, 2, 4, 12, 12), 0.25, 0, 1e-15);
    assert_close(mgk_schedule_rate(MGK_DECAY_CONSTANT, 2, 4, 12, 12), 2, 0, 1e-15);
    assert_close(mgk_schedule_rate(MGK_DECAY_COSINE, 2, 4, 12, 7), 1 + sqrt(0.5), 0, 1e-15);
    assert_close(mgk_schedule_rate(MGK_DECAY_COSINE, 2, 4, 12, 9), 1, 0, 1e-15);
    assert_true(mgk_schedule_rate(MGK_DECAY_COSINE, 2, 4, 12, 12) > 0);
}

static void test_names(void **state)
{
    (void)state;
    mgk_decay decay;
    assert_ok(mgk_decay_from_name("cosine", &decay));
    assert_int_equal(decay, MGK_DECAY_COSINE);
    assert_ok(mgk_decay_from_name("constant", &decay));
    assert_int_equal(decay, MGK_DECAY_CONSTANT);
    assert_ok(mgk_decay_from_name("linear", &decay));
    assert_int_equal(decay, MGK_DECAY_LINEAR);
    assert_fails(mgk_decay_from_name("steep", &decay), STATUS_USAGE);
    assert_fails(mgk_decay_from_name("", &decay), STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warmup),
        cmocka_unit_test(test_decay),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
