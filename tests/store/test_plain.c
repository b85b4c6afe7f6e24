/* SPDX-License-Identifier: MIT */
/* Matrices of other software: plain datasets with up to three leading axes. */
#include <hdf5.h>
#include <string.h>
#include <unistd.h>

#include "store/schema/reader.h"
#include "test.h"

#define PATH "plain.h5"

/* Writes the dataset group/name with 0, 1, 2, ... */
static void write_plain(int rank, const hsize_t *shape, hid_t type)
{
    float values[2 * 3 * 4 * 5 * 5];
    for (int i = 0; i < 2 * 3 * 4 * 5 * 5; i++)
        values[i] = (float)i;
    hid_t file = H5Fcreate(PATH, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(rank, shape, NULL);
    hid_t dataset = H5Dcreate2(group, "name", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Gclose(group);
    H5Fclose(file);
}

/* The last matrix of the dataset has these positions and sizes. */
static void expect_last_of(const char *name, int32_t samples, int32_t layers, int32_t heads)
{
    mgk_store_reader *reader;
    double matrix[25];
    int32_t length;
    assert_ok(mgk_store_open(PATH, name, &reader));
    const mgk_store_description *description = mgk_store_describe(reader);
    assert_int_equal(description->samples, samples);
    assert_int_equal(description->layers, layers);
    assert_int_equal(description->heads, heads);
    assert_int_equal(description->tokens, 5);
    assert_int_equal(description->head_index[heads - 1], heads - 1);
    assert_string_equal(description->model, "");
    assert_ok(mgk_store_read_matrix(reader, samples - 1, layers - 1, heads - 1, STORE_F64, matrix,
                                    &length));
    assert_int_equal(length, 5);
    for (int i = 0; i < 25; i++)
        assert_true(matrix[i] == (samples * layers * heads - 1) * 25 + i);
    assert_false(mgk_store_has_tokens(reader));
    assert_fails(mgk_store_read_tokens(reader, 0, &length, &length), STATUS_USAGE);
    mgk_store_close(reader);
}

static void expect_last(int32_t samples, int32_t layers, int32_t heads)
{
    expect_last_of("group/name", samples, layers, heads);
    expect_last_of("/group/name", samples, layers, heads);
    expect_last_of(NULL, samples, layers, heads);
}

/* Gives the first dataset a second name. */
static void link_as(const char *name)
{
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5Ocopy(file, "group/name", file, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
}

static void several_datasets(void **state)
{
    (void)state;
    const hsize_t shape[] = {2, 3, 5, 5}, five[] = {1, 2, 3, 5, 5};
    mgk_store_reader *reader;
    double matrix[25];
    write_plain(4, shape, H5T_NATIVE_FLOAT);
    link_as("group/other");
    assert_fails(mgk_store_open(PATH, NULL, &reader), STATUS_FORMAT);
    assert_non_null(
        strstr(mgk_fail_message(), "\"group/name\" [2,3,5,5], \"group/other\" [2,3,5,5]"));
    assert_ok(mgk_store_open(PATH, "/group/*", &reader));
    assert_int_equal(mgk_store_describe(reader)->layers, 2);
    assert_int_equal(mgk_store_describe(reader)->heads, 3);
    assert_ok(mgk_store_read_matrix(reader, 1, 1, 2, STORE_F64, matrix, NULL));
    assert_true(matrix[24] == 2 * 3 * 25 - 1);
    mgk_store_close(reader);
    assert_fails(mgk_store_open(PATH, "other/*", &reader), STATUS_FORMAT);
    link_as("layers[0]");
    link_as("layers[1]");
    assert_ok(mgk_store_open(PATH, "layers[*]", &reader));
    assert_int_equal(mgk_store_describe(reader)->layers, 2);
    mgk_store_close(reader);
    write_plain(5, five, H5T_NATIVE_FLOAT);
    assert_fails(mgk_store_open(PATH, "*", &reader), STATUS_SHAPE);
}

/* As h5py and netCDF of the same process have it, each in its way. */
static void files_that_are_open_already(void **state)
{
    (void)state;
    static const H5F_close_degree_t degrees[] = {H5F_CLOSE_WEAK, H5F_CLOSE_SEMI, H5F_CLOSE_STRONG};
    const hsize_t shape[] = {2, 3, 5, 5};
    write_plain(4, shape, H5T_NATIVE_FLOAT);
    for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]); i++) {
        const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
        assert_true(H5Pset_fclose_degree(access, degrees[i]) >= 0);
        const hid_t other = H5Fopen(PATH, H5F_ACC_RDONLY, access);
        assert_true(other >= 0);
        expect_last(2, 1, 3);
        const hid_t dataset = H5Dopen2(other, "group/name", H5P_DEFAULT);
        assert_true(dataset >= 0); /* still open */
        H5Dclose(dataset);
        H5Fclose(other);
        H5Pclose(access);
    }
}

