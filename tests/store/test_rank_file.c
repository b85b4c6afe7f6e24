#include "store/rank_file.h"

#include <hdf5.h>
#include <unistd.h>

#include "test.h"

#define PATH "ranks.h5"

enum { ROWS = 6, THRESHOLDS = 2, MATRICES = ROWS / THRESHOLDS, LENGTH = 3 };

/* Three matrices of samples 9, 2, 2, at two thresholds. */
static int32_t sample[ROWS] = {9, 9, 2, 2, 2, 2}, layer[ROWS] = {0, 0, 0, 0, 5, 5};
static int32_t input[ROWS] = {0, 0, 1, 1, 1, 1};
static int32_t head[ROWS] = {1, 1, 1, 1, 0, 0}, n[ROWS] = {3, 3, 2, 2, 3, 3};
static int32_t rank[ROWS] = {3, 1, 2, 2, 0, -1}, undecided[ROWS] = {0, 1, 0, 0, 0, 0};
static double threshold[ROWS] = {1e-6, 1e-3, 1e-6, 1e-3, 1e-6, 1e-3};
static double sigma_max[ROWS] = {3, 3, 2.5, 2.5, 1, 1}, sigma_min[ROWS] = {1, 1, 2, 2, 0, 0};
static double effective[ROWS] = {2.5, 2.5, 1.9, 1.9, 1, 1}, stable[ROWS] = {1.5, 1.5, 1, 1, 1, 1};
static double spectra[MATRICES * LENGTH] = {3, 2, 1, 2.5, 2, 0, 1, 0, 0};
static int32_t method[ROWS] = {0, 0, 2, 2, 1, 1}, certificate[ROWS] = {2, 0, 1, 1, 2, 2};
static double ratio[ROWS] = {0.5, 0.5, 0.8, 0.8, 0, 0}, energy[ROWS] = {0.7, 0.7, 1, 1, 1, 1};
static double noise[ROWS] = {1e-9, 1e-9, 2e-9, 2e-9, 0, 0};
static char settings[] = "{\"method\": \"svd\"}";

static mgk_rank_file example(void)
{
    spectra[5] = NAN; /* the second matrix has two singular values */
    stable[4] = stable[5] = NAN;
    return (mgk_rank_file){.rows = ROWS,
                           .thresholds = THRESHOLDS,
                           .threshold = threshold,
                           .input = input,
                           .sample = sample,
                           .layer = layer,
                           .head = head,
                           .n = n,
                           .rank = rank,
                           .undecided = undecided,
                           .sigma_max = sigma_max,
                           .sigma_min = sigma_min,
                           .effective_rank = effective,
                           .stable_rank = stable,
                           .method = method,
                           .certificate = certificate,
                           .sigma_ratio = ratio,
                           .energy_1 = energy,
                           .energy_4 = ratio,
                           .energy_16 = effective,
                           .energy_64 = stable,
                           .noise_floor = noise,
                           .spectrum_length = LENGTH,
                           .singular_values = spectra,
                           .settings = settings};
}

static void assert_same_reals(const double *found, const double *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(found[i] == expected[i]) && !(isnan(found[i]) && isnan(expected[i])))
            fail_msg("value %zu is %g, expected %g", i, found[i], expected[i]);
}

static void roundtrip(void **state)
{
    (void)state;
    mgk_rank_file written = example(), found;
    assert_ok(mgk_rank_file_write(PATH, true, &written));
    assert_ok(mgk_rank_file_read(PATH, &found));
    assert_int_equal(found.rows, ROWS);
    assert_int_equal(found.thresholds, THRESHOLDS);
    assert_memory_equal(found.input, input, sizeof(input));
    assert_memory_equal(found.sample, sample, sizeof(sample));
    assert_memory_equal(found.layer, layer, sizeof(layer));
    assert_memory_equal(found.head, head, sizeof(head));
    assert_memory_equal(found.n, n, sizeof(n));
    assert_memory_equal(found.rank, rank, sizeof(rank));
    assert_memory_equal(found.undecided, undecided, sizeof(undecided));
    assert_same_reals(found.threshold, threshold, ROWS);
    assert_same_reals(found.sigma_max, sigma_max, ROWS);
    assert_same_reals(found.sigma_min, sigma_min, ROWS);
    assert_same_reals(found.effective_rank, effective, ROWS);
    assert_same_reals(found.stable_rank, stable, ROWS);
    assert_memory_equal(found.method, method, sizeof(method));
    assert_memory_equal(found.certificate, certificate, sizeof(certificate));
    assert_same_reals(found.sigma_ratio, ratio, ROWS);
    assert_same_reals(found.energy_1, energy, ROWS);
    assert_same_reals(found.energy_4, ratio, ROWS);
    assert_same_reals(found.energy_16, effective, ROWS);
    assert_same_reals(found.energy_64, stable, ROWS);
    assert_same_reals(found.noise_floor, noise, ROWS);
    assert_int_equal(found.spectrum_length, LENGTH);
    assert_same_reals(found.singular_values, spectra, MATRICES * LENGTH);
    assert_string_equal(found.settings, settings);
    mgk_rank_file_free(&found);
    mgk_rank_file_free(&found);
}

