/* SPDX-License-Identifier: MIT */
/* mgk_rank_attention: ranks of stores and arrays of other software, and their files. */
#include "rank_case.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/table/rank_columns.h"
#include "base/file.h"
#include "base/memory.h"
#include "rank/rank.h"
#include "store/make_numpy.h"
#include "test.h"
#include "tiny.h"

/* The entries of `known` with eight significant bits, as in bf16. */
static double known_bf16(int matrix, int i, int j)
{
    int exponent;
    double fraction = frexp(case_known(matrix, i, j), &exponent);
    return ldexp(nearbyint(fraction * 256) / 256, exponent);
}

static hid_t half_type(void)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    assert_true(H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0);
    assert_true(H5Tset_size(type, 2) >= 0);
    assert_true(H5Tset_ebias(type, 15) >= 0);
    return type;
}

static void known_ranks(void **state)
{
    (void)state;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    mgk_rank_options o = case_from_array();
    mgk_rank_summary summary;
    assert_done(mgk_rank_attention(&o, &summary));
    mgk_rank_table table = case_read_table(case_csv);
    assert_int_equal(table.row_count, 24);
    for (size_t r = 0; r < 24; r++) {
        const mgk_rank_row *row = &table.rows[r];
        assert_int_equal(row->sample * 12 + row->layer * 4 + row->head, r);
        assert_int_equal(table.counts[r].rank, case_rank_of((int)r));
        assert_false(table.counts[r].undecided);
    }
    assert_int_equal(summary.count, 3);
    const mgk_rank_layer *layer = &summary.layers[1]; /* matrices 4 ... 7 and 16 ... 19 */
    assert_int_equal(layer->layer, 1);
    assert_int_equal(layer->matrices, 8);
    assert_int_equal(layer->samples, 2);
    assert_int_equal(layer->smallest, N);
    assert_int_equal(layer->largest, N);
    assert_close(layer->mean, (5 + 6 + 7 + 8 + 8 + 9 + 1 + 2) / 8.0, 1e-12, 0);
    assert_close(layer->median, 6.5, 1e-12, 0);
    assert_int_equal(layer->undecided, 0);
    assert_true(layer->effective > 1 && layer->effective < 9);
    assert_non_null(strstr(summary.histogram, "layer 1: 8 matrices"));
    assert_string_equal(summary.storage, "f64");
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
    mgk_rank_table_free(&table);
}

/* Few significant bits too, but no singular value below 1/2. */
static double decided_bf16(int matrix, int i, int j)
{
    (void)matrix;
    return i == j ? 0.75 : j == (i + 1) % N ? 0.25 : 0;
}

static double nothing(int matrix, int i, int j)
{
    (void)matrix, (void)i, (void)j;
    return 0;
}

/* A matrix without positive singular values has no effective rank; a mean skips it. */
static void zero_matrices(void **state)
{
    (void)state;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, nothing);
    mgk_rank_options o = case_from_array();
    o.allow_zero_rows = true;
    mgk_rank_summary summary;
    assert_done(mgk_rank_attention(&o, &summary));
    assert_int_equal(summary.unnormalised, 0);
    assert_int_equal(summary.matrices_with_zero_rows, 2 * 3 * 4);
    assert_int_equal(summary.zero_rows, 2 * 3 * 4 * N);
    for (size_t i = 0; i < summary.count; i++) {
        assert_true(summary.layers[i].mean == 0);
        assert_memory_equal(summary.layers[i].axes, ((const int[]){2, 3, 4}), sizeof(int[3]));
        assert_true(isnan(summary.layers[i].effective) && isnan(summary.layers[i].stable));
    }
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
}