static void leading_axes(void **state)
{
    (void)state;
    const hsize_t shape[] = {2, 3, 4, 5, 5};
    write_plain(5, shape, H5T_NATIVE_FLOAT);
    expect_last(2, 3, 4);
    write_plain(4, shape + 1, H5T_NATIVE_DOUBLE);
    expect_last(3, 1, 4);
    write_plain(3, shape + 2, H5T_IEEE_F64BE);
    expect_last(4, 1, 1);
    write_plain(2, shape + 3, H5T_NATIVE_FLOAT);
    expect_last(1, 1, 1);
}

/* Reads an array of 3 x 4 matrices, and of 2 x 3 x 4, with these axes. */
static void expect_sizes(const char *axes, int32_t samples, int32_t layers, int32_t heads)
{
    mgk_store_reader *reader;
    assert_ok(mgk_store_open_as(PATH, NULL, axes, &reader));
    const mgk_store_description *d = mgk_store_describe(reader);
    assert_int_equal(d->samples, samples);
    assert_int_equal(d->layers, layers);
    assert_int_equal(d->heads, heads);
    mgk_store_close(reader);
}

/* The first element of a matrix is 25 times its number in the array. */
static void expect_matrix(const char *axes, const int32_t position[3], int number)
{
    mgk_store_reader *reader;
    double matrix[25];
    assert_ok(mgk_store_open_as(PATH, NULL, axes, &reader));
    assert_ok(mgk_store_read_matrix(reader, position[0], position[1], position[2], STORE_F64,
                                    matrix, NULL));
    assert_true(matrix[0] == 25 * number);
    mgk_store_close(reader);
}

static void axes_have_names(void **state)
{
    (void)state;
    const hsize_t shape[] = {2, 3, 4, 5, 5};
    const int32_t position[] = {2, 1, 3}, of_text[] = {0, 2, 1}, of_head[] = {3, 0, 2};
    write_plain(5, shape, H5T_NATIVE_FLOAT);
    expect_sizes("sample,layer,head", 2, 3, 4);
    expect_sizes("layer,sample,head", 3, 2, 4);
    expect_matrix("layer,sample,head", position, 1 * 12 + 2 * 4 + 3);
    write_plain(4, shape + 1, H5T_NATIVE_FLOAT);
    expect_sizes("layer,head", 1, 3, 4);
    expect_matrix("layer,head", of_text, 2 * 4 + 1);
    expect_sizes(" Layer , HEAD ", 1, 3, 4);
    expect_sizes("head,sample", 4, 1, 3);
    expect_matrix("head,sample", of_head, 2 * 4 + 3);
    write_plain(3, shape + 2, H5T_NATIVE_FLOAT);
    expect_sizes("head", 1, 1, 4);
    expect_sizes("layer", 1, 4, 1);
}

