/* SPDX-License-Identifier: MIT */
/* mgk_plot_picture: ranks against the threshold, from every format of rank files. */
#include "plot_case.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/sweep.h"
#include "base/memory.h"
#include "plots/charts/sweep.h"
#include "run/rank_file.h"
#include "test.h"
#include "tiny.h"

static const char *const spectra = "sweep_spectra.h5";

/* Writes ranks of the store; without thresholds it writes spectra. */
static void write_ranks(const char *path, const double *thresholds, size_t count, bool relative)
{
    mgk_rank_options o = mgk_rank_options_default();
    o.job.force = true;
    o.job.threads = 1;
    o.inputs = &case_store;
    o.input_count = 1;
    o.output = path;
    o.relative = relative;
    o.spectrum = thresholds == NULL;
    if (thresholds) {
        o.thresholds = thresholds;
        o.threshold_count = count;
    }
    assert_done(mgk_rank_attention(&o, NULL));
}

static mgk_plot_options sweep_of(const char *const *paths, size_t count)
{
    mgk_plot_options o = case_options(MGK_PLOT_RANKS, paths, count);
    o.sweep = true;
    return o;
}

static png_picture draw(const char *path)
{
    mgk_plot_options o = sweep_of(&path, 1);
    o.names = (const char *const[]){"the same"};
    o.name_count = 1;
    return case_draw(&o);
}

static size_t count_grey(const png_picture *picture)
{
    const mgk_rgb noise = {230, 230, 230};
    size_t count = 0;
    for (size_t i = 0; i < picture->width * picture->height; i++)
        count += memcmp(&picture->pixels[i], &noise, sizeof(noise)) == 0;
    return count;
}

/* Counts in spectra equal mgk-rank's counts at these thresholds. */
static void spectra_give_what_thresholds_give(void **state)
{
    (void)state;
    double thresholds[MGK_SWEEP_THRESHOLDS];
    for (int t = 0; t < MGK_SWEEP_THRESHOLDS; t++)
        thresholds[t] = pow(10, -8 + t / 4.0);
    for (int relative = 0; relative <= 1; relative++) {
        write_ranks(spectra, NULL, 0, relative);
        png_picture expected = draw(spectra);
        static const char *const paths[] = {"sweep.json", "sweep.h5"};
        for (int i = 0; i < 2; i++) {
            write_ranks(paths[i], thresholds, MGK_SWEEP_THRESHOLDS, relative);
            png_picture picture = draw(paths[i]);
            case_assert_same(&picture, &expected);
            mgk_free(picture.pixels);
        }
        assert_true(count_grey(&expected) > 1000);
        mgk_free(expected.pixels);
    }
}

/* Above the noise floor, which CSV does not contain, all formats give the same picture, in any
 * order. */
