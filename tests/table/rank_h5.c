/* SPDX-License-Identifier: MIT */
/* The parts of HDF5 rank files other than columns: spectra, and malformed ones. */
#include <hdf5.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#include "base/memory.h"
#include "run/rank_file.h"

#define PATH "ranks.h5"

enum { MATRICES = 3, THRESHOLDS = 2, LENGTH = 3 };

static const double spectra[MATRICES * LENGTH] = {3, 2, 1, 2.5, 2, (double)NAN, 1, 0, 0};

/* Matrices of samples 9, 2, 2, layers 0, 0, 5 and heads 1, 1, 0; the second one is [2, 2]. */
static mgk_rank_table example(void)
{
    static const size_t sample[] = {9, 2, 2}, layer[] = {0, 0, 5}, head[] = {1, 1, 0};
    static const double thresholds[] = {1e-6, 1e-3};
    mgk_rank_table table;
    assert_ok(mgk_rank_table_make(THRESHOLDS, thresholds, LENGTH, &table));
    for (size_t r = 0; r < MATRICES; r++) {
        assert_ok(mgk_rank_table_append(&table));
        table.rows[r] = (mgk_rank_row){.sample = sample[r],
                                       .position = r,
                                       .layer = layer[r],
                                       .head = head[r],
                                       .n = r == 1 ? 2 : 3,
                                       .sigma_max = spectra[r * LENGTH]};
        memcpy(table.spectra + r * LENGTH, spectra + r * LENGTH, LENGTH * sizeof(double));
    }
    return table;
}

static void assert_same_reals(const double *found, const double *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(found[i] == expected[i]) && !(isnan(found[i]) && isnan(expected[i])))
            fail_msg("value %zu is %g, expected %g", i, found[i], expected[i]);
}

static void write_example(void)
{
    mgk_rank_table table = example();
    assert_ok(mgk_rank_file_write(&table, PATH, true));
    mgk_rank_table_free(&table);
}

static void spectra_come_back(void **state)
{
    (void)state;
    mgk_rank_table back;
    write_example();
    assert_ok(mgk_rank_file_read(PATH, true, &back));
    assert_int_equal(back.row_count, MATRICES);
    assert_int_equal(back.n_max, LENGTH);
    assert_same_reals(back.spectra, spectra, MATRICES * LENGTH);
    assert_int_equal(back.rows[2].layer, 5);
    mgk_rank_table_free(&back);
    assert_ok(mgk_rank_file_read(PATH, false, &back));
    assert_null(back.spectra);
    mgk_rank_table_free(&back);
}

/* [sample, layer, head, index] over samples 9, 2, as the rows have them, layers 0, 5, heads 0, 1.
 */
static void spectra_lie_on_a_grid(void **state)
{
    (void)state;
    double grid[2][2][2][LENGTH];
    int32_t samples[2];
    write_example();
    hid_t file = H5Fopen(PATH, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "singular_values", H5P_DEFAULT);
    hid_t scale = H5Dopen2(file, "samples", H5P_DEFAULT);
    assert_int_equal(H5Dget_storage_size(dataset), MATRICES * LENGTH * sizeof(double));
    assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, grid) >= 0);
    assert_true(H5Dread(scale, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples) >= 0);
    H5Dclose(scale);
    H5Dclose(dataset);
    H5Fclose(file);
    assert_int_equal(samples[0], 9);
    assert_int_equal(samples[1], 2);
    assert_same_reals(grid[0][0][1], spectra, LENGTH);
    assert_same_reals(grid[1][0][1], spectra + LENGTH, LENGTH);
    assert_same_reals(grid[1][1][0], spectra + 2 * LENGTH, LENGTH);
    assert_true(isnan(grid[0][1][1][0]));
}

