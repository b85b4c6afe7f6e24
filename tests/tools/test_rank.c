/* mgk_rank_attention: stores, running models and foreign arrays, and what it writes. */
#include "test.h"

#include <hdf5.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/results.h"
#include "base/file.h"
#include "base/memory.h"
#include "store/rank_file.h"
#include "tiny.h"

enum { N = 9, H = 4, L = 3 };

static const char *const text = "rank_text.txt";
static const char *const model_path = "rank_model.safetensors";
static const char *const store_path = "rank_store.h5";
static const char *const array_path = "rank_array.h5";
static const char *const csv_path = "rank.csv";

/* Lines that the watcher was told to keep, and who told it. */
typedef struct log {
    char lines[2000];
    pthread_t caller;
    bool foreign; /* another thread called */
    int64_t stop_at, done, total;
} log_t;

static void report(void *context, const mgk_report *r)
{
    log_t *log = context;
    log->foreign |= !pthread_equal(log->caller, pthread_self());
    log->done = r->done;
    log->total = r->total;
    if (r->milestone)
        strncat(log->lines, r->note, sizeof(log->lines) - strlen(log->lines) - 1);
}

static bool stop(void *context)
{
    log_t *log = context;
    log->foreign |= !pthread_equal(log->caller, pthread_self());
    return log->stop_at > 0 && log->done >= log->stop_at;
}

static mgk_watcher watch(log_t *log)
{
    *log = (log_t){.caller = pthread_self()};
    return (mgk_watcher){report, stop, log};
}

static mgk_rank_options from_store(const char *const *path)
{
    mgk_rank_options o = mgk_rank_options_default();
    o.job.force = true;
    o.job.seed = 3;
    o.job.threads = 2;
    o.inputs = path;
    o.input_count = 1;
    o.output = csv_path;
    return o;
}

static mgk_rank_options from_model(int samples)
{
    mgk_rank_options o = from_store(NULL);
    o.input_count = 0;
    o.model = model_path;
    o.input.text = &text;
    o.input.text_count = 1;
    o.input.samples = samples;
    return o;
}

static void dump(const mgk_input *input, const char *dtype, bool double_precision)
{
    mgk_dump_options o = mgk_dump_options_default();
    o.job.force = true;
    o.job.seed = 3;
    o.job.threads = 1;
    o.model = model_path;
    o.output = store_path;
    o.input = *input;
    o.dtype = dtype;
    o.double_precision = double_precision;
    assert_done(mgk_dump_attention(&o, NULL));
}

static char *read_all(const char *path)
{
    mgk_mapping mapping;
    char *content;
    assert_ok(mgk_map_file(path, &mapping));
    assert_ok(mgk_alloc(mapping.size + 1, 1, &content));
    memcpy(content, mapping.data, mapping.size);
    mgk_unmap_file(&mapping);
    return content;
}

static mgk_rank_table read_table(const char *path)
{
    mgk_rank_table table;
    assert_ok(mgk_rank_table_read(path, &table));
    return table;
}

/* The same matrices, in the same order, to the last digit. */
static void compare_store_and_stream(const mgk_input *input, bool double_precision, int matrices)
{
    dump(input, NULL, double_precision);
    mgk_rank_options o = from_store(&store_path);
    o.matrices = matrices;
    assert_done(mgk_rank_attention(&o, NULL));
    char *stored = read_all(csv_path);
    o = from_model(0);
    o.input = *input;
    o.matrices = matrices;
    o.double_precision = double_precision;
    assert_done(mgk_rank_attention(&o, NULL));
    char *streamed = read_all(csv_path);
    assert_string_equal(stored, streamed);
    mgk_free(stored);
    mgk_free(streamed);
}

static void store_and_stream_agree(void **state)
{
    (void)state;
    static const char *const kinds[] = {"softmax", "mgk", "smgk", "linear", "smlk"};
    const mgk_input input = {.text = &text, .text_count = 1, .samples = 11};
    for (size_t k = 0; k < 5; k++)
        for (int family = 0; family < 2; family++) {
            mgk_config config = tiny_config((mgk_family)family, kinds[k]);
            tiny_save(&config, model_path);
            compare_store_and_stream(&input, family == 1, k == 0 ? 0 : 13);
        }
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "mgk");
    config.dual = true;
    tiny_save(&config, model_path);
    compare_store_and_stream(&input, true, 13);
}

