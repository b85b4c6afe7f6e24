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

/* Values of PyTorch 2: OneCycleLR with max_lr 2, pct_start 4/12, total_steps 12. */
static void test_one_cycle(void **state)
{
    (void)state;
    static const struct {
        int64_t step;
        double line, line_beta, cosine, cosine_beta;
    } rows[] = {
        {1, 0.08, 0.95, 0.08, 0.95},
        {2, 0.72, 0.91666666666666663, 0.56, 0.925},
        {4, 2, 0.85, 2, 0.85},
        {5, 1.750001, 0.8625, 1.9238798369931567, 0.85380602337443567},
        {11, 0.250007, 0.9375, 0.076128163006843302, 0.94619397662556426},
        {12, 8.0000000000080007e-06, 0.95, 8e-6, 0.95},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int64_t step = rows[i].step;
        assert_close(mgk_schedule_rate(MGK_DECAY_ONE_CYCLE, 2, 4, 12, step), rows[i].line, 0,
                     1e-15);
        assert_close(mgk_schedule_rate(MGK_DECAY_ONE_CYCLE_COSINE, 2, 4, 12, step), rows[i].cosine,
                     0, 1e-15);
        assert_close(mgk_schedule_beta1(MGK_DECAY_ONE_CYCLE, 0.9, 4, 12, step), rows[i].line_beta,
                     0, 1e-15);
        assert_close(mgk_schedule_beta1(MGK_DECAY_ONE_CYCLE_COSINE, 0.9, 4, 12, step),
                     rows[i].cosine_beta, 0, 1e-15);
    }
    for (int64_t warmup = 0; warmup < 2; warmup++)
        for (int64_t step = 1; step <= 3; step++)
            assert_true(mgk_schedule_rate(MGK_DECAY_ONE_CYCLE, 2, warmup, 3, step) > 0);
    assert_close(mgk_schedule_beta1(MGK_DECAY_LINEAR, 0.9, 4, 12, 3), 0.9, 0, 0);
}

/* Values of PyTorch's CosineAnnealingLR(12), used as the paper's code uses it. */
static void test_cosine_from_0(void **state)
{
    (void)state;
    static const double rates[] = {2, 0.5, 1, 1.5, 1.5, 1.2588190451025207, 1, 0.74118095489747937};
    for (int64_t step = 1; step <= 8; step++)
        assert_close(mgk_schedule_rate(MGK_DECAY_COSINE_FROM_0, 2, 4, 12, step), rates[step - 1], 0,
                     1e-15);
    assert_close(mgk_schedule_rate(MGK_DECAY_COSINE_FROM_0, 2, 0, 12, 12), 0.034074173710931799, 0,
                 1e-15);
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
    assert_ok(mgk_decay_from_name("one-cycle-cosine", &decay));
    assert_int_equal(decay, MGK_DECAY_ONE_CYCLE_COSINE);
    assert_fails(mgk_decay_from_name("steep", &decay), STATUS_USAGE);
    assert_fails(mgk_decay_from_name("", &decay), STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warmup),    cmocka_unit_test(test_decay),
        cmocka_unit_test(test_one_cycle), cmocka_unit_test(test_cosine_from_0),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
