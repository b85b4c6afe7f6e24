/* SPDX-License-Identifier: MIT */
/* The hash of a file: which changes of its bytes it notices. */
#include "run/content.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "test.h"

enum { SMALL = 5000, LARGE = (3 << 20) + 77 };

/* The hash of so many bytes, of which number `changed` is another one; none if it is no number of
 * them. */
static uint64_t hash_of(size_t size, size_t changed)
{
    static const char path[] = "content.bin";
    uint64_t hash = MGK_HASH_START;
    unsigned char *bytes = malloc(size ? size : 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * i >> 3);
    if (changed < size)
        bytes[changed] ^= 1;
    assert_ok(mgk_write_file(path, true, bytes, size));
    free(bytes);
    assert_ok(mgk_content_of_file(path, &hash));
    unlink(path);
    return hash;
}

static void small_files(void **state)
{
    (void)state;
    const uint64_t same = hash_of(SMALL, SIZE_MAX);
    assert_true(hash_of(SMALL, SIZE_MAX) == same);
    for (size_t i = 0; i < SMALL; i += 97)
        assert_false(hash_of(SMALL, i) == same);
    assert_false(hash_of(SMALL + 1, SIZE_MAX) == same);
    assert_false(hash_of(0, SIZE_MAX) == hash_of(1, SIZE_MAX));
}

/* Of large files the ends, and pieces between. */
static void large_files(void **state)
{
    (void)state;
    const uint64_t same = hash_of(LARGE, SIZE_MAX);
    size_t noticed = 0;
    assert_true(hash_of(LARGE, SIZE_MAX) == same);
    assert_false(hash_of(LARGE, 0) == same);
    assert_false(hash_of(LARGE, LARGE - 1) == same);
    assert_false(hash_of(LARGE + 1, SIZE_MAX) == same);
    for (size_t i = 0; i < 30; i++)
        noticed += hash_of(LARGE, i * (LARGE / 30)) != same;
    assert_in_range(noticed, 5, 25); /* a third of the pieces are read */
}

static void missing_file(void **state)
{
    (void)state;
    uint64_t hash = MGK_HASH_START;
    assert_fails(mgk_content_of_file("content.none", &hash), STATUS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_files), cmocka_unit_test(large_files),
                                       cmocka_unit_test(missing_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