/* Three matrices of one layer: two counted, one computed without certificate. */
static void certificates_are_counted(void **state)
{
    (void)state;
    const double tau = 1e-6, sigma[] = {2, 1};
    mgk_rank_table table;
    mgk_rank_summary summary;
    assert_ok(mgk_rank_table_make(1, &tau, 0, &table));
    for (int m = 0; m < 3; m++) {
        assert_ok(mgk_rank_table_append(&table));
        mgk_rank_row *row = &table.rows[m];
        *row = (mgk_rank_row){.n = 2, .method = m < 2 ? MGK_METHOD_GRAM : MGK_METHOD_SVD};
        mgk_rank_measure_spectrum(2, sigma, row);
    }
    mgk_rank_forget_spectrum(&table.rows[1]);
    table.counts[0].certificate = MGK_CERTIFICATE_BOUND;
    table.counts[1].certificate = MGK_CERTIFICATE_MEASURED;
    table.counts[2].certificate = MGK_CERTIFICATE_NONE;
    for (int computed = 0; computed <= 1; computed++) {
        assert_ok(mgk_rank_summarize(&table, false, &summary));
        assert_int_equal(summary.matrices, 3);
        assert_int_equal(summary.certified_by_bound, !computed);
        assert_int_equal(summary.certified_by_measurement, !computed);
        assert_int_equal(summary.certified_by_values, computed ? 2 : 0);
        /* The mean over only the computed matrices would be biased. */
        assert_true(computed ? summary.layers[0].stable == 1.25 : isnan(summary.layers[0].stable));
        assert_true(isnan(summary.layers[0].effective) == !computed);
        mgk_release(summary.layers);
        mgk_release(summary.histogram);
        for (int m = 0; m < 2; m++) {
            table.rows[m].method = MGK_METHOD_SVD;
            mgk_rank_measure_spectrum(2, sigma, &table.rows[m]);
        }
    }
    mgk_rank_table_free(&table);
}

/* The same array in an archive, by name, without a name, and as one array per layer. */
static void arrays_of_numpy(void **state)
{
    (void)state;
    enum { SIZE = N * N, MATRICES = 24 };
    static const char *const whole = "rank.npz", *const layers = "rank_layers.npz",
                             *const slashes = "rank_slashes.npz";
    static const char *const name = "theirs.npy", *const names[] = {"a_2.npy", "a_1.npy",
                                                                    "a_0.npy"};
    static double values[MATRICES * SIZE], layer[MATRICES / L * SIZE];
    static numpy_bytes arrays[L];
    for (int i = 0; i < MATRICES * SIZE; i++)
        values[i] = case_known(i / SIZE, i % SIZE / N, i % N);
    make_npy("<f8", false, "(2, 3, 4, 9, 9)", values, sizeof(values), &arrays[0]);
    make_npz(whole, &name, arrays, 1, true);
    for (int l = 0; l < L; l++) {
        for (int sample = 0; sample < 2; sample++)
            memcpy(layer + sample * H * SIZE, values + (sample * L + l) * H * SIZE,
                   H * SIZE * sizeof(*layer));
        make_npy("<f8", false, "(2, 4, 9, 9)", layer, sizeof(layer), &arrays[L - 1 - l]);
    }
    make_npz(layers, names, arrays, L, true);
    static const char *const slash_names[] = {"/a_2.npy", "/a_1.npy", "/a_0.npy"};
    make_npz(slashes, slash_names, arrays, L, true);
    const struct {
        const char *const *path;
        const char *dataset;
        int axes[3];
    } cases[] = {{&whole, NULL, {2, L, H}},
                 {&whole, "theirs", {2, L, H}},
                 {&layers, "a_*", {2, 0, H}},
                 {&slashes, "/a_*", {2, 0, H}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        mgk_rank_options o = case_from_store(cases[i].path);
        o.dataset = cases[i].dataset;
        o.matrices = 0;
        mgk_rank_summary summary;
        assert_done(mgk_rank_attention(&o, &summary));
        assert_int_equal(summary.count, L);
        for (int l = 0; l < L; l++)
            assert_memory_equal(summary.layers[l].axes, cases[i].axes, sizeof(cases[i].axes));
        mgk_release(summary.layers);
        mgk_release(summary.histogram);
        mgk_rank_table table = case_read_table(case_csv);
        assert_int_equal(table.row_count, MATRICES);
        for (int r = 0; r < MATRICES; r++)
            assert_int_equal(table.counts[r].rank, case_rank_of(r));
        mgk_rank_table_free(&table);
    }
}

static void half_precision(void **state)
{
    (void)state;
    hid_t half = half_type();
    case_write_array(case_array, half, case_known);
    H5Tclose(half);
    case_log log;
    mgk_rank_options o = case_from_array();
    o.job.watcher = case_watch(&log);
    unlink(case_csv);
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "f16"));
    assert_int_not_equal(access(case_csv, F_OK), 0);
    o.allow_half = true;
    mgk_rank_summary summary;
    assert_done(mgk_rank_attention(&o, &summary));
    assert_string_equal(summary.storage, "f16");
    assert_true(summary.noise_floor > 1e-5 && summary.noise_floor < 1e-3);
    assert_non_null(
        strstr(log.lines, "all entries of 22 matrices are f16 numbers")); /* 2 are of full rank */
    assert_int_equal(summary.coarse, 22);
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
}

