/* SPDX-License-Identifier: MIT */
/* Token ids from archives: the choice of the array, and refusals. */
#include "data/datasets/token_array.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/make_numpy.h"
#include "test.h"

#define PATH "token_array.npz"

static numpy_bytes arrays[3];

static void make_ids(int32_t first, numpy_bytes *out)
{
    const int32_t ids[] = {first, 2, 3, 4, 5, -1};
    make_npy("<i4", false, "(2, 3)", ids, sizeof(ids), out);
}

static void expect(const char *const *names, size_t count, int64_t first)
{
    for (int deflated = 0; deflated < 2; deflated++) {
        mgk_token_array array;
        make_npz(PATH, names, arrays, count, deflated);
        assert_ok(mgk_token_array_read(PATH, &array));
        assert_int_equal(array.rows, 2);
        assert_int_equal(array.columns, 3);
        assert_int_equal(array.ids[0], first);
        assert_int_equal(array.ids[5], -1);
        mgk_free(array.ids);
    }
}

static void expect_refusal(const char *const *names, size_t count, mgk_status expected,
                           const char *said)
{
    mgk_token_array array;
    make_npz(PATH, names, arrays, count, true);
    assert_fails(mgk_token_array_read(PATH, &array), expected);
    assert_null(array.ids);
    if (!strstr(mgk_fail_message(), said))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), said);
}

static void one_is_taken(void **state)
{
    (void)state;
    static const char *const ids[] = {"attention_mask.npy", "input_ids.npy", "floats.npy"};
    static const char *const other[] = {"x.npy", "floats.npy", "floats2.npy"};
    const float floats[] = {1, 2};
    make_ids(1, &arrays[0]);
    make_ids(7, &arrays[1]);
    make_npy("<f4", false, "(2,)", floats, sizeof(floats), &arrays[2]);
    expect(ids, 3, 7);
    expect(other, 1, 1);
    arrays[1] = arrays[2];
    expect(other, 3, 1);
}

static void others_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"x.npy", "y.npy", "input_ids.npy"};
    const float floats[] = {1, 2};
    make_ids(1, &arrays[0]);
    make_ids(2, &arrays[1]);
    make_npy("<f4", false, "(2,)", floats, sizeof(floats), &arrays[2]);
    expect_refusal(names, 2, STATUS_SHAPE, "2 arrays of integers, expected one");
    expect_refusal(names, 3, STATUS_UNSUPPORTED, "holds float32, expected token ids");
    arrays[0] = arrays[1] = arrays[2];
    expect_refusal(names, 2, STATUS_SHAPE, "0 arrays of integers");
    expect_refusal(names, 1, STATUS_UNSUPPORTED, "holds float32");
    make_npy("<i4", false, "(1, 1, 1)", floats, 4, &arrays[0]);
    expect_refusal(names, 1, STATUS_SHAPE, "is [1,1,1], expected [samples, length]");
}

/* More ids than allowed, in a few hundred deflated kilobytes. */
static void many_are_refused(void **state)
{
    (void)state;
    enum { CLAIMED = (1 << 28) + 1 };
    static const char *const names[] = {"x.npy"};
    const char *path = "token_array.npy";
    make_npy("|i1", false, "(268435457,)", "", 0, &arrays[0]);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(arrays[0].bytes, 1, arrays[0].size, file), arrays[0].size);
    assert_int_equal(ftruncate(fileno(file), (off_t)arrays[0].size + CLAIMED), 0);
    assert_int_equal(fclose(file), 0);
    mgk_token_array array;
    assert_fails(mgk_token_array_read(path, &array), STATUS_SHAPE);
    assert_non_null(strstr(mgk_fail_message(), "[268435457], expected at most 268435456 token"));
    assert_null(array.ids);
    assert_int_equal(unlink(path), 0);
    make_npy("|i1", false, "(6,)", "123456", 5, &arrays[0]);
    expect_refusal(names, 1, STATUS_FORMAT, "x.npy");
}

/* Arrays longer than a piece, in both storage orders. */
static void long_ones_are_read(void **state)
{
    (void)state;
    enum { ROWS = 5, COLUMNS = 2000 };
    static const char *const names[] = {"x.npy"};
    static int16_t ids[ROWS * COLUMNS];
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        ids[i] = (int16_t)i;
    for (int fortran = 0; fortran < 2; fortran++) {
        mgk_token_array array;
        make_npy("<i2", fortran, "(5, 2000)", ids, sizeof(ids), &arrays[0]);
        make_npz(PATH, names, arrays, 1, true);
        assert_ok(mgk_token_array_read(PATH, &array));
        for (size_t row = 0; row < ROWS; row++)
            for (size_t column = 0; column < COLUMNS; column++)
                assert_int_equal(array.ids[row * COLUMNS + column],
                                 fortran ? column * ROWS + row : row * COLUMNS + column);
        mgk_free(array.ids);
    }
}

/* Only a signed -1 is padding: the largest unsigned numbers have the same bits. */
static void unsigned_numbers_are_no_padding(void **state)
{
    (void)state;
    static const char *const names[] = {"x.npy"}, *const types[] = {"|u1", "<u2", "<u4", "<u8"};
    static const uint64_t largest[] = {UINT8_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX};
    unsigned char bytes[2 * 8];
    for (int i = 0; i < 4; i++)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            mgk_token_array array;
            char type[4];
            size_t size = (size_t)1 << i;
            memcpy(type, types[i], sizeof(type));
            type[1] = is_signed ? 'i' : 'u';
            memset(bytes, 0, size);
            memset(bytes + size, 0xff, size);
            make_npy(type, false, "(2,)", bytes, 2 * size, &arrays[0]);
            make_npz(PATH, names, arrays, 1, false);
            assert_ok(mgk_token_array_read(PATH, &array));
            assert_int_equal(array.ids[0], 0);
            assert_true(array.is_unsigned == !is_signed);
            assert_true((uint64_t)array.ids[1] == (is_signed ? UINT64_MAX : largest[i]));
            mgk_free(array.ids);
        }
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_taken),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(many_are_refused),
        cmocka_unit_test(long_ones_are_read),
        cmocka_unit_test(unsigned_numbers_are_no_padding),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
