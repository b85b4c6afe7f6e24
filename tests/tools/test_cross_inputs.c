/* SPDX-License-Identifier: MIT */
/* Attention of one sequence to another, from stores, files and memory: ranks, measures, pictures.
 */
#include <hdf5.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "analysis/matrices.h"
#include "base/memory.h"
#include "mgk.h"
#include "plots/read_png.h"
#include "run/rank_file.h"
#include "store/fixture.h"
#include "test.h"

#define PATH "cross_store.h5"
#define TABLE "cross_table.h5"

enum {
    S = FIXTURE_SAMPLES,
    L = FIXTURE_LAYERS,
    H = FIXTURE_HEADS,
    MATRICES = S * L * H,
    MOST = 24
};

#define assert_done(call)                           \
    do {                                            \
        if ((call) != MGK_OK)                       \
            fail_msg("%s: %s", #call, mgk_error()); \
    } while (0)

/* Fewer queries than keys, more, and as many, which no shape tells. */
static const int32_t shapes[][2] = {{5, 19}, {19, 5}, {8, 8}};
enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

static int32_t queries_of(int shape, int sample)
{
    return fixture_length(sample, shapes[shape][0]);
}

static int32_t keys_of(int shape, int sample)
{
    return fixture_key_length(sample, shapes[shape][1]);
}

static size_t smaller(int32_t a, int32_t b)
{
    return (size_t)(a < b ? a : b);
}

/* The valid block [queries, keys] of matrix m of a store; odd heads have few directions. */
static void fill_block(int shape, int m, double *a)
{
    const size_t rows = (size_t)queries_of(shape, m / L / H),
                 columns = (size_t)keys_of(shape, m / L / H);
    test_rectangle_softmax((uint64_t)m, rows, columns, 1, a);
    for (size_t i = 2; i < rows && m % H == 1; i++)
        for (size_t j = 0; j < columns; j++)
            a[i * columns + j] = (a[j] + a[columns + j]) / 2;
}

static const char *of_query = "q", *of_key = "k"; /* the texts of all tokens */

static const char *text_of(const void *context, int32_t id)
{
    (void)context;
    return id >= 5000 ? of_key : of_query;
}

static void fill(const mgk_store_description *d, int shape, int sample, int layer,
                 mgk_store_block *block)
{
    const size_t queries = (size_t)d->tokens, keys = (size_t)mgk_store_keys(d);
    const size_t valid = (size_t)keys_of(shape, sample);
    double a[MOST * MOST], *out = block->arrays[STORE_ATTENTION];
    fixture_fill(d, STORE_F64, sample, layer, block);
    memset(out, 0, H * queries * keys * sizeof(*out));
    for (int h = 0; h < H; h++) {
        fill_block(shape, (sample * L + layer) * H + h, a);
        for (size_t i = 0; i < (size_t)queries_of(shape, sample); i++)
            memcpy(out + ((size_t)h * queries + i) * keys, a + i * valid, valid * sizeof(*a));
    }
}

static void write_store(int shape)
{
    const mgk_store_options options = {.force = true, .incoming = STORE_F64};
    mgk_store_description d =
        fixture_description(shapes[shape][0], STORE_F64, MGK_STORE_BIT(STORE_ATTENTION));
    mgk_store_writer *writer;
    fixture_cross(&d, shapes[shape][1]);
    d.token_text = (mgk_token_text){text_of, NULL, " "};
    d.key_token_text = (mgk_token_text){text_of, NULL, " "};
    assert_ok(mgk_store_create(PATH, &d, &options, &writer));
    for (int block = 0; block < S * L; block++) {
        mgk_store_block *lent;
        assert_ok(mgk_store_next_block(writer, &lent));
        fill(&d, shape, block / L, block % L, lent);
        assert_ok(mgk_store_submit(writer, lent));
    }
    assert_ok(mgk_store_finish(writer, NULL));
}

static const char *const path = PATH;

static mgk_rank_options options(void)
{
    mgk_rank_options o = mgk_rank_options_default();
    o.job.device = "cpu";
    o.job.threads = 2;
    o.job.force = true;
    o.inputs = &path;
    o.input_count = 1;
    o.matrices = 0;
    return o;
}

/* Each row is about the valid block of its matrix: the singular values are those of LAPACK. */
static void compare_table(int shape, const mgk_rank_table *table)
{
    assert_int_equal(table->row_count, MATRICES);
    for (int m = 0; m < MATRICES; m++) {
        const int32_t rows = queries_of(shape, m / L / H), columns = keys_of(shape, m / L / H);
        const size_t values = smaller(rows, columns);
        const double *found = table->spectra + (size_t)m * table->n_max;
        double a[MOST * MOST], sigma[MOST];
        size_t rank = 0;
        fill_block(shape, m, a);
        test_rectangle_spectrum((size_t)rows, (size_t)columns, a, sigma);
        while (rank < values && sigma[rank] >= 1e-6)
            rank++;
        assert_int_equal(table->rows[m].n, values);
        assert_int_equal(table->counts[m].rank, rank);
        assert_int_equal(rank, m % H == 1 && values > 2 ? 2 : values);
        assert_close(table->rows[m].sigma_min, sigma[values - 1], 1e-14, 0);
        for (size_t i = 0; i < values; i++)
            assert_close(found[i], sigma[i], 1e-14, 0);
        for (size_t i = values; i < table->n_max; i++)
            assert_true(isnan(found[i]));
    }
}

static bool stop_at(void *context)
{
    return ++*(int *)context > 3;
}

/* The table of a store, whole and of a run that was interrupted, with all singular values. */
static void ranks_of_stores(void **state)
{
    (void)state;
    for (int shape = 0; shape < SHAPES; shape++)
        for (int interrupted = 0; interrupted < 2; interrupted++) {
            mgk_rank_options o = options();
            mgk_rank_table table;
            int asked = 0;
            write_store(shape);
            o.output = TABLE;
            o.spectrum = true;
            o.job.threads = 1;
            if (interrupted) {
                o.job.watcher = (mgk_watcher){.stop = stop_at, .context = &asked};
                assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INTERRUPTED);
                o.job.watcher.stop = NULL;
                o.resume = true;
            }
            assert_done(mgk_rank_attention(&o, NULL));
            assert_ok(mgk_rank_file_read(TABLE, true, &table));
            compare_table(shape, &table);
            mgk_rank_table_free(&table);
        }
}