/* Stored as float32, but every entry was rounded to bf16: reported if it leaves ranks open. */
static void coarse_grid_is_noticed(void **state)
{
    (void)state;
    const struct {
        double (*entry)(int matrix, int i, int j);
        const char *line, *format;
        int coarse;
        /* the others have singular values 1, 1/2 */
    } cases[] = {{known_bf16, "all entries of 12 matrices are bf16 numbers", "bf16", 12},
                 {decided_bf16, "", NULL, 0},
                 {case_known, "", NULL, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        case_log log;
        mgk_rank_summary summary;
        mgk_rank_options o = case_from_array();
        case_write_array(case_array, H5T_NATIVE_FLOAT, cases[i].entry);
        o.axes = "sample,layer,head"; /* else a line says that they are a guess */
        o.job.watcher = case_watch(&log);
        assert_done(mgk_rank_attention(&o, &summary));
        assert_int_equal(strstr(summary.warnings, "bf16 numbers") != NULL, cases[i].coarse > 0);
        assert_true(*cases[i].line ? strstr(log.lines, cases[i].line) != NULL : !*log.lines);
        assert_int_equal(log.done, 24);
        assert_int_equal(log.total, 24);
        assert_int_equal(summary.coarse, cases[i].coarse);
        assert_true((summary.coarse_format == NULL) == (cases[i].format == NULL));
        if (cases[i].format)
            assert_string_equal(summary.coarse_format, cases[i].format);
        mgk_release(summary.layers);
        mgk_release(summary.histogram);
    }
}

/* The table repeats what was guessed, and what the summary warns of. */
static void warnings_are_kept(void **state)
{
    (void)state;
    case_write_array(case_array, H5T_NATIVE_FLOAT, known_bf16);
    for (int named = 0; named < 2; named++) {
        mgk_rank_options o = case_from_array();
        mgk_table *table;
        o.axes = named ? "sample,layer,head" : NULL;
        assert_done(mgk_rank_to_table(&o, &table, NULL));
        const char *settings = mgk_table_settings(table);
        assert_non_null(strstr(settings, "\"warnings\":["));
        assert_non_null(strstr(settings, "all entries of 12 matrices are bf16 numbers"));
        assert_int_equal(strstr(settings,
                                "a guess: if this is torch.stack(outputs.attentions), say "
                                "`axes` layer,sample,head") != NULL,
                         !named);
        mgk_table_close(table);
    }
}

static void sweep_of_two_inputs(void **state)
{
    (void)state;
    const char *const paths[] = {case_array, "rank_array2.h5"};
    const double thresholds[] = {1e-6, 0.9, 2};
    case_write_array(paths[0], H5T_NATIVE_DOUBLE, case_known);
    case_write_array(paths[1], H5T_NATIVE_DOUBLE, case_known);
    mgk_rank_options o = case_from_array();
    o.inputs = paths;
    o.input_count = 2;
    o.thresholds = thresholds;
    o.threshold_count = 3;
    o.relative = true;
    o.matrices = 5;
    o.png = "rank.png";
    mgk_rank_summary summary;
    assert_done(mgk_rank_attention(&o, &summary));
    assert_int_equal(summary.count, 2 * 3);
    assert_int_equal(summary.layers[3].input, 1);
    assert_int_equal(summary.layers[3].layer, 0);
    assert_int_equal(summary.layers[3].matrices, 5);
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
    assert_int_equal(access(o.png, F_OK), 0);
    static const char *const outputs[] = {"rank.csv", "rank.json"};
    for (int i = 0; i < 2; i++) {
        o.output = outputs[i];
        assert_done(mgk_rank_attention(&o, NULL));
        mgk_rank_table table = case_read_table(outputs[i]);
        assert_int_equal(table.row_count, 2 * 3 * 5);
        assert_int_equal(table.rows[14].input, 0);
        assert_int_equal(table.rows[15].input, 1);
        for (size_t r = 0; r < table.row_count; r++) {
            const mgk_rank_row *row = &table.rows[r];
            size_t matrix = row->sample * 12 + row->layer * 4 + row->head;
            assert_int_equal(table.counts[3 * r].rank, case_rank_of((int)matrix));
            assert_in_range(table.counts[3 * r + 1].rank, 1, case_rank_of((int)matrix));
            assert_int_equal(table.counts[3 * r + 2].rank, 0);
        }
        mgk_rank_table_free(&table);
    }
    o.spectrum = true;
    o.output = "rank_sweep.h5";
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_USAGE);
}

