/* SPDX-License-Identifier: MIT */
/* Masks of other software: where the valid tokens of each sample are, and which matrices remain. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "store/foreign/mask.h"
#include "store/hdf5/h5.h"
#include "store/make_numpy.h"
#include "store/schema/reader.h"
#include "test.h"

enum { S = 3, N = 5 };

static const char *const npy = "mask.npy", *const npz = "mask.npz", *const h5 = "mask.h5",
                         *const matrices = "matrices.npy";

/* Padding on the right, on the left, and on both sides. */
static const int64_t rows[S][N] = {{1, 1, 1, 0, 0}, {0, 0, 0, 1, 1}, {0, 1, 1, 1, 0}};
static const int32_t first[S] = {0, 3, 1}, length[S] = {3, 2, 3};

static void write_npy(const char *path, const char *descr, bool fortran, const char *shape,
                      const void *elements, size_t size)
{
    static numpy_bytes bytes;
    make_npy(descr, fortran, shape, elements, size, &bytes);
    assert_ok(mgk_write_file(path, true, bytes.bytes, bytes.size));
}

static void expect_blocks(const char *path)
{
    mgk_mask mask;
    assert_ok(mgk_mask_read(path, &mask));
    assert_int_equal(mask.samples, S);
    assert_int_equal(mask.tokens, N);
    assert_memory_equal(mask.first, first, sizeof(first));
    assert_memory_equal(mask.length, length, sizeof(length));
    mgk_mask_free(&mask);
}

/* The rows as integers of `size` bytes in either order of bytes and of axes. */
static void every_integer(void **state)
{
    (void)state;
    static const char *const types[] = {"<i8", ">i8", "<u4", ">i2", "|u1", "|b1"};
    static const size_t sizes[] = {8, 8, 4, 2, 1, 1};
    for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++)
        for (int fortran = 0; fortran < 2; fortran++) {
            unsigned char elements[S * N * 8] = {0};
            for (size_t i = 0; i < S * N; i++) {
                const size_t at = fortran ? i % N * S + i / N : i;
                elements[at * sizes[t] + (types[t][0] == '>' ? sizes[t] - 1 : 0)] =
                    (unsigned char)rows[i / N][i % N];
            }
            write_npy(npy, types[t], fortran, "(3, 5)", elements, S * N * sizes[t]);
            expect_blocks(npy);
        }
    unlink(npy);
}

/* The rows as floats of `size` bytes in either order of bytes. */
static void every_float(void **state)
{
    (void)state;
    static const char *const types[] = {"<f8", ">f8", "<f4", ">f4", "<f2", ">f2"};
    static const size_t sizes[] = {8, 8, 4, 4, 2, 2};
    static const unsigned char ones[][2] = {{0x3f, 0xf0}, {0x3f, 0xf0}, {0x3f, 0x80},
                                            {0x3f, 0x80}, {0x3c, 0x00}, {0x3c, 0x00}};
    for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
        unsigned char elements[S * N * 8] = {0};
        for (size_t i = 0; i < S * N; i++)
            for (size_t b = 0; rows[i / N][i % N] && b < 2; b++)
                elements[(i + 1) * sizes[t] - 1 - b] = ones[t][b];
        for (size_t i = 0; types[t][0] == '>' && i < S * N; i++)
            for (size_t b = 0; b < sizes[t] / 2; b++) {
                unsigned char *low = &elements[i * sizes[t] + b],
                              *high = &elements[(i + 1) * sizes[t] - 1 - b], byte = *low;
                *low = *high;
                *high = byte;
            }
        write_npy(npy, types[t], false, "(3, 5)", elements, S * N * sizes[t]);
        expect_blocks(npy);
    }
    unlink(npy);
}

static void arrays_have_names(void **state)
{
    (void)state;
    static numpy_bytes arrays[3];
    static const int64_t ids[S][N] = {{7, 8, 9, 0, 0}, {0, 0, 0, 3, 4}, {0, 5, 6, 7, 0}};
    static const char *const names[] = {"input_ids.npy", "attention_mask.npy", "other.npy"};
    make_npy("<i8", false, "(3, 5)", ids, sizeof(ids), &arrays[0]);
    make_npy("<i8", false, "(3, 5)", rows, sizeof(rows), &arrays[1]);
    make_npy("<f4", false, "(3, 5)", ids, S * N * 4, &arrays[2]);
    make_npz(npz, names, arrays, 3, true);
    expect_blocks(npz);
    mgk_mask mask;
    static const char *const unnamed[] = {"a.npy", "b.npy"};
    make_npz(npz, unnamed, arrays, 2, false);
    assert_fails(mgk_mask_read(npz, &mask), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "mask.npz: 2 arrays may be a mask"));
    static const char *const slash[] = {"/mask.npy"}; /* a name of NumPy, not a path of HDF5 */
    make_npz(npz, slash, &arrays[1], 1, false);
    expect_blocks(npz);
    unlink(npz);
}

