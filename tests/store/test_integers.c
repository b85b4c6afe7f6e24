/* SPDX-License-Identifier: MIT */
/* Token ids in HDF5 files of other software, and in the toolkit's own. */
#include "store/foreign/integers.h"

#include <hdf5.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/fixture.h"
#include "test.h"

#define PATH "integers.h5"

enum { MOST = 63 };

/* Adds a dataset of 5, 6, 7, ...; `first` creates the file. */
static void add(bool first, const char *name, hid_t type, int rank, const hsize_t *shape)
{
    int values[64];
    for (int i = 0; i < 64; i++)
        values[i] = i + 5;
    hid_t file = first ? H5Fcreate(PATH, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                       : H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t space = H5Screate_simple(rank, shape, NULL);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Fclose(file);
}

static void expect(size_t rows, size_t columns, bool flat)
{
    mgk_store_integers read;
    assert_ok(mgk_store_read_integers(PATH, MOST, &read));
    assert_int_equal(read.rows, rows);
    assert_int_equal(read.columns, columns);
    assert_int_equal(read.flat, flat);
    for (size_t i = 0; i < rows * columns; i++)
        assert_int_equal(read.values[i], i + 5);
    mgk_free(read.values);
}

static void expect_refusal(mgk_status expected, const char *said)
{
    mgk_store_integers read;
    assert_fails(mgk_store_read_integers(PATH, MOST, &read), expected);
    assert_null(read.values);
    if (!strstr(mgk_fail_message(), said))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), said);
}

static void one_is_taken(void **state)
{
    (void)state;
    const hsize_t shape[] = {3, 4}, line[] = {7}, cube[] = {2, 2, 2};
    add(true, "any", H5T_STD_I16BE, 2, shape);
    expect(3, 4, false);
    add(false, "floats", H5T_NATIVE_FLOAT, 3, cube);
    expect(3, 4, false);
    add(false, "mask", H5T_NATIVE_INT, 1, line);
    expect_refusal(STATUS_SHAPE, "2 datasets of integers, expected one");
    add(false, "tokens", H5T_NATIVE_UINT, 1, line);
    expect(1, 7, true);
    add(false, "input_ids", H5T_NATIVE_LLONG, 2, shape);
    expect(3, 4, false);
}

static void others_are_refused(void **state)
{
    (void)state;
    const hsize_t cube[] = {2, 2, 2};
    add(true, "floats", H5T_NATIVE_FLOAT, 3, cube);
    expect_refusal(STATUS_FORMAT, "no dataset of integers");
    add(false, "input_ids", H5T_NATIVE_INT, 3, cube);
    expect_refusal(STATUS_SHAPE, "\"input_ids\" has 3 axes");
    const hsize_t many[] = {8, 8};
    add(true, "input_ids", H5T_NATIVE_INT, 2, many);
    expect_refusal(STATUS_SHAPE, "\"input_ids\" is 8 x 8, expected at most 63 integers");
    assert_int_equal(truncate(PATH, 100), 0);
    expect_refusal(STATUS_FORMAT, PATH);
    unlink(PATH);
    expect_refusal(STATUS_IO, "No such file");
}

/* Numbers beyond int64_t keep their bits. */
static void large_ones_are_whole(void **state)
{
    (void)state;
    const uint64_t values[] = {5, UINT64_MAX, ((uint64_t)1 << 63) + 1};
    const hsize_t line[] = {3};
    mgk_store_integers read;
    add(true, "input_ids", H5T_STD_U64BE, 1, line);
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "input_ids", H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    assert_ok(mgk_store_read_integers(PATH, MOST, &read));
    assert_true(read.is_unsigned);
    assert_memory_equal(read.values, values, sizeof(values));
    mgk_free(read.values);
}

static void tokens_of_a_store(void **state)
{
    (void)state;
    mgk_store_integers read;
    mgk_store_description description =
        fixture_description(5, STORE_F32, MGK_STORE_BIT(STORE_ATTENTION));
    assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
    assert_ok(mgk_store_read_integers(PATH, MOST, &read));
    assert_int_equal(read.rows, FIXTURE_SAMPLES);
    assert_int_equal(read.columns, 5);
    for (int i = 0; i < FIXTURE_SAMPLES * 5; i++)
        assert_int_equal(read.values[i], fixture_token(i / 5, 5, i % 5));
    mgk_free(read.values);
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
        cmocka_unit_test(large_ones_are_whole),
        cmocka_unit_test(tokens_of_a_store),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