/* Panels are layers, so inputs with different layers do not fit into one picture. */
static void pictures_of_different_layers(void **state)
{
    (void)state;
    const int second = 1;
    const char *const part_path = "rank_part.h5", *const both[] = {case_store, part_path};
    const mgk_input input = {.text = &case_text, .text_count = 1, .samples = 3};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, case_model);
    case_dump(&input, NULL, false);
    mgk_dump_options part = mgk_dump_options_default();
    part.job.force = true;
    part.model = case_model;
    part.output = part_path;
    part.input = input;
    part.layers = &second;
    part.layer_count = 1;
    assert_done(mgk_dump_attention(&part, NULL));
    case_log log;
    mgk_rank_options o = case_from_store(both);
    o.input_count = 2;
    o.output = NULL;
    o.png = "rank_different.png";
    o.job.watcher = case_watch(&log);
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "rank_store.h5 and rank_part.h5 have different layers"));
    assert_int_equal(log.done, 0);
    o.layers = &second;
    o.layer_count = 1;
    assert_done(mgk_rank_attention(&o, NULL));
    const char *many[17];
    for (size_t i = 0; i < 17; i++)
        many[i] = case_store;
    o.inputs = many;
    o.input_count = 17;
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_USAGE);
}

/* Files contain the whole paths of their inputs in UTF-8, whatever their bytes. */
static void settings_name_whole_paths(void **state)
{
    (void)state;
    static const char *const outputs[] = {"rank_named.json", "rank_named.h5"};
    char path[300] = "./";
    while (strlen(path) < 251)
        strcat(path, "././");
    strcat(path, "rank_\xc3\xa9\xff.h5");
    const char *const inputs[] = {path, case_array};
    case_write_array(path, H5T_NATIVE_DOUBLE, case_known);
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    mgk_rank_options o = case_from_array();
    o.inputs = inputs;
    o.input_count = 2;
    o.output = outputs[0];
    assert_done(mgk_rank_attention(&o, NULL));
    mgk_rank_table table = case_read_table(outputs[0]);
    assert_int_equal(table.settings.origin_count, 2);
    assert_memory_equal(table.settings.origins[0].path, path, strlen(path) - 4);
    assert_non_null(strstr(table.settings.origins[0].path, "\xc3\xa9?.h5"));
    assert_string_equal(table.settings.origins[1].path, case_array);
    assert_string_equal(table.settings.origins[1].sha256, "");
    mgk_rank_table_free(&table);
    o.output = outputs[1];
    assert_done(mgk_rank_attention(&o, NULL));
    table = case_read_table(outputs[1]);
    assert_non_null(strstr(table.settings.origins[0].path, "\xc3\xa9?.h5"));
    assert_string_equal(table.settings.origins[1].path, case_array);
    mgk_rank_table_free(&table);
    unlink(path);
}