/* A batch holds 2048 tokens: 300 samples of 9 take two. */
static void several_batches(void **state)
{
    (void)state;
    const char *const path = "rank_long.txt";
    const mgk_input input = {.text = &path, .text_count = 1, .samples = 300};
    tiny_text(path, 3000);
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, model_path);
    compare_store_and_stream(&input, true, 40);
}

/* Padding must not count: the spectrum is that of the valid block alone. */
static void padded_sequences(void **state)
{
    (void)state;
    static const int32_t tokens[] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
    const char *const path = "rank_tokens.txt";
    const char line[] = "9 8 7 6 5\n9 8\n9 8 7 6 5 4 3 2 1\n";
    const mgk_input input = {.tokens = path, .samples = 3};
    assert_ok(mgk_write_file(path, true, line, strlen(line)));
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "mgk");
    tiny_save(&config, model_path);
    compare_store_and_stream(&input, true, 0);
    mgk_rank_table table = read_table(csv_path);
    assert_int_equal(table.row_count, 3 * L * H);
    mgk_network *network;
    mgk_job job = {.device = "cpu"};
    assert_done(mgk_network_open(model_path, &job, true, &network));
    size_t sum = 0;
    for (size_t r = 0; r < table.row_count; r++) {
        const mgk_rank_row *row = &table.rows[r];
        double matrix[N * N], sigma[N];
        sum += row->n;
        assert_done(mgk_network_attention(network, tokens, (int)row->n, (int)row->layer,
                                          (int)row->head, matrix));
        assert_done(mgk_singular_values(matrix, row->n, row->n, sigma));
        assert_close(row->sigma_max, sigma[0], 1e-13, 0);
        assert_close(row->sigma_min, sigma[row->n - 1], 1e-13, 0);
    }
    assert_int_equal(sum, (5 + 2 + 9) * L * H);
    mgk_network_close(network);
    mgk_rank_table_free(&table);
}

/* Query i attends evenly to the keys j = i modulo `rank`: so many singular values are not 0. */
static double known_entry(int rank, int i, int j)
{
    int keys = (N - 1 - i % rank) / rank + 1;
    return i % rank == j % rank ? 1.0 / keys : 0;
}

typedef double (*entry_function)(int matrix, int i, int j);