/* Of a foreign store whose sample numbers repeat. */
static void spectra_need_places_of_their_own(void **state)
{
    (void)state;
    mgk_rank_table table = example();
    table.rows[0].sample = 2;
    unlink(PATH);
    assert_fails(mgk_rank_file_write(&table, PATH, true), STATUS_UNSUPPORTED);
    if (!strstr(mgk_fail_message(), "two matrices of sample 2, layer 0, head 1"))
        fail_msg("%s", mgk_fail_message());
    assert_int_not_equal(access(PATH, F_OK), 0);
    mgk_rank_table_free(&table);
}

/* The numbers of an axis may have any order, and must be those of the rows. */
static void spectra_lie_where_scales_say(void **state)
{
    (void)state;
    double grid[2][2][2][LENGTH], other[2][2][2][LENGTH];
    int32_t samples[] = {2, 9};
    mgk_rank_table back;
    write_example();
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "singular_values", H5P_DEFAULT);
    hid_t scale = H5Dopen2(file, "samples", H5P_DEFAULT);
    H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, grid);
    memcpy(other[0], grid[1], sizeof(grid[0]));
    memcpy(other[1], grid[0], sizeof(grid[0]));
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, other);
    H5Dwrite(scale, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples);
    H5Dclose(scale);
    H5Dclose(dataset);
    H5Fclose(file);
    assert_ok(mgk_rank_file_read(PATH, true, &back));
    assert_same_reals(back.spectra, spectra, MATRICES * LENGTH);
    mgk_rank_table_free(&back);
    samples[1] = 8;
    file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    scale = H5Dopen2(file, "samples", H5P_DEFAULT);
    H5Dwrite(scale, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples);
    H5Dclose(scale);
    H5Fclose(file);
    assert_fails(mgk_rank_file_read(PATH, true, &back), STATUS_SHAPE);
    assert_non_null(strstr(mgk_fail_message(), "lacks sample 9, layer 0, head 1"));
}

/* Files of earlier versions or of other software lack columns. */
static void without_later_columns(void **state)
{
    (void)state;
    static const char *const later[] = {"relative",  "position", "rank_low",    "rank_high",
                                        "nearest",   "storage",  "certificate", "method",
                                        "frobenius", "energy_1", "threshold",   "input"};
    mgk_rank_table table = example(), back;
    table.threshold_count = 1;
    assert_ok(mgk_rank_file_write(&table, PATH, true));
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    for (size_t i = 0; i < sizeof(later) / sizeof(*later); i++)
        assert_true(H5Ldelete(file, later[i], H5P_DEFAULT) >= 0);
    assert_true(H5Adelete(file, "settings") >= 0);
    H5Fclose(file);
    assert_ok(mgk_rank_file_read(PATH, false, &back));
    assert_true(back.thresholds[0] == 1e-6 && back.rows[0].sigma_max == 3);
    assert_true(isnan(back.rows[0].energy[0]) && isnan(back.rows[0].frobenius));
    mgk_rank_table_free(&back);
    mgk_rank_table_free(&table);
}

static void bad_files(void **state)
{
    (void)state;
    const hsize_t shorter = 4;
    mgk_rank_table back, table = example();
    table.row_count = 0;
    assert_fails(mgk_rank_file_write(&table, PATH, true), STATUS_USAGE);
    mgk_rank_table_free(&table);
    assert_fails(mgk_rank_file_read("missing.h5", true, &back), STATUS_IO);
    write_example();
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &shorter, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
    H5Ldelete(file, "rank", H5P_DEFAULT);
    H5Dclose(H5Dcreate2(file, "rank", H5T_NATIVE_INT, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    H5Pclose(properties);
    H5Sclose(space);
    H5Fclose(file);
    assert_fails(mgk_rank_file_read(PATH, true, &back), STATUS_SHAPE);
    assert_null(back.rows);

    file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Adelete(file, "format");
    H5Fclose(file);
    assert_fails(mgk_rank_file_read(PATH, true, &back), STATUS_FORMAT);
    unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spectra_come_back),
        cmocka_unit_test(spectra_lie_on_a_grid),
        cmocka_unit_test(spectra_need_places_of_their_own),
        cmocka_unit_test(spectra_lie_where_scales_say),
        cmocka_unit_test(without_later_columns),
        cmocka_unit_test(bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