/* Only the missing values of a shorter side may be missing. */
static void spectra_with_gaps_are_refused(void **state)
{
    (void)state;
    const int tall = 1;
    mgk_rank_options o = options();
    mgk_rank_table table;
    write_store(tall);
    o.output = TABLE;
    o.spectrum = true;
    assert_done(mgk_rank_attention(&o, NULL));
    hid_t file = H5Fopen(TABLE, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "singular_values", H5P_DEFAULT), space = H5Dget_space(dataset);
    const hsize_t last = smaller(queries_of(tall, 0), keys_of(tall, 0)) - 1;
    const hsize_t start[] = {0, 0, 0, last}, one[] = {1, 1, 1, 1};
    hid_t memory = H5Screate_simple(4, one, NULL);
    const double missing = NAN;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, &missing) >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
    assert_fails(mgk_rank_file_read(TABLE, true, &table), STATUS_FORMAT);
}

/* ---- in memory ------------------------------------------------------------------------------- */

/* Blocks of a larger matrix, of which other rows and columns are not looked at. */
static void ranks_of_arrays(void **state)
{
    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        static double entries[L][S][H][MOST][MOST];
        const void *layers[L] = {entries[0], entries[1]};
        int32_t first[S], lengths[S], first_key[S], key_lengths[S];
        for (int s = 0; s < S; s++) {
            first[s] = s;
            first_key[s] = 2 - s;
            lengths[s] = queries_of(shape, s);
            key_lengths[s] = keys_of(shape, s);
        }
        for (size_t k = 0; k < sizeof(entries) / sizeof(double); k++)
            (&entries[0][0][0][0][0])[k] = NAN;
        for (int m = 0; m < MATRICES; m++) {
            const int s = m / L / H;
            double a[MOST * MOST];
            fill_block(shape, m, a);
            for (int i = 0; i < lengths[s]; i++)
                memcpy(&entries[m / H % L][s][m % H][first[s] + i][first_key[s]],
                       a + i * key_lengths[s], (size_t)key_lengths[s] * sizeof(*a));
        }
        mgk_array array = {.dtype = "f64",
                           .layers = layers,
                           .layer_count = L,
                           .samples = S,
                           .heads = H,
                           .tokens = MOST - 1,
                           .keys = MOST,
                           .sample_stride = sizeof(entries[0][0]),
                           .head_stride = sizeof(entries[0][0][0]),
                           .row_stride = sizeof(entries[0][0][0][0]),
                           .column_stride = sizeof(double),
                           .first = first,
                           .lengths = lengths,
                           .first_key = first_key,
                           .key_lengths = key_lengths};
        mgk_rank_options o = options();
        mgk_rank_table table;
        o.inputs = NULL;
        o.input_count = 0;
        o.arrays = &array;
        o.array_count = 1;
        o.output = TABLE;
        o.spectrum = true;
        assert_done(mgk_rank_attention(&o, NULL));
        assert_ok(mgk_rank_file_read(TABLE, true, &table));
        compare_table(shape, &table);
        mgk_rank_table_free(&table);

        key_lengths[1] = MOST;
        assert_int_equal(mgk_rank_attention(&o, NULL), MGK_USAGE);
        assert_non_null(strstr(mgk_error(), "array: sample 1 has 24 valid keys from key 1 of 24"));
        array.keys = 0;
        assert_int_equal(mgk_rank_attention(&o, NULL), MGK_USAGE);
        assert_non_null(strstr(mgk_error(), "array: 0 keys"));
    }
}