/* Writes the dataset "group/theirs" [2, 3, 4, N, N] of `type`. */
static void write_array(const char *path, hid_t type, entry_function entry)
{
    static double values[24][N][N];
    const hsize_t shape[] = {2, 3, 4, N, N};
    for (int m = 0; m < 24; m++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                values[m][i][j] = entry(m, i, j);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(5, shape, NULL);
    hid_t dataset = H5Dcreate2(group, "theirs", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Gclose(group);
    H5Fclose(file);
}

static int rank_of(int matrix)
{
    return 1 + matrix % N;
}

static double known(int matrix, int i, int j)
{
    return known_entry(rank_of(matrix), i, j);
}

/* The entries of `known` with eight significant bits, as bf16 has. */
static double known_bf16(int matrix, int i, int j)
{
    int exponent;
    double fraction = frexp(known(matrix, i, j), &exponent);
    return ldexp(nearbyint(fraction * 256) / 256, exponent);
}

static double with_nan(int matrix, int i, int j)
{
    return matrix == 13 && i == 4 && j == 5 ? (double)NAN : known(matrix, i, j);
}

static mgk_rank_options from_array(void)
{
    mgk_rank_options o = from_store(&array_path);
    o.dataset = "group/theirs";
    o.matrices = 0;
    return o;
}

static void known_ranks(void **state)
{
    (void)state;
    write_array(array_path, H5T_NATIVE_DOUBLE, known);
    mgk_rank_options o = from_array();
    mgk_rank_summary summary;
    assert_done(mgk_rank_attention(&o, &summary));
    mgk_rank_table table = read_table(csv_path);
    assert_int_equal(table.row_count, 24);
    for (size_t r = 0; r < 24; r++) {
        const mgk_rank_row *row = &table.rows[r];
        assert_int_equal(row->sample * 12 + row->layer * 4 + row->head, r);
        assert_int_equal(table.counts[r].rank, rank_of((int)r));
        assert_false(table.counts[r].undecided);
    }
    assert_int_equal(summary.count, 3);
    const mgk_rank_layer *layer = &summary.layers[1]; /* matrices 4 ... 7 and 16 ... 19 */
    assert_int_equal(layer->layer, 1);
    assert_int_equal(layer->matrices, 8);
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

static hid_t half_type(void)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    assert_true(H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0);
    assert_true(H5Tset_size(type, 2) >= 0);
    assert_true(H5Tset_ebias(type, 15) >= 0);
    return type;
}

static void half_precision(void **state)
{
    (void)state;
    hid_t half = half_type();
    write_array(array_path, half, known);
    H5Tclose(half);
    log_t log;
    mgk_rank_options o = from_array();
    o.job.watcher = watch(&log);
    unlink(csv_path);
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_FAILED);
    assert_non_null(strstr(mgk_error(), "f16"));
    assert_int_not_equal(access(csv_path, F_OK), 0);
    o.allow_half = true;
    mgk_rank_summary summary;
    assert_done(mgk_rank_attention(&o, &summary));
    assert_string_equal(summary.storage, "f16");
    assert_true(summary.noise_floor > 1e-5 && summary.noise_floor < 1e-3);
    assert_non_null(strstr(log.lines, "24 of 24 matrices are f16"));
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
}

/* Stored as float32, but every entry has passed through bf16. */
static void coarse_grid_is_noticed(void **state)
{
    (void)state;
    log_t log;
    write_array(array_path, H5T_NATIVE_FLOAT, known_bf16);
    mgk_rank_options o = from_array();
    o.job.watcher = watch(&log);
    assert_done(mgk_rank_attention(&o, NULL));
    assert_non_null(strstr(log.lines, "are bf16"));
    write_array(array_path, H5T_NATIVE_FLOAT, known);
    o.job.watcher = watch(&log);
    assert_done(mgk_rank_attention(&o, NULL));
    assert_string_equal(log.lines, "");
    assert_int_equal(log.done, 24);
    assert_int_equal(log.total, 24);
}

static void as_many_samples_as_needed(void **state)
{
    (void)state;
    log_t log;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, model_path);
    mgk_rank_options o = from_model(0);
    o.matrices = 9;
    o.job.watcher = watch(&log);
    mgk_rank_summary summary;
    assert_done(mgk_rank_attention(&o, &summary));
    assert_int_equal(summary.count, L);
    assert_int_equal(summary.layers[2].matrices, 9);
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
    mgk_rank_table table = read_table(csv_path);
    size_t samples[3 * L * H];
    for (size_t r = 0; r < table.row_count; r++)
        samples[r] = table.rows[r].sample;
    size_t distinct = 0;
    for (size_t r = 0; r < table.row_count; r++)
        distinct += r == 0 || samples[r] != samples[r - 1];
    assert_int_equal(distinct, 3);
    assert_false(log.foreign);
    assert_string_equal(log.lines, "");
    mgk_rank_table_free(&table);
    /* 300 bytes and titles are far fewer windows than a thousand matrices need. */
    o.matrices = 1000;
    assert_done(mgk_rank_attention(&o, NULL));
    assert_non_null(strstr(log.lines, "matrices of each layer, all there are (1000 wanted)"));
}

static void chosen_layers(void **state)
{
    (void)state;
    const int wanted[] = {2}, missing[] = {0, 3};
    const mgk_input input = {.text = &text, .text_count = 1, .samples = 5};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, model_path);
    dump(&input, NULL, false);
    char *content[2];
    for (int streamed = 0; streamed < 2; streamed++) {
        mgk_rank_options o = streamed ? from_model(5) : from_store(&store_path);
        o.layers = wanted;
        o.layer_count = 1;
        o.matrices = 7;
        assert_done(mgk_rank_attention(&o, NULL));
        content[streamed] = read_all(csv_path);
        mgk_rank_table table = read_table(csv_path);
        assert_int_equal(table.row_count, 7);
        assert_int_equal(table.rows[6].layer, 2);
        mgk_rank_table_free(&table);
        o.layers = missing;
        o.layer_count = 2;
        assert_int_equal(mgk_rank_attention(&o, NULL), MGK_FAILED);
    }
    assert_string_equal(content[0], content[1]);
    mgk_free(content[0]);
    mgk_free(content[1]);
}