static void wrong_axes(void **state)
{
    (void)state;
    static const char *const words[] = {"",        "head,head",  "layer,",
                                        ",layer",  "layer head", " ",
                                        "layer, ", "heads",      "layer,head,sample,head"};
    const hsize_t shape[] = {3, 4, 5, 5};
    mgk_store_reader *reader;
    write_plain(4, shape, H5T_NATIVE_FLOAT);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        assert_fails(mgk_store_open_as(PATH, NULL, words[i], &reader), STATUS_USAGE);
    assert_fails(mgk_store_open_as(PATH, NULL, "head", &reader), STATUS_SHAPE);
    assert_non_null(strstr(mgk_fail_message(),
                           "\"group/name\" has 2 axes in front of its matrices, "
                           "`axes` head names 1"));
    assert_fails(mgk_store_open_as(PATH, NULL, "layer,sample,head", &reader), STATUS_SHAPE);
    assert_fails(mgk_store_open_as(PATH, "group/*", "layer,head", &reader), STATUS_SHAPE);
    assert_ok(mgk_store_open_as(PATH, "group/*", "head,sample", &reader));
    mgk_store_close(reader);
}

/* Attention of one sequence to another. */
static void oblong(void **state)
{
    (void)state;
    const hsize_t shape[] = {2, 5, 4};
    mgk_store_reader *reader;
    double matrix[20];
    int32_t queries, keys;
    write_plain(3, shape, H5T_NATIVE_FLOAT);
    assert_ok(mgk_store_open_as(PATH, "group/name", "head", &reader));
    assert_true(mgk_store_describe(reader)->cross);
    assert_int_equal(mgk_store_describe(reader)->heads, 2);
    assert_ok(mgk_store_read_key_length(reader, 0, &keys));
    assert_int_equal(keys, 4);
    assert_ok(mgk_store_read_matrix(reader, 0, 0, 1, STORE_F64, matrix, &queries));
    assert_int_equal(queries, 5);
    for (int k = 0; k < 20; k++)
        assert_true(matrix[k] == 20 + k);
    mgk_store_close(reader);
}

static void refused(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    const hsize_t six[] = {1, 1, 1, 1, 5, 5}, empty[] = {2, 5, 0}, line[] = {25};
    write_plain(6, six, H5T_NATIVE_FLOAT);
    assert_fails(mgk_store_open(PATH, "group/name", &reader), STATUS_SHAPE);
    assert_fails(mgk_store_open(PATH, NULL, &reader), STATUS_SHAPE);
    assert_fails(mgk_store_open(PATH, "group", &reader), STATUS_FORMAT);
    assert_fails(mgk_store_open(PATH, "group/other", &reader), STATUS_FORMAT);
    assert_fails(mgk_store_open(PATH, "no/such/name", &reader), STATUS_FORMAT);
    write_plain(3, empty, H5T_NATIVE_FLOAT);
    assert_fails(mgk_store_open(PATH, "group/name", &reader), STATUS_SHAPE);
    write_plain(1, line, H5T_NATIVE_FLOAT);
    assert_fails(mgk_store_open(PATH, "group/name", &reader), STATUS_SHAPE);
    write_plain(2, six + 4, H5T_NATIVE_INT);
    assert_fails(mgk_store_open(PATH, "group/name", &reader), STATUS_FORMAT);
}

static void half_is_recognised(void **state)
{
    (void)state;
    const hsize_t shape[] = {5, 5};
    mgk_store_reader *reader;
    hid_t half = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(half, 15, 10, 5, 0, 10);
    H5Tset_size(half, 2);
    H5Tset_ebias(half, 15);
    write_plain(2, shape, half);
    H5Tclose(half);
    assert_ok(mgk_store_open(PATH, "group/name", &reader));
    assert_int_equal(mgk_store_describe(reader)->storage, STORE_F16);
    mgk_store_close(reader);
    expect_last(1, 1, 1);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leading_axes),
        cmocka_unit_test(axes_have_names),
        cmocka_unit_test(wrong_axes),
        cmocka_unit_test(several_datasets),
        cmocka_unit_test(files_that_are_open_already),
        cmocka_unit_test(oblong),
        cmocka_unit_test(refused),
        cmocka_unit_test(half_is_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
