/* SPDX-License-Identifier: MIT */
/* SHA-256 against the examples of FIPS 180-4. */
#include "test.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"

#define PATH "digest.bin"

static void test_known_digests(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char hex[MGK_SHA256_HEX_SIZE];
        assert_ok(mgk_write_file(PATH, true, cases[i][0], strlen(cases[i][0])));
        assert_ok(mgk_sha256_file(PATH, hex));
        assert_string_equal(hex, cases[i][1]);
    }
    unlink(PATH);
}

static void test_no_file(void **state)
{
    (void)state;
    char hex[MGK_SHA256_HEX_SIZE];
    assert_fails(mgk_sha256_file("missing.bin", hex), STATUS_IO);
    assert_fails(mgk_sha256_file(".", hex), STATUS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_digests),
        cmocka_unit_test(test_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