/* What is drawn of a layer does not depend on which others are counted, stored or streamed. */
static void a_layer_alone_is_counted_alike(void **state)
{
    (void)state;
    const int last = 2;
    const mgk_input input = {.text = &text, .text_count = 1, .samples = 5};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, model_path);
    dump(&input, NULL, false);
    mgk_rank_options o = from_store(&store_path);
    o.matrices = 7;
    assert_done(mgk_rank_attention(&o, NULL));
    mgk_rank_table all = read_table(csv_path);
    mgk_dump_options part = mgk_dump_options_default();
    part.job = (mgk_job){.force = true, .seed = 3};
    part.model = model_path;
    part.output = store_path;
    part.input = input;
    part.layers = &last;
    part.layer_count = 1;
    for (int way = 0; way < 3; way++) {
        if (way == 2)
            assert_done(mgk_dump_attention(&part, NULL));
        o = way == 1 ? from_model(5) : from_store(&store_path);
        o.layers = way == 2 ? NULL : &last;
        o.layer_count = way == 2 ? 0 : 1;
        o.matrices = 7;
        assert_done(mgk_rank_attention(&o, NULL));
        mgk_rank_table alone = read_table(csv_path);
        assert_int_equal(alone.row_count, 7);
        for (size_t r = 0, found = 0; r < all.row_count; r++)
            if (all.rows[r].layer == 2) {
                assert_int_equal(all.rows[r].sample, alone.rows[found].sample);
                assert_int_equal(all.rows[r].head, alone.rows[found++].head);
            }
        mgk_rank_table_free(&alone);
    }
    mgk_rank_table_free(&all);
}

/* Panels are layers: inputs of different ones do not fit into one picture. */
static void pictures_of_different_layers(void **state)
{
    (void)state;
    const int second = 1;
    const char *const part_path = "rank_part.h5", *const both[] = {store_path, part_path};
    const mgk_input input = {.text = &text, .text_count = 1, .samples = 3};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, model_path);
    dump(&input, NULL, false);
    mgk_dump_options part = mgk_dump_options_default();
    part.job.force = true;
    part.model = model_path;
    part.output = part_path;
    part.input = input;
    part.layers = &second;
    part.layer_count = 1;
    assert_done(mgk_dump_attention(&part, NULL));
    log_t log;
    mgk_rank_options o = from_store(both);
    o.input_count = 2;
    o.output = NULL;
    o.png = "rank_different.png";
    o.job.watcher = watch(&log);
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_FAILED);
    assert_non_null(strstr(mgk_error(), "rank_store.h5 and rank_part.h5 have different layers"));
    assert_int_equal(log.done, 0);
    o.layers = &second;
    o.layer_count = 1;
    assert_done(mgk_rank_attention(&o, NULL));
    const char *many[17];
    for (size_t i = 0; i < 17; i++)
        many[i] = store_path;
    o.inputs = many;
    o.input_count = 17;
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_USAGE);
}

