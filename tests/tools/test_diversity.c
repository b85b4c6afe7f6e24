/* SPDX-License-Identifier: MIT */
/* mgk_measure_diversity: all formats and the table in memory hold the same values. */
#include "mgk.h"

#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/table/diversity_table.h"
#include "model/core/parameters.h"
#include "table/files.h"
#include "test.h"
#include "tiny.h"

enum { SAMPLES = 4, LAYERS = 3, HEADS = 4 };

static const char *const model = "model.safetensors", *const text = "text.txt";
static const char *const store = "store.h5";

static mgk_diversity_options of_store(const char *output)
{
    mgk_diversity_options o = mgk_diversity_options_default();
    o.job = (mgk_job){.device = "cpu", .threads = 2, .force = true};
    o.inputs = &store;
    o.input_count = 1;
    o.output = output;
    return o;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static mgk_table_column column_of(const mgk_table *table, const char *name)
{
    mgk_table_column column;
    assert_done(mgk_table_find_column(table, name, &column));
    return column;
}

static mgk_table read_table(const char *path)
{
    mgk_table table;
    assert_ok(mgk_table_read_text(&mgk_diversity_schema, path, &table));
    return table;
}

static void assert_same_cells(const mgk_table_column *a, const mgk_table_column *b, size_t r)
{
    if (a->reals)
        assert_true(a->reals[r] == b->reals[r] || (isnan(a->reals[r]) && isnan(b->reals[r])));
    else if (a->words)
        assert_string_equal(a->words[a->integers[r]], b->words[b->integers[r]]);
    else
        assert_int_equal(a->integers[r], b->integers[r]);
}

static void assert_same_tables(const mgk_table *a, const mgk_table *b)
{
    assert_int_equal(mgk_table_columns(a), 12);
    assert_int_equal(mgk_table_columns(b), 12);
    assert_int_equal(mgk_table_rows(a), mgk_table_rows(b));
    for (size_t c = 0; c < 12; c++) {
        const char *name = mgk_diversity_schema.columns[c].name;
        const mgk_table_column x = column_of(a, name), y = column_of(b, name);
        for (size_t r = 0; r < mgk_table_rows(a); r++)
            assert_same_cells(&x, &y, r);
    }
}

static void text_formats_hold_the_table(void **state)
{
    (void)state;
    mgk_diversity_options csv = of_store("means.csv"), json = of_store("means.json");
    mgk_table *means, from_csv, from_json;
    assert_done(mgk_measure_diversity(&csv, &means));
    assert_done(mgk_measure_diversity(&json, NULL));
    assert_true(mgk_table_rows(means) > 0);
    from_csv = read_table("means.csv");
    from_json = read_table("means.json");
    assert_same_tables(means, &from_csv);
    assert_same_tables(means, &from_json);
    assert_non_null(strstr(mgk_table_settings(&from_json), "\"threshold\":1e-06"));
    mgk_table_free(&from_csv);
    mgk_table_free(&from_json);
    mgk_table_close(means);
}

/* ---- HDF5 ------------------------------------------------------------------------------------ */

/* The place of a number in a scale. */
static size_t find_number(hid_t file, const char *scale, int number, size_t count)
{
    int numbers[16];
    size_t i = 0;
    assert_true(H5LTread_dataset_int(file, scale, numbers) >= 0);
    while (i < count && numbers[i] != number)
        i++;
    assert_true(i < count);
    return i;
}

/* The value of /measures/NAME for a row of the table. */
static double value_of_row(hid_t file, const mgk_table *table, size_t r)
{
    static double values[SAMPLES * LAYERS * HEADS * HEADS];
    char path[100];
    const mgk_table_column measure = column_of(table, "measure"),
                           sample = column_of(table, "sample"), layer = column_of(table, "layer"),
                           head = column_of(table, "head"), other = column_of(table, "other_head");
    size_t i = find_number(file, "/sample", sample.integers[r], SAMPLES);
    i = i * LAYERS + find_number(file, "/layer", layer.integers[r], LAYERS);
    if (head.integers[r] >= 0)
        i = i * HEADS + find_number(file, "/head", head.integers[r], HEADS);
    if (other.integers[r] >= 0)
        i = i * HEADS + find_number(file, "/other", other.integers[r], HEADS);
    snprintf(path, sizeof(path), "/measures/%s", measure.words[measure.integers[r]]);
    assert_true(H5LTread_dataset_double(file, path, values) >= 0);
    return values[i];
}

static void hdf5_holds_the_samples(void **state)
{
    (void)state;
    mgk_diversity_options csv = of_store("samples.csv"), h5 = of_store("samples.h5");
    csv.per_sample = true;
    assert_done(mgk_measure_diversity(&csv, NULL));
    assert_done(mgk_measure_diversity(&h5, NULL));
    mgk_table table = read_table("samples.csv");
    const mgk_table_column values = column_of(&table, "value");
    hid_t file = H5Fopen("samples.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0 && mgk_table_rows(&table) > 0);
    for (size_t r = 0; r < mgk_table_rows(&table); r++) {
        const double found = value_of_row(file, &table, r), expected = values.reals[r];
        if (!(found == expected || (isnan(found) && isnan(expected))))
            fail_msg("row %zu: %.17g in HDF5, %.17g in CSV", r, found, expected);
    }
    H5Fclose(file);
    mgk_table_free(&table);
}

/* ---- weights --------------------------------------------------------------------------------- */

enum { DIM = 6, HEAD_DIM = 2, MOST_VECTORS = 2 * HEAD_DIM };

/* The weights of a model of tiny_save, and the parameter of a layer. */
typedef struct weights {
    mgk_parameters parameters;
    double *values;
} weights;

static const double *parameter_of(const weights *w, size_t layer, const char *name)
{
    char full[100];
    snprintf(full, sizeof(full), "layers.%zu.attention.%s.weight", layer, name);
    for (size_t i = 0; i < w->parameters.count; i++)
        if (strcmp(w->parameters.list[i].name, full) == 0)
            return w->values + w->parameters.list[i].offset;
    fail_msg("no %s", full);
    return NULL;
}

/* An orthonormal basis of what a head reads or writes, by Gram and Schmidt: [rank, DIM]. */
static size_t basis_of(const mgk_config *config, const weights *w, const char *name, size_t layer,
                       size_t head, double *out)
{
    const double *values = parameter_of(w, layer, name);
    const bool key = !strcmp(name, "key"), output = !strcmp(name, "output");
    const size_t of_keys = (size_t)(config->heads / config->key_heads);
    const size_t group = key || !strcmp(name, "value") ? head / of_keys : head;
    char kind[MGK_KIND_NAME];
    mgk_config_kind_name(config, (int)layer, kind); /* smgk: one projection for all keys */
    const size_t count = HEAD_DIM * (key && !strcmp(kind, "mgk") ? (size_t)config->mixtures : 1);
    for (size_t v = 0; v < count; v++) {
        double length = 0, *x = out + v * DIM;
        for (size_t c = 0; c < DIM; c++) {
            const size_t row =
                (v / HEAD_DIM * (size_t)config->key_heads + group) * HEAD_DIM + v % HEAD_DIM;
            x[c] =
                output ? values[c * HEADS * HEAD_DIM + head * HEAD_DIM + v] : values[row * DIM + c];
        }
        for (size_t k = 0; k < 2 * v; k++) {
            double product = 0;
            for (size_t c = 0; c < DIM; c++)
                product += x[c] * out[k % v * DIM + c];
            for (size_t c = 0; c < DIM; c++)
                x[c] -= product * out[k % v * DIM + c];
        }
        for (size_t c = 0; c < DIM; c++)
            length += x[c] * x[c];
        for (size_t c = 0; c < DIM; c++)
            x[c] /= sqrt(length);
    }
    return count;
}

static double overlap_of(size_t of_a, const double *a, size_t of_b, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < of_a * of_b; i++) {
        double product = 0;
        for (size_t c = 0; c < DIM; c++)
            product += a[i / of_b * DIM + c] * b[i % of_b * DIM + c];
        sum += product * product;
    }
    return sum / (double)(of_a < of_b ? of_a : of_b);
}

/* Compares all rows of a table with the weights. */
static void compare_projections(const mgk_config *config, const weights *w, const mgk_table *table)
{
    const mgk_table_column measure = column_of(table, "measure"), layer = column_of(table, "layer"),
                           head = column_of(table, "head"), other = column_of(table, "other_head"),
                           other_layer = column_of(table, "other_layer"),
                           value = column_of(table, "value"), sd = column_of(table, "sd");
    const size_t all = LAYERS * HEADS, shared = HEADS / (size_t)config->key_heads;
    assert_int_equal(mgk_table_rows(table), 4 * all * (all - 1) / 2);
    for (size_t r = 0; r < mgk_table_rows(table); r++) {
        const char *name = measure.words[measure.integers[r]] + strlen("projection_");
        const size_t h = (size_t)head.integers[r], g = (size_t)other.integers[r];
        double a[MOST_VECTORS * DIM], b[MOST_VECTORS * DIM];
        const size_t of_a = basis_of(config, w, name, (size_t)layer.integers[r], h, a);
        const size_t of_b = basis_of(config, w, name, (size_t)other_layer.integers[r], g, b);
        assert_close(value.reals[r], overlap_of(of_a, a, of_b, b), 1e-12, 0);
        assert_true(sd.reals[r] == 0);
        const bool same = layer.integers[r] == other_layer.integers[r] && h / shared == g / shared;
        if (same && (!strcmp(name, "key") || !strcmp(name, "value")))
            assert_close(value.reals[r], 1, 1e-14, 0);
        else
            assert_true(value.reals[r] < 0.999);
    }
}

/* Heads with their own keys, heads that share them, and heads with two keys per position, of two
 * projections or of one, also in one model. */
static void projections_are_those_of_the_weights(void **state)
{
    (void)state;
    static const char *const path = "projections.safetensors", *const measures[] = {
                                                                   "projection_query",
                                                                   "projection_key",
                                                                   "projection_value",
                                                                   "projection_output"};
    static const struct {
        const char *attention;
        int key_heads;
    } kinds[] = {{"softmax", 4}, {"softmax", 2}, {"mgk", 4}, {"smgk", 4}, {"smgk,mgk,softmax", 4}};
    for (size_t i = 0; i < 5; i++) {
        mgk_config config = tiny_config(MGK_FAMILY_LM, kinds[i].attention);
        weights w;
        mgk_table *table;
        config.key_heads = kinds[i].key_heads;
        tiny_save(&config, path);
        assert_ok(mgk_config_resolve(&config));
        assert_ok(mgk_parameters_build(&config, &w.parameters));
        w.values = calloc(w.parameters.total, sizeof(double));
        mgk_parameters_initialize(&w.parameters, TINY_SEED, w.values);
        mgk_diversity_options o = of_store(NULL);
        o.input_count = 0;
        o.models = &path;
        o.model_count = 1;
        o.input = (mgk_input){.text = &text, .text_count = 1, .samples = 2};
        o.double_precision = true;
        o.measures = measures;
        o.measure_count = 4;
        o.across_layers = true;
        assert_done(mgk_measure_diversity(&o, &table));
        compare_projections(&config, &w, table);
        mgk_table_close(table);
        mgk_parameters_free(&w.parameters);
        free(w.values);
    }
}

/* ---- layers of different keys ---------------------------------------------------------------- */

/* The rows of measures of mixtures have values in the layers of such kinds, and no others. */
static void check_mixture_rows(const mgk_table *table)
{
    const mgk_table_column measure = column_of(table, "measure"), layer = column_of(table, "layer"),
                           value = column_of(table, "value"), samples = column_of(table, "samples");
    size_t known = 0, empty = 0;
    for (size_t r = 0; r < mgk_table_rows(table); r++) {
        const bool cosine = !strcmp(measure.words[measure.integers[r]], "key_weight_cosine");
        const bool expected = cosine ? layer.integers[r] == 0 : layer.integers[r] != 1;
        assert_true(isfinite(value.reals[r]) == expected);
        assert_true((samples.integers[r] > 0) == expected);
        known += expected;
        empty += !expected;
    }
    assert_true(known > 0 && empty > 0);
}

static void measures_of_mixtures_leave_other_layers_out(void **state)
{
    (void)state;
    static const char *const path = "mixed.safetensors", *const exported = "mixed.h5";
    static const char *const measures[] = {"key_use", "key_separation", "key_weight_cosine"};
    static const int softmax[] = {1};
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk,softmax,smgk");
    mgk_dump_options d = mgk_dump_options_default();
    mgk_diversity_options stored = of_store(NULL), streamed = of_store(NULL);
    mgk_table *here, *there;
    tiny_save(&config, path);
    d.job = (mgk_job){.device = "cpu", .threads = 1, .seed = 3, .force = true};
    d.model = path;
    d.input = (mgk_input){.text = &text, .text_count = 1, .samples = SAMPLES};
    d.save = MGK_SAVE_ATTENTION | MGK_SAVE_QUERIES | MGK_SAVE_KEYS | MGK_SAVE_WEIGHTS;
    d.double_precision = true;
    d.dtype = "f64";
    d.output = exported;
    assert_done(mgk_dump_attention(&d, NULL));
    stored.inputs = &exported;
    stored.measures = streamed.measures = measures;
    stored.measure_count = streamed.measure_count = 3;
    streamed.input_count = 0;
    streamed.models = &path;
    streamed.model_count = 1;
    streamed.input = d.input;
    streamed.job = d.job;
    streamed.double_precision = true;
    assert_done(mgk_measure_diversity(&stored, &here));
    assert_done(mgk_measure_diversity(&streamed, &there));
    check_mixture_rows(here);
    check_mixture_rows(there);
    const mgk_table_column x = column_of(here, "value"), y = column_of(there, "value");
    assert_int_equal(mgk_table_rows(here), mgk_table_rows(there));
    for (size_t r = 0; r < mgk_table_rows(here); r++)
        if (isfinite(x.reals[r]))
            assert_close(x.reals[r], y.reals[r], 1e-12, 1e-12);
    mgk_table_close(here);
    mgk_table_close(there);
    /* Among layers of one key nothing has the measures. */
    stored.layers = streamed.layers = softmax;
    stored.layer_count = streamed.layer_count = 1;
    assert_int_equal(mgk_measure_diversity(&stored, &here), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "needs several keys per position"));
    assert_int_equal(mgk_measure_diversity(&streamed, &here), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "needs several keys per position"));
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static void every_measure_is_described(void **state)
{
    (void)state;
    mgk_measure_description d;
    size_t count = 0, with_tokens = 0, with_values = 0;
    while (mgk_describe_measure(count, &d) == MGK_OK) {
        assert_true(*d.name && *d.range && *d.formula && d.unit && d.source);
        assert_true(!strcmp(d.level, "head") || !strcmp(d.level, "pair") ||
                    !strcmp(d.level, "layer"));
        with_tokens += !strcmp(d.needs, "tokens");
        with_values += !strcmp(d.needs, "values");
        count++;
    }
    assert_int_equal(mgk_describe_measure(count, &d), MGK_USAGE);
    assert_int_equal(mgk_describe_measure(SIZE_MAX, &d), MGK_USAGE);
    assert_true(count >= 40 && with_tokens == 2 && with_values == 6);
}