/* ---- measures -------------------------------------------------------------------------------- */

typedef struct notes {
    char text[2000];
} notes;

static void note(void *context, const mgk_report *report)
{
    notes *n = context;
    const size_t used = strlen(n->text);
    snprintf(n->text + used, sizeof(n->text) - used, "%s\n", report->note ? report->note : "");
}

static void measures_of_stores(void **state)
{
    (void)state;
    static const char *const distance = "distance";
    for (int shape = 0; shape < SHAPES; shape++) {
        mgk_diversity_options o = mgk_diversity_options_default();
        mgk_table *table;
        mgk_table_column names, values;
        notes told = {""};
        write_store(shape);
        o.job.device = "cpu";
        o.inputs = &path;
        o.input_count = 1;
        o.job.watcher = (mgk_watcher){.report = note, .context = &told};
        assert_done(mgk_measure_diversity(&o, &table));
        assert_non_null(strstr(told.text, ": not measured: distance, "));
        assert_non_null(strstr(told.text, " need queries and keys of one sequence\n"));
        assert_null(strstr(told.text, "causal"));
        assert_done(mgk_table_find_column(table, "measure", &names));
        assert_done(mgk_table_find_column(table, "value", &values));
        bool high = false;
        for (size_t r = 0; r < mgk_table_rows(table); r++) {
            const char *name = names.words[names.integers[r]];
            /* layers 1 and 3 do not follow each other */
            assert_int_equal(isfinite(values.reals[r]), strcmp(name, "cross_layer_cosine") != 0);
            assert_string_not_equal(name, "diagonal");
            assert_string_not_equal(name, "rollout_rank");
            high |= strcmp(name, "high_frequency") == 0;
        }
        assert_true(high);
        mgk_table_close(table);
        o.measures = &distance;
        o.measure_count = 1;
        assert_int_not_equal(mgk_measure_diversity(&o, &table), MGK_OK);
        assert_non_null(strstr(mgk_error(), "\"distance\" needs queries and keys of one sequence"));
        o.measures = NULL;
        o.measure_count = 0;
        o.causal = true;
        assert_int_equal(mgk_measure_diversity(&o, &table), MGK_USAGE);
        assert_non_null(strstr(mgk_error(), "which has no causal mask"));
    }
}

/* ---- pictures -------------------------------------------------------------------------------- */