/* Files name their inputs whole, in UTF-8, whatever bytes the paths have. */
static void settings_name_whole_paths(void **state)
{
    (void)state;
    static const char *const outputs[] = {"rank_named.json", "rank_named.h5"};
    char path[300] = "./";
    while (strlen(path) < 251)
        strcat(path, "././");
    strcat(path, "rank_\xc3\xa9\xff.h5");
    const char *const inputs[] = {path, array_path};
    write_array(path, H5T_NATIVE_DOUBLE, known);
    write_array(array_path, H5T_NATIVE_DOUBLE, known);
    mgk_rank_options o = from_array();
    o.inputs = inputs;
    o.input_count = 2;
    o.output = outputs[0];
    assert_done(mgk_rank_attention(&o, NULL));
    mgk_rank_table table = read_table(outputs[0]);
    assert_int_equal(table.settings.origin_count, 2);
    assert_memory_equal(table.settings.origins[0].path, path, strlen(path) - 4);
    assert_non_null(strstr(table.settings.origins[0].path, "\xc3\xa9?.h5"));
    assert_string_equal(table.settings.origins[1].path, array_path);
    assert_string_equal(table.settings.origins[1].sha256, "");
    mgk_rank_table_free(&table);
    o.output = outputs[1];
    assert_done(mgk_rank_attention(&o, NULL));
    mgk_rank_file file;
    assert_ok(mgk_rank_file_read(o.output, &file));
    assert_non_null(strstr(file.settings, "\xc3\xa9?.h5\",\"rank_array.h5\"]"));
    mgk_rank_file_free(&file);
    unlink(path);
}

static void sweep_of_two_inputs(void **state)
{
    (void)state;
    const char *const paths[] = {array_path, "rank_array2.h5"};
    const double thresholds[] = {1e-6, 0.9, 2};
    write_array(paths[0], H5T_NATIVE_DOUBLE, known);
    write_array(paths[1], H5T_NATIVE_DOUBLE, known);
    mgk_rank_options o = from_array();
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
        mgk_rank_table table = read_table(outputs[i]);
        assert_int_equal(table.row_count, 2 * 3 * 5);
        assert_int_equal(table.rows[14].input, 0);
        assert_int_equal(table.rows[15].input, 1);
        for (size_t r = 0; r < table.row_count; r++) {
            const mgk_rank_row *row = &table.rows[r];
            size_t matrix = row->sample * 12 + row->layer * 4 + row->head;
            assert_int_equal(table.counts[3 * r].rank, rank_of((int)matrix));
            assert_in_range(table.counts[3 * r + 1].rank, 1, rank_of((int)matrix));
            assert_int_equal(table.counts[3 * r + 2].rank, 0);
        }
        mgk_rank_table_free(&table);
    }
    o.spectrum = true;
    o.output = "rank_sweep.h5";
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_USAGE);
}

static void spectra_in_hdf5(void **state)
{
    (void)state;
    write_array(array_path, H5T_NATIVE_DOUBLE, known);
    mgk_rank_options o = from_array();
    o.output = "rank_spectra.h5";
    o.spectrum = true;
    assert_done(mgk_rank_attention(&o, NULL));
    mgk_rank_file file;
    assert_ok(mgk_rank_file_read(o.output, &file));
    assert_int_equal(file.rows, 24);
    assert_int_equal(file.spectrum_length, N);
    for (int m = 0; m < 24; m++) {
        double matrix[N][N + 2], sigma[N];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N + 2; j++)
                matrix[i][j] = j < N ? known(m, i, j) : 7;
        assert_done(mgk_singular_values(&matrix[0][0], N, N + 2, sigma));
        assert_int_equal(file.rank[m], rank_of(m));
        assert_int_equal(file.head[m], m % 4);
        assert_true(file.threshold[m] == 1e-6);
        for (int i = 0; i < N; i++)
            assert_close(file.singular_values[m * N + i], sigma[i], 1e-15, 0);
    }
    assert_non_null(strstr(file.settings, "\"input\":\"rank_array.h5\""));
    assert_non_null(strstr(file.settings, "\"matrices_per_layer\":0"));
    mgk_rank_file_free(&file);
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
    assert_int_equal(mgk_singular_values(bad, 2, 2, sigma), MGK_FAILED);
}

static void interrupted(void **state)
{
    (void)state;
    log_t log;
    write_array(array_path, H5T_NATIVE_DOUBLE, known);
    mgk_rank_options o = from_array();
    o.job.threads = 1;
    o.job.watcher = watch(&log);
    log.stop_at = 5;
    unlink(csv_path);
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INTERRUPTED);
    assert_string_equal(mgk_error(), "interrupted after 5 matrices");
    assert_int_not_equal(access(csv_path, F_OK), 0);
}