static void an_empty_list_measures_nothing(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    mgk_diversity_options o = of_store("nothing.csv");
    mgk_table *means;
    o.measures = none;
    assert_int_equal(mgk_measure_diversity(&o, &means), MGK_USAGE);
    assert_string_equal(mgk_error(), "no measures");
    assert_null(means);
    assert_int_not_equal(access("nothing.csv", F_OK), 0);
}

static int setup(void **state)
{
    (void)state;
    mkdir("diversity", 0777);
    if (chdir("diversity") != 0)
        return 1;
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    mgk_dump_options o = mgk_dump_options_default();
    tiny_text(text, 400);
    tiny_save(&config, model);
    o.job = (mgk_job){.device = "cpu", .threads = 1, .seed = 3, .force = true};
    o.model = model;
    o.input = (mgk_input){.text = &text, .text_count = 1, .samples = SAMPLES};
    o.save = MGK_SAVE_ATTENTION | MGK_SAVE_VALUES;
    o.output = store;
    assert_done(mgk_dump_attention(&o, NULL));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_formats_hold_the_table),
        cmocka_unit_test(hdf5_holds_the_samples),
        cmocka_unit_test(projections_are_those_of_the_weights),
        cmocka_unit_test(measures_of_mixtures_leave_other_layers_out),
        cmocka_unit_test(every_measure_is_described),
        cmocka_unit_test(an_empty_list_measures_nothing),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
