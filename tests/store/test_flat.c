/* SPDX-License-Identifier: MIT */
/* Matrices that are read where they lie, and those that only HDF5 can read: both give the same
 * numbers, to several threads at once. */
#include <hdf5.h>
#include <string.h>
#include <unistd.h>

#include "store/hdf5/h5_flat.h"
#include "store/schema/reader.h"
#include "test.h"

#define PATH "flat.h5"

enum { SAMPLES = 3, HEADS = 2, TOKENS = 7, RANK = 4, ENTRIES = TOKENS * TOKENS };

typedef struct layout {
    const char *name;
    hsize_t chunk[RANK]; /* 0: contiguous */
    bool wide, big_endian, packed;
    hsize_t userblock;
    bool flat; /* matrices can be read where they lie */
} layout;

static const layout layouts[] = {
    {.name = "contiguous", .flat = true},
    {.name = "contiguous doubles", .wide = true, .flat = true},
    {.name = "a chunk a matrix", .chunk = {1, 1, TOKENS, TOKENS}, .flat = true},
    {.name = "doubles", .chunk = {1, 1, TOKENS, TOKENS}, .wide = true, .flat = true},
    {.name = "rows, the last chunk beyond the matrix", .chunk = {1, 1, 3, TOKENS}, .flat = true},
    {.name = "columns", .chunk = {1, 1, TOKENS, 3}},
    {.name = "two heads a chunk", .chunk = {1, 2, TOKENS, TOKENS}},
    {.name = "two samples a chunk", .chunk = {2, 1, TOKENS, TOKENS}},
    {.name = "packed", .chunk = {1, 1, TOKENS, TOKENS}, .packed = true},
    {.name = "big-endian", .big_endian = true},
    {.name = "after something else", .userblock = 512},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static double value_of(int sample, int head, int place)
{
    return sample * 1000 + head * 100 + place + 0.5;
}

/* Writes all samples but `missing`. */
static void make_file(const layout *l, int missing)
{
    const hsize_t shape[RANK] = {SAMPLES, HEADS, TOKENS, TOKENS};
    const float never = -2.5f;
    hid_t creation = H5Pcreate(H5P_FILE_CREATE), properties = H5Pcreate(H5P_DATASET_CREATE);
    hid_t type = l->big_endian ? H5T_IEEE_F32BE : l->wide ? H5T_IEEE_F64LE : H5T_IEEE_F32LE;
    hid_t space = H5Screate_simple(RANK, shape, NULL);
    H5Pset_userblock(creation, l->userblock);
    H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &never);
    if (l->chunk[0])
        H5Pset_chunk(properties, RANK, l->chunk);
    if (l->packed)
        H5Pset_deflate(properties, 6);
    hid_t file = H5Fcreate(PATH, H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    hid_t dataset = H5Dcreate2(file, "a", type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    for (int s = 0; s < SAMPLES; s++) {
        const hsize_t start[RANK] = {(hsize_t)s}, count[RANK] = {1, HEADS, TOKENS, TOKENS};
        hid_t memory = H5Screate_simple(RANK, count, NULL);
        double values[HEADS][ENTRIES];
        for (int i = 0; i < HEADS * ENTRIES; i++)
            values[i / ENTRIES][i % ENTRIES] = value_of(s, i / ENTRIES, i % ENTRIES);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        if (s != missing)
            assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) >=
                        0);
        H5Sclose(memory);
    }
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(properties);
    H5Pclose(creation);
    assert_true(H5Fclose(file) >= 0);
}

/* Whether the first rows of a matrix are found in the file. */
static bool is_found(void)
{
    const hsize_t start[RANK] = {1, 1}, count[RANK] = {1, 1, 3, TOKENS};
    mgk_h5_file file;
    mgk_h5_flat flat;
    uint64_t address = 0;
    mgk_h5_enter();
    assert_ok(mgk_h5_open(PATH, &file));
    hid_t dataset = H5Dopen2(file.id, "a", H5P_DEFAULT);
    mgk_h5_find_flat(&file, dataset, RANK, &flat);
    const bool found = mgk_h5_locate(&flat, dataset, start, count, &address);
    H5Dclose(dataset);
    mgk_h5_abandon(&file);
    mgk_h5_leave();
    return found;
}

/* Whether a matrix, read as numbers of `type`, is that of make_file. */
static bool is_right(mgk_store_reader *reader, int sample, int head, mgk_store_real type)
{
    double wide[ENTRIES];
    float narrow[ENTRIES];
    void *out = type == STORE_F64 ? (void *)wide : (void *)narrow;
    bool right = mgk_store_read_matrix(reader, sample, 0, head, type, out, NULL) == STATUS_OK;
    for (int i = 0; i < ENTRIES && right; i++)
        right = (type == STORE_F64 ? wide[i] : (double)narrow[i]) == value_of(sample, head, i);
    return right;
}

static void layouts_are_read_alike(void **state)
{
    (void)state;
    for (size_t l = 0; l < LAYOUTS; l++) {
        mgk_store_reader *reader;
        int wrong = 0;
        make_file(&layouts[l], -1);
        assert_ok(mgk_store_open(PATH, "a", &reader));
#pragma omp parallel for num_threads(4) reduction(+ : wrong)
        for (int i = 0; i < 20 * SAMPLES * HEADS; i++)
            wrong +=
                !is_right(reader, i / HEADS % SAMPLES, i % HEADS, i % 5 ? STORE_F64 : STORE_F32);
        mgk_store_close(reader);
        if (wrong > 0 || is_found() != layouts[l].flat)
            fail_msg("%s: %d wrong matrices, found: %d", layouts[l].name, wrong, is_found());
    }
}

static void what_was_never_written_has_its_value(void **state)
{
    (void)state;
    for (size_t l = 0; l < LAYOUTS; l++) {
        mgk_store_reader *reader;
        double matrix[ENTRIES];
        make_file(&layouts[l], 2);
        assert_ok(mgk_store_open(PATH, "a", &reader));
        if (mgk_store_read_matrix(reader, 2, 0, 1, STORE_F64, matrix, NULL) != STATUS_OK)
            fail_msg("%s: %s", layouts[l].name, mgk_fail_message());
        for (int i = 0; i < ENTRIES; i++)
            assert_true(matrix[i] == -2.5);
        mgk_store_close(reader);
    }
}

static void a_file_that_shrinks_is_refused(void **state)
{
    (void)state;
    for (size_t l = 0; l < LAYOUTS; l++) {
        mgk_store_reader *reader;
        double matrix[ENTRIES];
        if (!layouts[l].flat)
            continue;
        make_file(&layouts[l], -1);
        assert_ok(mgk_store_open(PATH, "a", &reader));
        assert_int_equal(truncate(PATH, 600), 0);
        assert_fails(mgk_store_read_matrix(reader, 2, 0, 1, STORE_F64, matrix, NULL),
                     STATUS_FORMAT);
        assert_non_null(strstr(mgk_fail_message(), PATH ": cannot read \"a\": "));
        mgk_store_close(reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_read_alike),
        cmocka_unit_test(what_was_never_written_has_its_value),
        cmocka_unit_test(a_file_that_shrinks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
