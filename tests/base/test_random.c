/* SPDX-License-Identifier: MIT */
/* Philox4x32-10 against the known answers of Random123, and the distributions derived from it. */
#include "test.h"

#include "base/random.h"

static void test_known_answers(void **state)
{
    (void)state;
    /* Random123, tests/kat_vectors: counter words 0 to 3 are our counter and stream. */
    static const struct {
        uint64_t seed, stream, counter;
        uint32_t words[4];
    } cases[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         0x0370734413198a2e,
         0x85a308d3243f6a88,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_random4 block = mgk_random_block(cases[i].seed, cases[i].stream, cases[i].counter);
        assert_memory_equal(block.word, cases[i].words, sizeof(block.word));
    }
}

static void test_words_of_a_stream(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 9; i++) {
        mgk_random4 block = mgk_random_block(1, 2, i / 4);
        assert_int_equal(mgk_random_u32(1, 2, i), block.word[i % 4]);
        uint64_t both =
            (uint64_t)mgk_random_u32(1, 2, 2 * i) << 32 | mgk_random_u32(1, 2, 2 * i + 1);
        assert_true(mgk_random_u64(1, 2, i) == both);
    }
}

static void test_uniform(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        double u = mgk_random_uniform(3, 1, i);
        assert_true(u >= 0 && u < 1);
        sum += u;
        squares += u * u;
    }
    /* Four standard errors of the mean of u and of u². */
    assert_close(sum / COUNT, 0.5, 4 * sqrt(1.0 / 12 / COUNT), 0);
    assert_close(squares / COUNT, 1.0 / 3, 4 * sqrt(4.0 / 45 / COUNT), 0);
}

static void test_normal(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    double moments[5] = {0};
    for (uint64_t i = 0; i < COUNT; i++) {
        double x = mgk_random_normal(3, 2, i), power = 1;
        for (int k = 1; k < 5; k++)
            moments[k] += (power *= x) / COUNT;
    }
    /* Four standard errors of the mean of xᵏ, whose variances are 1, 2, 15 and 96. */
    assert_close(moments[1], 0, 4 * sqrt(1.0 / COUNT), 0);
    assert_close(moments[2], 1, 4 * sqrt(2.0 / COUNT), 0);
    assert_close(moments[3], 0, 4 * sqrt(15.0 / COUNT), 0);
    assert_close(moments[4], 3, 4 * sqrt(96.0 / COUNT), 0);
}

static void test_below(void **state)
{
    (void)state;
    enum { COUNT = 7000, BOUND = 7 };
    int seen[BOUND] = {0};
    double chi_squared = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t value = mgk_random_below(4, 0, i, BOUND);
        assert_true(value < BOUND);
        seen[value]++;
    }
    for (int k = 0; k < BOUND; k++)
        chi_squared += (seen[k] - 1000.0) * (seen[k] - 1000.0) / 1000;
    assert_true(chi_squared < 22.5); /* 6 degrees of freedom, one in a thousand */
    assert_int_equal(mgk_random_below(4, 0, 5, 1), 0);
}

static void test_sequential_reader(void **state)
{
    (void)state;
    mgk_random random = {.seed = 5, .stream = 6};
    for (uint64_t i = 0; i < 5; i++)
        assert_true(mgk_random_next_below(&random, 100) == mgk_random_below(5, 6, i, 100));
    assert_true(mgk_random_next_uniform(&random) == mgk_random_uniform(5, 6, 5));
    assert_true(random.index == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers), cmocka_unit_test(test_words_of_a_stream),
        cmocka_unit_test(test_uniform),       cmocka_unit_test(test_normal),
        cmocka_unit_test(test_below),         cmocka_unit_test(test_sequential_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