/* [sample, layer, head, index] over samples 2, 9, layers 0, 5 and heads 0, 1. */
static void spectra_lie_on_a_grid(void **state)
{
    (void)state;
    mgk_rank_file written = example();
    double grid[2][2][2][LENGTH];
    int32_t samples[2];
    assert_ok(mgk_rank_file_write(PATH, true, &written));
    hid_t file = H5Fopen(PATH, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "singular_values", H5P_DEFAULT);
    hid_t scale = H5Dopen2(file, "samples", H5P_DEFAULT);
    assert_true(H5Aexists_by_name(file, "method", "codes", H5P_DEFAULT) > 0);
    assert_true(H5Aexists_by_name(file, "rank", "codes", H5P_DEFAULT) == 0);
    assert_int_equal(H5Dget_storage_size(dataset), MATRICES * LENGTH * sizeof(double));
    assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, grid) >= 0);
    assert_true(H5Dread(scale, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples) >= 0);
    H5Dclose(scale);
    H5Dclose(dataset);
    H5Fclose(file);
    assert_int_equal(samples[0], 2);
    assert_int_equal(samples[1], 9);
    assert_same_reals(grid[1][0][1], spectra, LENGTH);
    assert_same_reals(grid[0][0][1], spectra + LENGTH, LENGTH);
    assert_same_reals(grid[0][1][0], spectra + 2 * LENGTH, LENGTH);
    assert_true(isnan(grid[1][1][1][0]));
}

/* As earlier versions wrote them. */
static void without_later_columns(void **state)
{
    (void)state;
    mgk_rank_file written = example(), found;
    written.method = written.certificate = NULL;
    written.sigma_ratio = written.noise_floor = NULL;
    assert_ok(mgk_rank_file_write(PATH, true, &written));
    assert_ok(mgk_rank_file_read(PATH, &found));
    assert_true(!found.method && !found.certificate && !found.sigma_ratio && !found.noise_floor);
    assert_same_reals(found.energy_64, stable, ROWS);
    assert_memory_equal(found.rank, rank, sizeof(rank));
    mgk_rank_file_free(&found);
    written.energy_1 = written.energy_4 = written.energy_16 = written.energy_64 = NULL;
    assert_ok(mgk_rank_file_write(PATH, true, &written));
    assert_ok(mgk_rank_file_read(PATH, &found));
    assert_null(found.energy_1);
    mgk_rank_file_free(&found);
}

static void without_spectra(void **state)
{
    (void)state;
    mgk_rank_file written = example(), found;
    written.singular_values = NULL;
    written.settings = NULL;
    assert_fails(mgk_rank_file_write(PATH, false, &written), STATUS_EXISTS);
    assert_ok(mgk_rank_file_write(PATH, true, &written));
    assert_ok(mgk_rank_file_read(PATH, &found));
    assert_null(found.singular_values);
    assert_int_equal(found.spectrum_length, 0);
    assert_string_equal(found.settings, "{}");
    mgk_rank_file_free(&found);
}

static void bad_input(void **state)
{
    (void)state;
    const hsize_t shorter = 4;
    mgk_rank_file written = example(), found;
    written.thresholds = 4;
    assert_fails(mgk_rank_file_write(PATH, true, &written), STATUS_USAGE);
    written.rows = 0;
    assert_fails(mgk_rank_file_write(PATH, true, &written), STATUS_USAGE);
    assert_fails(mgk_rank_file_read("missing.h5", &found), STATUS_IO);

    written = example();
    assert_ok(mgk_rank_file_write(PATH, true, &written));
    hid_t file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &shorter, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
    H5Ldelete(file, "rank", H5P_DEFAULT);
    H5Dclose(H5Dcreate2(file, "rank", H5T_NATIVE_INT, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    H5Pclose(properties);
    H5Sclose(space);
    H5Fclose(file);
    assert_fails(mgk_rank_file_read(PATH, &found), STATUS_SHAPE);
    assert_null(found.sample);

    file = H5Fopen(PATH, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Adelete(file, "format");
    H5Fclose(file);
    assert_fails(mgk_rank_file_read(PATH, &found), STATUS_FORMAT);
    unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roundtrip),
        cmocka_unit_test(spectra_lie_on_a_grid),
        cmocka_unit_test(without_later_columns),
        cmocka_unit_test(without_spectra),
        cmocka_unit_test(bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