/* As h5py writes integers, as it writes booleans, which is an enumeration, and floats. */
static void datasets(void **state)
{
    (void)state;
    static const hsize_t shape[] = {S, N};
    for (int kind = 0; kind < 3; kind++) {
        const bool booleans = kind == 1, floats = kind == 2;
        hid_t file = H5Fcreate(h5, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        hid_t space = H5Screate_simple(2, shape, NULL), type = H5Tcopy(H5T_NATIVE_INT64);
        signed char bits[S * N];
        float reals[S * N];
        for (size_t i = 0; i < S * N; i++) {
            bits[i] = (signed char)rows[i / N][i % N];
            reals[i] = (float)rows[i / N][i % N];
        }
        if (booleans) {
            const signed char no = 0, yes = 1;
            H5Tclose(type);
            type = H5Tenum_create(H5T_NATIVE_SCHAR);
            H5Tenum_insert(type, "FALSE", &no);
            H5Tenum_insert(type, "TRUE", &yes);
        }
        if (floats) {
            H5Tclose(type);
            type = H5Tcopy(H5T_NATIVE_FLOAT);
        }
        hid_t dataset =
            H5Dcreate2(file, "mask", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                             booleans ? (const void *)bits
                             : floats ? (const void *)reals
                                      : rows) >= 0);
        H5Dclose(dataset);
        H5Tclose(type);
        H5Sclose(space);
        H5Fclose(file);
        expect_blocks(h5);
    }
    unlink(h5);
}

static void expect_refusal(mgk_status expected, const char *message)
{
    mgk_mask mask;
    assert_fails(mgk_mask_read(npy, &mask), expected);
    assert_null(mask.first);
    if (!strstr(mgk_fail_message(), message))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), message);
}

static void other_numbers_are_refused(void **state)
{
    (void)state;
    static const int64_t gap[] = {1, 1, 0, 1, 0}, two[] = {1, 2, 0, 0, 0},
                         minus[] = {1, -1, 0, 0, 0}, wide[] = {1, (int64_t)1 << 40, 0, 0, 0},
                         empty[2][N] = {{1, 1, 0, 0, 0}};
    static const double real[] = {1, 0.5, 0, 0, 0}, additive[] = {0, 0, -1e9, -1e9, -1e9};
    write_npy(npy, "<i8", false, "(5,)", gap, sizeof(gap));
    expect_refusal(STATUS_UNSUPPORTED, "mask.npy: row 0 of the mask has zeros between its ones");
    write_npy(npy, "<i8", false, "(1, 5)", two, sizeof(two));
    expect_refusal(STATUS_FORMAT, "other numbers than 0 and 1");
    write_npy(npy, "<i8", false, "(1, 5)", minus, sizeof(minus));
    expect_refusal(STATUS_FORMAT, "other numbers than 0 and 1");
    write_npy(npy, "<i8", false, "(1, 5)", wide, sizeof(wide));
    expect_refusal(STATUS_FORMAT, "other numbers than 0 and 1");
    write_npy(npy, "<i8", false, "(2, 5)", empty, sizeof(empty));
    expect_refusal(STATUS_FORMAT, "mask.npy: row 1 of the mask has no ones");
    write_npy(npy, "<f8", false, "(1, 5)", real, sizeof(real));
    expect_refusal(STATUS_FORMAT, "other numbers than 0 and 1");
    write_npy(npy, "<f8", false, "(1, 5)", additive, sizeof(additive));
    expect_refusal(STATUS_FORMAT, "other numbers than 0 and 1");
    write_npy(npy, "<c8", false, "(1, 5)", gap, sizeof(gap));
    expect_refusal(STATUS_FORMAT, "no array of numbers");
    write_npy(npy, "<i8", false, "(1, 1, 5)", gap, sizeof(gap));
    expect_refusal(STATUS_FORMAT, "no array of numbers");
    write_npy(npy, "<i8", false, "(0, 5)", gap, 0);
    expect_refusal(STATUS_SHAPE, "a mask of 0 x 5 tokens");
    unlink(npy);
    expect_refusal(STATUS_IO, "mask.npy: ");
}

