/* SPDX-License-Identifier: MIT */
/* FNV-1a against known answers; the seeded hash scatters, differently for each seed. */
#include "test.h"

#include "base/hash.h"

static void known_answers(void **state)
{
    (void)state;
    assert_true(mgk_hash(MGK_HASH_START, NULL, 0) == 0xCBF29CE484222325);
    assert_true(mgk_hash(MGK_HASH_START, "foobar", 6) == 0x85944171F73967E8);
    /* splitmix64's second number from 0 is the hash of twice its increment. */
    assert_true(mgk_mix(2 * 0x9E3779B97F4A7C15) == 0x6E789E6AA1B965F4);
}

static int bits_of(uint64_t bits)
{
    int count = 0;
    for (; bits; bits &= bits - 1)
        count++;
    return count;
}

/* Changing one bit of the seed or of a byte changes about half of the 64 bits of the hash; 16 to 48
 * is four standard deviations. */
static void each_bit_matters(void **state)
{
    (void)state;
    unsigned char text[9] = "tokenizer";
    uint64_t seed = 0x0123456789ABCDEF, hash = mgk_hash_seeded(seed, text, sizeof(text));
    for (int bit = 0; bit < 64; bit++) {
        uint64_t other = mgk_hash_seeded(seed ^ (uint64_t)1 << bit, text, sizeof(text));
        assert_in_range(bits_of(hash ^ other), 16, 48);
    }
    for (size_t bit = 0; bit < 8 * sizeof(text); bit++) {
        text[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_in_range(bits_of(hash ^ mgk_hash_seeded(seed, text, sizeof(text))), 16, 48);
        text[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void pieces_are_hashed_as_the_whole(void **state)
{
    (void)state;
    uint64_t hash = mgk_hash_seeded(7, "walk", 4);
    assert_true(mgk_hash_seeded(hash, "ing", 3) == mgk_hash_seeded(7, "walking", 7));
}

static void seeds_differ(void **state)
{
    (void)state;
    uint64_t seeds[16];
    for (int i = 0; i < 16; i++) {
        seeds[i] = mgk_hash_seed();
        assert_true(seeds[i] != 0);
        for (int j = 0; j < i; j++)
            assert_true(seeds[i] != seeds[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(each_bit_matters),
        cmocka_unit_test(pieces_are_hashed_as_the_whole),
        cmocka_unit_test(seeds_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