static void spectra_in_hdf5(void **state)
{
    (void)state;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    mgk_rank_options o = case_from_array();
    o.output = "rank_spectra.h5";
    o.spectrum = true;
    assert_done(mgk_rank_attention(&o, NULL));
    mgk_rank_table table;
    assert_ok(mgk_rank_file_read(o.output, true, &table));
    assert_int_equal(table.row_count, 24);
    assert_int_equal(table.n_max, N);
    for (int m = 0; m < 24; m++) {
        const mgk_rank_record record = mgk_rank_table_record(&table, (size_t)m);
        double matrix[N][N + 2], sigma[N];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N + 2; j++)
                matrix[i][j] = j < N ? case_known(m, i, j) : 7;
        assert_done(mgk_singular_values(&matrix[0][0], N, N + 2, sigma));
        assert_int_equal(record.count.rank, case_rank_of(m));
        assert_int_equal(record.row.head, m % 4);
        assert_true(record.threshold == 1e-6);
        double squares = 0, four = 0;
        for (int i = 0; i < N; i++) {
            assert_close(table.spectra[m * N + i], sigma[i], 1e-15, 0);
            squares += sigma[i] * sigma[i];
            four = i < 4 ? squares : four;
        }
        assert_close(record.row.sigma_ratio, sigma[1] / sigma[0], 1e-14, 0);
        assert_close(record.row.energy[0], sigma[0] * sigma[0] / squares, 1e-14, 0);
        assert_close(record.row.energy[1], four / squares, 1e-14, 0);
        assert_true(record.row.energy[2] == 1 && record.row.energy[3] == 1);
        assert_int_equal(record.row.method, MGK_METHOD_SVD);
        assert_int_equal(record.count.certificate, MGK_CERTIFICATE_BOUND);
        assert_true(record.row.noise_floor > 0 && record.row.noise_floor < 1e-14);
    }
    assert_string_equal(table.settings.origins[0].path, "rank_array.h5");
    assert_int_equal(table.settings.matrices_per_layer, 0);
    mgk_rank_table_free(&table);
}

/* The table in memory and the file read back have the same columns. */
static void a_table_in_memory(void **state)
{
    (void)state;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    mgk_rank_options o = case_from_array();
    o.output = NULL;
    mgk_table *table, *back;
    mgk_table_column column, other;
    mgk_rank_summary summary;
    assert_done(mgk_rank_to_table(&o, &table, &summary));
    assert_int_equal(summary.count, 3);
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
    o.output = case_csv;
    assert_done(mgk_rank_attention(&o, NULL));
    assert_done(mgk_table_open(case_csv, &back));
    assert_int_equal(mgk_table_rows(table), 24);
    assert_int_equal(mgk_table_rows(back), 24);
    assert_int_equal(mgk_table_columns(back), mgk_table_columns(table));
    for (size_t c = 0; c < mgk_table_columns(table); c++) {
        assert_done(mgk_table_get_column(table, c, &column));
        assert_done(mgk_table_find_column(back, column.name, &other));
        assert_ptr_equal(column.formula, other.formula);
        assert_true(!column.reals != !column.integers && !column.reals == !other.reals);
        for (size_t r = 0; r < 24; r++)
            assert_true(column.reals ? column.reals[r] == other.reals[r] ||
                                           (isnan(column.reals[r]) && isnan(other.reals[r]))
                                     : column.integers[r] == other.integers[r]);
    }
    assert_done(mgk_table_find_column(table, "rank", &column));
    assert_string_equal(column.source, "Nguyen et al. 2022");
    for (int r = 0; r < 24; r++)
        assert_int_equal(column.integers[r], case_rank_of(r));
    assert_done(mgk_table_find_column(table, "certificate", &column));
    assert_string_equal(column.words[column.integers[0]], "bound");
    assert_non_null(strstr(mgk_table_settings(table), "\"method\":\"svd\""));
    assert_null(mgk_table_settings(back));
    assert_int_equal(mgk_table_find_column(table, "ranks", &column), MGK_USAGE);
    assert_int_equal(mgk_table_get_column(table, mgk_table_columns(table), &column), MGK_USAGE);
    mgk_table_close(back);
    assert_int_equal(mgk_table_open(case_array, &back), MGK_INPUT);
    assert_null(back);
    mgk_table_close(table);
}