/* Names that differ behind the longest that is listed could be taken for each other. */
static void long_names_are_refused(void **state)
{
    (void)state;
    static char name[513];
    static const double real[] = {1, 1, 0, 0, 0};
    const hsize_t shape = N;
    memset(name, 'm', sizeof(name) - 1);
    hid_t file = H5Fcreate(h5, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &shape, NULL);
    hid_t dataset =
        H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, real) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Fclose(file);
    mgk_mask mask;
    assert_fails(mgk_mask_read(h5, &mask), STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "mask.h5: a name of 513 bytes"));
    unlink(h5);
}

/* Entry (i, j) of matrix s is 100 s + 10 i + j. */
static void write_matrices(void)
{
    static float values[S][N][N];
    for (int s = 0; s < S; s++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                values[s][i][j] = (float)(100 * s + 10 * i + j);
    write_npy(matrices, "<f4", false, "(3, 5, 5)", values, sizeof(values));
}

static void blocks_are_read(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    write_matrices();
    write_npy(npy, "<i8", false, "(3, 5)", rows, sizeof(rows));
    assert_ok(mgk_store_open(matrices, NULL, &reader));
    assert_ok(mgk_store_mask(reader, npy));
    for (int32_t s = 0; s < S; s++) {
        double wide[N * N];
        float single[N * N];
        int32_t found, n = length[s];
        assert_ok(mgk_store_read_length(reader, s, &found));
        assert_int_equal(found, n);
        assert_ok(mgk_store_read_matrix(reader, s, 0, 0, STORE_F64, wide, &found));
        assert_int_equal(found, n);
        assert_ok(mgk_store_read_matrix(reader, s, 0, 0, STORE_F32, single, NULL));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                const double expected =
                    i < n && j < n ? 100 * s + 10 * (first[s] + i) + first[s] + j : 0;
                assert_true(wide[i * N + j] == expected);
                assert_true((double)single[i * N + j] == expected);
            }
    }
    mgk_store_close(reader);
}

/* Of matrices with fewer queries than keys the mask is that of the keys. */
static void masks_of_keys(void **state)
{
    (void)state;
    enum { Q = 2 };
    mgk_store_reader *reader;
    static float values[S][Q][N];
    static const int64_t of_queries[S][Q] = {{1, 0}, {1, 1}, {1, 1}};
    for (int k = 0; k < S * Q * N; k++)
        values[k / N / Q][k / N % Q][k % N] = (float)(1 + k);
    write_npy("cross.npy", "<f4", false, "(3, 2, 5)", values, sizeof(values));
    write_npy(npy, "<i8", false, "(3, 5)", rows, sizeof(rows));
    assert_ok(mgk_store_open("cross.npy", NULL, &reader));
    assert_ok(mgk_store_mask(reader, npy));
    for (int32_t s = 0; s < S; s++) {
        double matrix[Q * N];
        int32_t queries, keys;
        assert_ok(mgk_store_read_key_length(reader, s, &keys));
        assert_int_equal(keys, length[s]);
        assert_ok(mgk_store_read_matrix(reader, s, 0, 0, STORE_F64, matrix, &queries));
        assert_int_equal(queries, Q);
        for (int k = 0; k < Q * N; k++)
            assert_true(matrix[k] ==
                        (k % N < length[s] ? (double)values[s][k / N][first[s] + k % N] : 0));
    }
    write_npy(npy, "<i8", false, "(3, 2)", of_queries, sizeof(of_queries));
    assert_fails(mgk_store_mask(reader, npy), STATUS_SHAPE);
    assert_non_null(strstr(mgk_fail_message(), "read as 3 samples of 5 keys"));
    mgk_store_close(reader);
    unlink("cross.npy");
    unlink(npy);
}

static void masks_of_other_arrays_are_refused(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    static const int64_t fewer[2][N] = {{1}, {1}};
    write_npy(npy, "<i8", false, "(2, 5)", fewer, sizeof(fewer));
    assert_ok(mgk_store_open(matrices, NULL, &reader));
    assert_fails(mgk_store_mask(reader, npy), STATUS_SHAPE);
    assert_non_null(strstr(mgk_fail_message(),
                           "mask.npy: a mask of 2 x 5 tokens, but matrices.npy was "
                           "read as 3 samples of 5"));
    int32_t found;
    assert_ok(mgk_store_read_length(reader, 0, &found));
    assert_int_equal(found, N);
    mgk_store_close(reader);
    unlink(npy);
    unlink(matrices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_integer),
        cmocka_unit_test(every_float),
        cmocka_unit_test(arrays_have_names),
        cmocka_unit_test(datasets),
        cmocka_unit_test(other_numbers_are_refused),
        cmocka_unit_test(long_names_are_refused),
        cmocka_unit_test(blocks_are_read),
        cmocka_unit_test(masks_of_keys),
        cmocka_unit_test(masks_of_other_arrays_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