static void formats_agree(void **state)
{
    (void)state;
    const double up[] = {1e-5, 1e-4, 0.5}, mixed[] = {1e-4, 0.5, 1e-5};
    static const char *const paths[] = {"sweep.csv", "sweep.json", "sweep.h5"};
    write_ranks(paths[0], up, 3, false);
    png_picture first = draw(paths[0]);
    assert_true(count_grey(&first) < 1000);
    for (int i = 0; i < 3; i++) {
        write_ranks(paths[i], mixed, 3, false);
        png_picture picture = draw(paths[i]);
        case_assert_same(&picture, &first);
        mgk_free(picture.pixels);
    }
    mgk_free(first.pixels);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The same picture from the file's rows: for 5 matrices a layer quartiles are ranks. */
static void lines_are_those_of_the_file(void **state)
{
    (void)state;
    enum { LAYERS = 3, T = 3, PER_LAYER = 5 };
    static const int32_t numbers[LAYERS] = {0, 1, 2};
    static const char *const path = "sweep_rows.json";
    const double thresholds[T] = {1e-6, 0.05, 0.2};
    double median[LAYERS * T], lower[LAYERS * T], upper[LAYERS * T], noise[LAYERS] = {0};
    mgk_rank_options o = mgk_rank_options_default();
    o.job.force = true;
    o.inputs = &case_store;
    o.input_count = 1;
    o.output = path;
    o.thresholds = thresholds;
    o.threshold_count = T;
    o.matrices = PER_LAYER;
    o.job.seed = 8; /* medians differ from layer to layer */
    assert_done(mgk_rank_attention(&o, NULL));
    mgk_rank_table table;
    assert_ok(mgk_rank_file_read(path, false, &table));
    assert_int_equal(table.row_count, LAYERS * PER_LAYER);
    for (size_t i = 0; i < LAYERS * T; i++) {
        double ranks[PER_LAYER];
        size_t count = 0;
        for (size_t r = 0; r < table.row_count; r++)
            if (table.rows[r].layer == i / T)
                ranks[count++] = (double)table.counts[r * T + i % T].rank;
        assert_int_equal(count, PER_LAYER);
        qsort(ranks, PER_LAYER, sizeof(*ranks), ascending);
        lower[i] = ranks[1];
        upper[i] = ranks[3];
        median[i] = ranks[2];
    }
    mgk_rank_table_free(&table);
    assert_true(median[1] < median[T + 1] && median[1] > median[2]);
    const mgk_sweep_model model = {"the same", thresholds, T, median, lower, upper, noise};
    const mgk_sweeps sweeps = {.models = &model,
                               .model_count = 1,
                               .layer_numbers = numbers,
                               .layers = LAYERS,
                               .threshold_name = "threshold",
                               .heading = "Median rank and quartiles, 5 matrices a layer"};
    mgk_picture_options options = mgk_picture_defaults();
    options.force = true;
    assert_ok(mgk_draw_sweeps(&sweeps, &options, "sweep_expected.png"));
    png_picture expected = read_png("sweep_expected.png"), picture = draw(path);
    case_assert_same(&picture, &expected);
    mgk_free(picture.pixels);
    mgk_free(expected.pixels);
}

static void models_and_layers_are_chosen(void **state)
{
    (void)state;
    const int layers[] = {0, 2}, missing = 9;
    const char *const both[] = {spectra, "sweep_several.json"};
    const double thresholds[] = {1e-8, 1e-6, 1e-2};
    write_ranks(both[0], NULL, 0, false);
    write_ranks(both[1], thresholds, 3, false);
    mgk_plot_options o = sweep_of(both, 2);
    png_picture all = case_draw(&o);
    o.layers = layers;
    o.layer_count = 2;
    png_picture two = case_draw(&o);
    assert_true(two.width < all.width);
    mgk_free(all.pixels);
    mgk_free(two.pixels);
    o.layers = &missing;
    o.layer_count = 1;
    case_refuses(o, MGK_INPUT, "sweep_spectra.h5: no layer 9");
    write_ranks(both[1], thresholds, 3, true);
    case_refuses(sweep_of(both, 2), MGK_INPUT, "sweep_spectra and sweep_several: only one of them");
}

/* Multiples of sigma_1 and thresholds do not share an axis, in any file format. */
static void scales_are_not_mixed(void **state)
{
    (void)state;
    static const char *const paths[] = {"sweep_relative.csv", "sweep_relative.json",
                                        "sweep_absolute.csv"};
    const double thresholds[] = {1e-5, 1e-4, 0.5};
    for (int i = 0; i < 3; i++)
        write_ranks(paths[i], thresholds, 3, i < 2);
    png_picture csv = draw(paths[0]), json = draw(paths[1]);
    case_assert_same(&csv, &json);
    mgk_free(csv.pixels);
    mgk_free(json.pixels);
    case_refuses(sweep_of(&paths[1], 2), MGK_INPUT,
                 "sweep_relative and sweep_absolute: only one of them");
    const char *const other[] = {paths[2], paths[0]};
    case_refuses(sweep_of(other, 2), MGK_INPUT,
                 "sweep_absolute and sweep_relative: only one of them");
}

static void what_makes_no_sweep(void **state)
{
    (void)state;
    static const char *const paths[] = {"sweep_one.csv", "sweep_one.json", "sweep_one.h5"};
    const double one = 1e-6;
    for (int i = 0; i < 3; i++) {
        char expected[64];
        snprintf(expected, sizeof(expected), "%s: no singular values and 1 threshold:", paths[i]);
        write_ranks(paths[i], &one, 1, false);
        case_refuses(sweep_of(&paths[i], 1), MGK_INPUT, expected);
    }
    mgk_plot_options o = sweep_of(&case_store, 1);
    o.kind = MGK_PLOT_ATTENTION;
    case_refuses(o, MGK_USAGE, "`sweep`: not an option of attention, but of ranks");
}

static void set_integer(const char *path, const char *name, hsize_t row, int value)
{
    const hsize_t one = 1;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT), place = H5Dget_space(dataset);
    hid_t memory = H5Screate_simple(1, &one, NULL);
    H5Sselect_hyperslab(place, H5S_SELECT_SET, &row, NULL, &one, NULL);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_INT, memory, place, H5P_DEFAULT, &value) >= 0);
    H5Sclose(memory);
    H5Sclose(place);
    H5Dclose(dataset);
    H5Fclose(file);
}

/* Complete files with content that no program writes. */
static void damaged_rank_files(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        double value;
        const char *message;
    } cases[] = {{0, (double)NAN, "matrix 0: expected 9 finite singular values"},
                 {N + 1, 1e9, "matrix 1: expected 9 finite singular values"},
                 {2, -1, "matrix 0: expected 9 finite singular values"},
                 {2 * N, (double)INFINITY, "matrix 2: expected 9 finite singular values"}};
    static const struct {
        const char *name;
        hsize_t row;
        int value;
        const char *message;
    } columns[] = {{"rank", 1, -1, "row 2: \"rank\" is -1"},
                   {"head", 1, -7, "row 2: \"head\" is -7"},
                   {"input", 0, 2, "row 1: input 2"},
                   {"rank", 2, N + 1, "row 3: rank is 10, expected at most n = 9"}};
    const char *const path = "sweep_damaged.h5";
    mgk_rank_table table;
    write_ranks(spectra, NULL, 0, false);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_ok(mgk_rank_file_read(spectra, true, &table));
        table.spectra[cases[i].at] = cases[i].value;
        assert_ok(mgk_rank_file_write(&table, path, true));
        mgk_rank_table_free(&table);
        case_refuses(sweep_of(&path, 1), MGK_INPUT, cases[i].message);
    }
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        assert_ok(mgk_rank_file_read(spectra, true, &table));
        assert_ok(mgk_rank_file_write(&table, path, true));
        mgk_rank_table_free(&table);
        set_integer(path, columns[i].name, columns[i].row, columns[i].value);
        case_refuses(sweep_of(&path, 1), MGK_INPUT, columns[i].message);
        case_refuses(case_options(MGK_PLOT_RANKS, &path, 1), MGK_INPUT, columns[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(spectra_give_what_thresholds_give, case_make_mgk),
        cmocka_unit_test_setup(formats_agree, case_make_mgk),
        cmocka_unit_test_setup(lines_are_those_of_the_file, case_make_mgk),
        cmocka_unit_test_setup(models_and_layers_are_chosen, case_make_mgk),
        cmocka_unit_test_setup(scales_are_not_mixed, case_make_mgk),
        cmocka_unit_test_setup(what_makes_no_sweep, case_make_mgk),
        cmocka_unit_test_setup(damaged_rank_files, case_make_mgk),
    };
    case_enter("plot_sweep_files");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
