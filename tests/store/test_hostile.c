/* SPDX-License-Identifier: MIT */
/* Malformed files: one clear failure, no crash, no large allocation. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/fixture.h"
#include "store/foreign/list.h"
#include "store/schema/reader.h"
#include "test.h"

#define PATH "hostile.h5"

static void write_good_store(void)
{
    mgk_store_description description = fixture_description(5, STORE_F32, FIXTURE_ALL);
    assert_ok(fixture_store(PATH, &description, STORE_F32, 1));
}

static void expect_open_failure(mgk_status expected, const char *said)
{
    mgk_store_reader *reader;
    assert_fails(mgk_store_open(PATH, NULL, &reader), expected);
    assert_null(reader);
    if (!strstr(mgk_fail_message(), said))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), said);
}

static void not_hdf5(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    unlink(PATH);
    expect_open_failure(STATUS_IO, "No such file");
    assert_ok(mgk_write_file(PATH, true, "", 0));
    expect_open_failure(STATUS_FORMAT, "not an HDF5 file");
    assert_ok(mgk_write_file(PATH, true, "once upon a time", 16));
    expect_open_failure(STATUS_FORMAT, "not an HDF5 file");
    assert_fails(mgk_store_open(".", NULL, &reader), STATUS_IO);
    unlink("hostile.fifo");
    assert_int_equal(mkfifo("hostile.fifo", 0666), 0);
    assert_fails(mgk_store_open("hostile.fifo", NULL, &reader), STATUS_IO);
    unlink("hostile.fifo");
}

static void truncated(void **state)
{
    (void)state;
    struct stat info;
    write_good_store();
    assert_int_equal(stat(PATH, &info), 0);
    for (off_t size = info.st_size - 1; size > 0; size -= info.st_size / 40) {
        mgk_store_reader *reader;
        assert_int_equal(truncate(PATH, size), 0);
        assert_fails(mgk_store_open(PATH, NULL, &reader), STATUS_FORMAT);
    }
}

/* Opens the good store, to change it with HDF5 itself. */
static hid_t tamper(void)
{
    write_good_store();
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static mgk_status ignore_entry(void *context, const mgk_store_entry *entry)
{
    (void)context;
    (void)entry;
    return STATUS_OK;
}

static void replace_dataset(const char *name, hid_t type, int rank, const hsize_t *shape,
                            const hsize_t *chunk)
{
    hid_t file = tamper();
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(rank, shape, NULL);
    if (chunk)
        H5Pset_chunk(properties, rank, chunk);
    else
        H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
    assert_true(H5Ldelete(file, name, H5P_DEFAULT) >= 0);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(properties);
    H5Fclose(file);
}

static void write_numbers(const char *name, hid_t type, const void *numbers)
{
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
}

static void wrong_root(void **state)
{
    (void)state;
    hid_t file = tamper();
    H5Adelete(file, "format");
    H5Fclose(file);
    expect_open_failure(STATUS_FORMAT, "not an attention store");

    file = tamper();
    hid_t version = H5Aopen(file, "format_version", H5P_DEFAULT);
    H5Awrite(version, H5T_NATIVE_INT, &(int){3});
    H5Aclose(version);
    H5Fclose(file);
    expect_open_failure(STATUS_UNSUPPORTED, "format_version is 3, expected 1 or 2");

    file = tamper();
    H5Ldelete(file, "lengths", H5P_DEFAULT);
    H5Fclose(file);
    expect_open_failure(STATUS_FORMAT, "no dataset \"lengths\"");
}

static void wrong_datasets(void **state)
{
    (void)state;
    const hsize_t shape[] = {3, 2, 2, 5, 5}, other[] = {3, 2, 2, 5, 4};
    replace_dataset("attention", H5T_NATIVE_FLOAT, 5, other, NULL);
    expect_open_failure(STATUS_SHAPE, "\"attention\" is [3,2,2,5,4], expected [3,2,2,5,5]");
    replace_dataset("attention", H5T_NATIVE_FLOAT, 4, shape, NULL);
    expect_open_failure(STATUS_SHAPE, "\"attention\" is [3,2,2,5]");
    replace_dataset("attention", H5T_NATIVE_INT, 5, shape, NULL);
    expect_open_failure(STATUS_FORMAT, "does not hold floating-point numbers");
    replace_dataset("attention", H5T_NATIVE_LDOUBLE, 5, shape, NULL);
    expect_open_failure(STATUS_UNSUPPORTED, "numbers of 16 bytes");
    replace_dataset("sample", H5T_NATIVE_FLOAT, 1, shape, NULL);
    expect_open_failure(STATUS_FORMAT, "does not hold integers");
    replace_dataset("sample", H5T_NATIVE_INT, 2, shape, NULL);
    expect_open_failure(STATUS_SHAPE, "has 2 axes, expected 1");
    replace_dataset("tokens", H5T_NATIVE_INT, 1, shape, NULL);
    expect_open_failure(STATUS_SHAPE, "\"tokens\" is [3]");
    replace_dataset("variances", H5T_NATIVE_FLOAT, 2, shape, NULL);
    expect_open_failure(STATUS_SHAPE, "\"variances\" is [3,2], expected [2,2,2]");
}

/* Chunks that were never written: a file of kilobytes claims terabytes. */
static void huge_shapes(void **state)
{
    (void)state;
    const hsize_t huge[] = {1 << 30, 1 << 30}, chunk[] = {1 << 10, 1 << 10};
    const hsize_t beyond[] = {(hsize_t)1 << 40}, empty[] = {0, 5};
    replace_dataset("sample", H5T_NATIVE_INT, 1, huge, chunk);
    expect_open_failure(STATUS_FORMAT, "only 0 bytes of it are stored");
    replace_dataset("tokens", H5T_NATIVE_INT, 2, huge, chunk);
    expect_open_failure(STATUS_FORMAT, "only 0 bytes of it are stored");
    replace_dataset("head", H5T_NATIVE_INT, 1, beyond, chunk);
    expect_open_failure(STATUS_SHAPE, "impossible shape [1099511627776]");
    replace_dataset("tokens", H5T_NATIVE_INT, 2, empty, NULL);
    expect_open_failure(STATUS_SHAPE, "impossible shape [0,5]");
}

/* Replaces an 8-byte number everywhere in the file. */
static void patch(uint64_t from, uint64_t to)
{
    mgk_mapping file;
    unsigned char *bytes;
    size_t size, found = 0;
    assert_ok(mgk_map_file(PATH, &file));
    size = file.size;
    bytes = malloc(size);
    assert_non_null(bytes);
    memcpy(bytes, file.data, size);
    mgk_unmap_file(&file);
    for (size_t i = 0; i + sizeof(from) <= size; i++)
        if (memcmp(bytes + i, &from, sizeof(from)) == 0) {
            memcpy(bytes + i, &to, sizeof(to));
            found++;
        }
    assert_true(found > 0);
    assert_ok(mgk_write_file(PATH, true, bytes, size));
    free(bytes);
}

/* A file may lie about its storage as well as about its shape. */
static void storage_that_lies(void **state)
{
    (void)state;
    const hsize_t shape[] = {701, 703};
    const uint64_t more = 1 << 20;
    replace_dataset("tokens", H5T_NATIVE_INT, 2, shape, NULL);
    patch(701, 701 * more);
    patch(sizeof(int) * 701 * 703, sizeof(int) * 701 * 703 * more);
    expect_open_failure(STATUS_FORMAT, "bytes of it are stored");
}

/* A small dataset with chunks that unpack to gigabytes. */
static void huge_chunks(void **state)
{
    (void)state;
    const hsize_t shape[] = {3, 5}, most[] = {H5S_UNLIMITED, H5S_UNLIMITED},
                  chunk[] = {30000, 30000};
    hid_t file = tamper();
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(2, shape, most);
    H5Pset_chunk(properties, 2, chunk);
    H5Ldelete(file, "tokens", H5P_DEFAULT);
    hid_t dataset =
        H5Dcreate2(file, "tokens", H5T_NATIVE_INT, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(properties);
    H5Fclose(file);
    expect_open_failure(STATUS_FORMAT, "has chunks of 3600000000 bytes");
}

/* Values in a pipe without a writer: opening it would hang. */
static void values_elsewhere(void **state)
{
    (void)state;
    const char *const pipe = "hostile.fifo", *const endless = "/dev/zero";
    const hsize_t shape[] = {3, 5}, most[] = {H5S_UNLIMITED, 5};
    unlink(pipe);
    assert_int_equal(mkfifo(pipe, 0666), 0);
    for (int i = 0; i < 4; i++) {
        hid_t file = tamper();
        hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
        hid_t space = H5Screate_simple(2, shape, NULL), source = H5Screate_simple(2, shape, most);
        H5Ldelete(file, "tokens", H5P_DEFAULT);
        if (i < 2) {
            H5Pset_external(properties, i ? pipe : endless, 0, H5F_UNLIMITED);
        } else {
            H5Sclose(space);
            space = H5Screate_simple(2, shape, most);
            const hsize_t start[] = {0, 0}, count[] = {H5S_UNLIMITED, 1}, block[] = {1, 5};
            H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, block);
            H5Sselect_hyperslab(source, H5S_SELECT_SET, start, NULL, count, block);
            assert_true(H5Pset_virtual(properties, space, i == 2 ? pipe : endless, "x", source) >=
                        0);
        }
        hid_t dataset =
            H5Dcreate2(file, "tokens", H5T_NATIVE_INT, space, H5P_DEFAULT, properties, H5P_DEFAULT);
        assert_true(dataset >= 0);
        H5Dclose(dataset);
        H5Sclose(space);
        H5Sclose(source);
        H5Pclose(properties);
        H5Fclose(file);
        expect_open_failure(STATUS_UNSUPPORTED, "the values of \"tokens\" are in other files");
        assert_ok(mgk_store_list(PATH, ignore_entry, NULL));
    }
    hid_t file = tamper();
    H5Ldelete(file, "tokens", H5P_DEFAULT);
    assert_true(H5Lcreate_external(pipe, "x", file, "tokens", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
    expect_open_failure(STATUS_UNSUPPORTED, "\"tokens\" is in another file");
    unlink(pipe);
}

static void wrong_lengths(void **state)
{
    (void)state;
    const int lengths[] = {0, 6, 5}; /* a sample without matrices would have rank 0 */
    mgk_store_reader *reader;
    double matrix[25];
    int32_t length;
    hid_t file = tamper();
    hid_t dataset = H5Dopen2(file, "lengths", H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, lengths);
    H5Dclose(dataset);
    H5Fclose(file);
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    for (int32_t sample = 0; sample < 2; sample++)
        assert_fails(mgk_store_read_matrix(reader, sample, 0, 0, STORE_F64, matrix, &length),
                     STATUS_FORMAT);
    assert_ok(mgk_store_read_matrix(reader, 2, 0, 0, STORE_F64, matrix, &length));
    assert_int_equal(length, 5);
    mgk_store_close(reader);
}

/* Damage to a deflated chunk is noticed when the chunk is read. */
static void damaged_chunk(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    double matrix[25];
    const hsize_t offset[] = {1, 1, 1, 0, 0};
    unsigned mask;
    haddr_t address;
    hsize_t size;
    hid_t file = tamper();
    hid_t dataset = H5Dopen2(file, "attention", H5P_DEFAULT);
    assert_true(H5Dget_chunk_info_by_coord(dataset, offset, &mask, &address, &size) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);

    FILE *raw = fopen(PATH, "r+b");
    assert_non_null(raw);
    assert_int_equal(fseek(raw, (long)address, SEEK_SET), 0);
    for (hsize_t i = 0; i < size; i++)
        assert_int_equal(fputc(0xa5, raw), 0xa5);
    fclose(raw);
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    assert_ok(mgk_store_read_matrix(reader, 1, 1, 0, STORE_F64, matrix, NULL));
    assert_fails(mgk_store_read_matrix(reader, 1, 1, 1, STORE_F64, matrix, NULL), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "cannot read \"attention\": a chunk is damaged"));
    mgk_store_close(reader);
}

/* An integer beyond 32 bits is not clamped. */
static void wide_numbers(void **state)
{
    (void)state;
    const int64_t wide[15] = {1, (int64_t)1 << 62, -((int64_t)1 << 40)};
    const hsize_t sizes[] = {3, 2, 2}, chunk = 2;
    static const char *const scales[] = {"sample", "layer", "head"};
    for (int i = 0; i < 3; i++)
        for (int chunked = 0; chunked < 2; chunked++) {
            replace_dataset(scales[i], H5T_NATIVE_INT64, 1, &sizes[i], chunked ? &chunk : NULL);
            write_numbers(scales[i], H5T_NATIVE_INT64, wide);
            char message[64];
            snprintf(message, sizeof(message), "\"%s\" holds a number beyond 32 bits", scales[i]);
            expect_open_failure(STATUS_FORMAT, message);
        }
    /* Integers of any width are read if their values fit. */
    replace_dataset("layer", H5T_NATIVE_INT64, 1, &sizes[1], NULL);
    write_numbers("layer", H5T_NATIVE_INT64, (int64_t[]){INT32_MAX, 0});
    mgk_store_reader *reader;
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    assert_int_equal(mgk_store_describe(reader)->layer_index[0], INT32_MAX);
    mgk_store_close(reader);
    int32_t tokens[5], length;
    const hsize_t shape[] = {3, 5};
    replace_dataset("tokens", H5T_NATIVE_INT64, 2, shape, NULL);
    write_numbers("tokens", H5T_NATIVE_INT64, wide);
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    assert_fails(mgk_store_read_tokens(reader, 0, tokens, &length), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "\"tokens\" holds a number beyond 32 bits"));
    mgk_store_close(reader);
    replace_dataset("lengths", H5T_NATIVE_INT64, 1, shape, NULL);
    write_numbers("lengths", H5T_NATIVE_INT64, wide);
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    assert_fails(mgk_store_read_length(reader, 1, &length), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "\"lengths\" holds a number beyond 32 bits"));
    mgk_store_close(reader);
}