/* One matrix, counted with its certificate; rows have gaps. */
static void rank_of_one_matrix(void **state)
{
    (void)state;
    const mgk_job job = {.device = "cpu", .threads = 1};
    double matrix[N][N + 2], sigma[N];
    mgk_matrix_rank found;
    for (int m = 0; m < 24; m++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N + 2; j++)
                matrix[i][j] = j < N ? case_known(m, i, j) : (double)NAN;
        assert_done(mgk_rank_matrix(&matrix[0][0], N, N + 2, 1e-6, &job, &found));
        assert_int_equal(found.rank, case_rank_of(m));
        assert_int_equal(found.rank_low, found.rank);
        assert_int_equal(found.rank_high, found.rank);
        assert_false(found.undecided);
        assert_string_not_equal(found.certificate, "none");
        assert_true(*found.method != '\0');
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            matrix[i][j] = i == j ? pow(10, -i) : 0;
    assert_done(mgk_singular_values(&matrix[0][0], N, N + 2, sigma));
    assert_done(mgk_rank_matrix(&matrix[0][0], N, N + 2, sigma[4], NULL, &found));
    assert_true(found.undecided || found.rank == 5);
    assert_int_equal(mgk_rank_matrix(&matrix[0][0], N, N + 2, 0, NULL, &found), MGK_USAGE);
    assert_int_equal(mgk_rank_matrix(&matrix[0][0], N, N - 1, 1, NULL, &found), MGK_USAGE);
    assert_done(mgk_rank_matrix(NULL, 0, 0, 1, NULL, &found));
    assert_int_equal(found.rank, 0);
    matrix[3][2] = (double)NAN;
    assert_int_equal(mgk_rank_matrix(&matrix[0][0], N, N + 2, 1, NULL, &found), MGK_INPUT);
    assert_string_equal(mgk_error(), "entry [3, 2] is nan");
}

static void values_of_one_matrix(void **state)
{
    (void)state;
    const double diagonal[] = {3, 0, 0, 0, -5, 0, 0, 0, 4};
    double sigma[3], bad[] = {1, (double)NAN, 0, 1};
    assert_done(mgk_singular_values(diagonal, 3, 3, sigma));
    assert_close(sigma[0], 5, 1e-15, 0);
    assert_close(sigma[1], 4, 1e-15, 0);
    assert_close(sigma[2], 3, 1e-15, 0);
    assert_done(mgk_singular_values(NULL, 0, 0, NULL));
    assert_int_equal(mgk_singular_values(diagonal, 3, 2, sigma), MGK_USAGE);
    assert_int_equal(mgk_singular_values(bad, 2, 2, sigma), MGK_INPUT);
}

static void interrupted(void **state)
{
    (void)state;
    case_log log;
    case_write_array(case_array, H5T_NATIVE_DOUBLE, case_known);
    mgk_rank_options o = case_from_array();
    o.job.threads = 1;
    o.job.watcher = case_watch(&log);
    log.stop_at = 5;
    unlink(case_csv);
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INTERRUPTED);
    assert_string_equal(mgk_error(), "interrupted after 5 matrices; continue with `resume`");
    assert_int_not_equal(access(case_csv, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_ranks),
        cmocka_unit_test(zero_matrices),
        cmocka_unit_test(certificates_are_counted),
        cmocka_unit_test(arrays_of_numpy),
        cmocka_unit_test(half_precision),
        cmocka_unit_test(coarse_grid_is_noticed),
        cmocka_unit_test(warnings_are_kept),
        cmocka_unit_test(sweep_of_two_inputs),
        cmocka_unit_test(pictures_of_different_layers),
        cmocka_unit_test(settings_name_whole_paths),
        cmocka_unit_test(spectra_in_hdf5),
        cmocka_unit_test(a_table_in_memory),
        cmocka_unit_test(rank_of_one_matrix),
        cmocka_unit_test(values_of_one_matrix),
        cmocka_unit_test(interrupted),
    };
    case_enter("rank_store");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