static void expect(mgk_rank_options o, mgk_result expected, const char *message)
{
    mgk_rank_summary summary;
    assert_int_equal(mgk_rank_attention(&o, &summary), expected);
    if (!strstr(mgk_error(), message))
        fail_msg("\"%s\" does not say \"%s\"", mgk_error(), message);
    assert_null(strchr(mgk_error(), '\n'));
    assert_null(summary.layers);
    if (o.output && o.job.force)
        assert_int_not_equal(access(o.output, F_OK), 0);
}

static void wrong_usage(void **state)
{
    (void)state;
    const double zero = 0;
    write_array(array_path, H5T_NATIVE_DOUBLE, known);
    unlink(csv_path);
    mgk_rank_options o = from_array();
    o.input_count = 0;
    expect(o, MGK_USAGE, "either HDF5 files or --model");
    o = from_array();
    o.model = model_path;
    expect(o, MGK_USAGE, "either HDF5 files or --model");
    o = from_array();
    o.input.samples = 3;
    expect(o, MGK_USAGE, "about --model");
    o = from_model(3);
    o.dataset = "x";
    expect(o, MGK_USAGE, "--dataset");
    o = from_array();
    o.method = "qr";
    expect(o, MGK_USAGE, "method \"qr\"");
    o = from_array();
    o.matrices = -1;
    expect(o, MGK_USAGE, "negative");
    o = from_array();
    o.thresholds = &zero;
    expect(o, MGK_USAGE, "threshold 0");
    o = from_array();
    const double twice[] = {1e-6, 1e-3, 1e-6};
    o.thresholds = twice;
    o.threshold_count = 3;
    expect(o, MGK_USAGE, "threshold 1e-06 is there twice");
    o = from_array();
    o.threshold_count = 0;
    expect(o, MGK_USAGE, "0 thresholds");
    o = from_array();
    o.spectrum = true;
    expect(o, MGK_USAGE, "HDF5 output");
    o = from_array();
    o.output = "rank.txt";
    expect(o, MGK_USAGE, "ending");
    o = from_array();
    o.png = "rank.jpg";
    expect(o, MGK_USAGE, "ending .png");
}

static void bad_files(void **state)
{
    (void)state;
    const char *const no_hdf5[] = {text}, *const absent[] = {"rank_absent.h5"};
    write_array(array_path, H5T_NATIVE_DOUBLE, known);
    unlink(csv_path);
    expect(from_store(no_hdf5), MGK_FAILED, text);
    expect(from_store(absent), MGK_FAILED, "rank_absent.h5");
    expect(from_store(&array_path), MGK_FAILED, "not an attention store");
    mgk_rank_options o = from_array();
    o.dataset = "group/ours";
    expect(o, MGK_FAILED, "group/ours");
    o = from_array();
    o.output = "rank_no_folder/rank.csv";
    expect(o, MGK_FAILED, "rank_no_folder");
    o = from_model(3);
    o.model = text;
    expect(o, MGK_FAILED, text);
    write_array(array_path, H5T_NATIVE_DOUBLE, with_nan);
    expect(from_array(), MGK_FAILED, "sample 1, layer 0, head 1: entry [4, 5] is nan");
    assert_ok(mgk_write_file(csv_path, true, "mine", 4));
    o = from_array();
    o.job.force = false;
    expect(o, MGK_FAILED, csv_path);
    char *content = read_all(csv_path);
    assert_string_equal(content, "mine");
    mgk_free(content);
}

static int setup(void **state)
{
    (void)state;
    tiny_text(text, 300);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_and_stream_agree),
        cmocka_unit_test(several_batches),
        cmocka_unit_test(padded_sequences),
        cmocka_unit_test(known_ranks),
        cmocka_unit_test(half_precision),
        cmocka_unit_test(coarse_grid_is_noticed),
        cmocka_unit_test(as_many_samples_as_needed),
        cmocka_unit_test(chosen_layers),
        cmocka_unit_test(a_layer_alone_is_counted_alike),
        cmocka_unit_test(pictures_of_different_layers),
        cmocka_unit_test(settings_name_whole_paths),
        cmocka_unit_test(sweep_of_two_inputs),
        cmocka_unit_test(spectra_in_hdf5),
        cmocka_unit_test(values_of_one_matrix),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(wrong_usage),
        cmocka_unit_test(bad_files),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