/* An attribute of another type. */
static void wide_attribute(void **state)
{
    (void)state;
    hid_t file = tamper(), space = H5Screate(H5S_SCALAR);
    H5Adelete(file, "format_version");
    hid_t version =
        H5Acreate2(file, "format_version", H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(version, H5T_NATIVE_INT64, &(int64_t){1 + ((int64_t)1 << 32)}) >= 0);
    H5Aclose(version);
    H5Sclose(space);
    H5Fclose(file);
    expect_open_failure(STATUS_FORMAT, "attribute \"format_version\" is beyond 32 bits");
}

static mgk_status find_axes(void *context, const mgk_store_entry *entry)
{
    if (strcmp(entry->object, "/tokens") == 0 && entry->rank > 0)
        snprintf(context, 64, "%s", entry->axes);
    return STATUS_OK;
}

/* More labels than axes, or labels longer than pointers: the library would write past its
 * memory. */
static void labels_without_axes(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static const char *texts[COUNT];
    static char fixed[2][COUNT];
    char axes[64];
    mgk_store_reader *reader;
    for (int i = 0; i < COUNT; i++)
        texts[i] = "label";
    for (int variable = 0; variable < 2; variable++) {
        const hsize_t count = variable ? COUNT : 2;
        hid_t file = tamper(), dataset = H5Dopen2(file, "tokens", H5P_DEFAULT);
        hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &count, NULL);
        assert_true(H5Tset_size(type, variable ? H5T_VARIABLE : COUNT) >= 0);
        assert_true(H5Adelete(dataset, "DIMENSION_LABELS") >= 0);
        hid_t labels =
            H5Acreate2(dataset, "DIMENSION_LABELS", type, space, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(H5Awrite(labels, type, variable ? (void *)texts : (void *)fixed) >= 0);
        H5Aclose(labels);
        H5Sclose(space);
        H5Tclose(type);
        H5Dclose(dataset);
        H5Fclose(file);
        strcpy(axes, "not listed");
        assert_ok(mgk_store_list(PATH, find_axes, axes));
        assert_string_equal(axes, "");
        assert_ok(mgk_store_open(PATH, NULL, &reader));
        mgk_store_close(reader);
    }
}

static int remove_file(void **state)
{
    (void)state;
    unlink(PATH);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_hdf5),
        cmocka_unit_test(truncated),
        cmocka_unit_test(wrong_root),
        cmocka_unit_test(wrong_datasets),
        cmocka_unit_test(huge_shapes),
        cmocka_unit_test(storage_that_lies),
        cmocka_unit_test(huge_chunks),
        cmocka_unit_test(values_elsewhere),
        cmocka_unit_test(wrong_lengths),
        cmocka_unit_test(damaged_chunk),
        cmocka_unit_test(wide_numbers),
        cmocka_unit_test(wide_attribute),
        cmocka_unit_test(labels_without_axes),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