static mgk_plot_options picture(mgk_plot_kind kind)
{
    mgk_plot_options o = mgk_plot_options_default();
    o.kind = kind;
    o.inputs = &path;
    o.input_count = 1;
    o.output = "cross.png";
    o.job.force = true;
    o.sample = 0;
    return o;
}

static png_picture draw(const mgk_plot_options *o)
{
    assert_done(mgk_plot_picture(o));
    return read_png(o->output);
}

/* The tokens of the queries are left of the rows, those of the keys below the columns: longer ones
 * need more space there, and there alone. */
static void labels_of_both_sides(void **state)
{
    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        mgk_plot_options o = picture(MGK_PLOT_ATTENTION);
        png_picture pictures[3];
        o.labels = true;
        o.title = "t"; /* no wider than the matrices */
        for (int p = 0; p < 3; p++) {
            of_query = p == 1 ? "a token of a query that is much longer" : "q";
            of_key = p == 2 ? "a longer key" : "k";
            write_store(shape);
            pictures[p] = draw(&o);
        }
        assert_true(pictures[1].width > pictures[0].width);
        assert_int_equal(pictures[1].height, pictures[0].height);
        assert_true(pictures[2].height > pictures[0].height);
        assert_int_equal(pictures[2].width, pictures[0].width);
        for (int p = 0; p < 3; p++)
            mgk_free(pictures[p].pixels);
    }
}

/* One pixel an entry: rows are the valid queries, columns the valid keys, the largest is white. */
static void pixels_are_queries_and_keys(void **state)
{
    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        static const int layer = 3, head = 4, m = (1 * L + 1) * H + 1;
        const size_t rows = (size_t)queries_of(shape, 1), columns = (size_t)keys_of(shape, 1);
        mgk_plot_options o = picture(MGK_PLOT_ATTENTION);
        double a[MOST * MOST];
        size_t largest = 0;
        write_store(shape);
        fill_block(shape, m, a);
        for (size_t k = 1; k < rows * columns; k++)
            largest = a[k] > a[largest] ? k : largest;
        o.sample = 1;
        o.layers = &layer;
        o.heads = &head;
        o.layer_count = o.head_count = 1;
        o.matrix = true;
        o.colors = "grey";
        o.scale = "linear";
        png_picture p = draw(&o);
        assert_int_equal(p.height, rows);
        assert_int_equal(p.width, columns);
        for (size_t k = 0; k < rows * columns; k++)
            if (a[k] == a[largest])
                assert_int_equal(p.pixels[k].r, p.pixels[largest].r);
            else if (a[k] < 0.9 * a[largest])
                assert_true(p.pixels[k].r != p.pixels[largest].r);
        mgk_free(p.pixels);
    }
}

static void expect_refused(const mgk_plot_options *o, const char *part)
{
    assert_int_not_equal(mgk_plot_picture(o), MGK_OK);
    if (!strstr(mgk_error(), part))
        fail_msg("\"%s\", expected \"...%s...\"", mgk_error(), part);
}

static void pictures_of_one_sequence_are_refused(void **state)
{
    (void)state;
    write_store(0);
    mgk_plot_options o = picture(MGK_PLOT_ATTENTION);
    o.words = true;
    expect_refused(&o, "`words` is about the tokens of one sequence");
    o = picture(MGK_PLOT_ATTENTION);
    o.last = 2;
    expect_refused(&o, "`last` is about the tokens of one sequence");
    o = picture(MGK_PLOT_ATTENTION);
    o.labels_file = PATH;
    expect_refused(&o, "`labels_file` is about the tokens of one sequence");
    o = picture(MGK_PLOT_FIGURE);
    o.figure = 5;
    expect_refused(&o, "which the published figures do not show");
}

static int remove_files(void **state)
{
    (void)state;
    unlink(PATH);
    unlink("cross.png");
    return unlink(TABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_stores),
        cmocka_unit_test(spectra_with_gaps_are_refused),
        cmocka_unit_test(ranks_of_arrays),
        cmocka_unit_test(measures_of_stores),
        cmocka_unit_test(labels_of_both_sides),
        cmocka_unit_test(pixels_are_queries_and_keys),
        cmocka_unit_test(pictures_of_one_sequence_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
