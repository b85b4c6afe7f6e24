/* SPDX-License-Identifier: MIT */
/* Files of mgk-diversity: every format is read to the same numbers, and damaged files are refused.
 */
#include "run/diversity_file.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "plot_case.h"
#include "test.h"
#include "tiny.h"

enum { LAYERS = 3, HEADS = 4 };

static const char *const means_csv = "means.csv", *const means_json = "means.json",
                         *const samples_csv = "samples.csv", *const samples_json = "samples.json",
                         *const arrays = "measures.h5";

/* Differences between softmax and MGK. */
static const char *const compared[] = {"compared.csv", "compared.json", "compared.h5"};
enum { COMPARED = 3, COMPARED_H5 = 2 };

/* Measures into a file; across layers if its name says so. */
static void measure(const char *const *inputs, size_t count, const char *output, bool per_sample)
{
    mgk_diversity_options o = mgk_diversity_options_default();
    o.across_layers = strncmp(output, "across", 6) == 0;
    o.job.force = true;
    o.job.threads = 1;
    o.inputs = inputs;
    o.input_count = count;
    o.output = output;
    o.per_sample = per_sample;
    assert_done(mgk_measure_diversity(&o, NULL));
}

static void compare_stores(const char *const *inputs, const char *output)
{
    mgk_diversity_options o = mgk_diversity_options_default();
    o.job.force = true;
    o.job.threads = 1;
    o.inputs = inputs;
    o.input_count = 2;
    o.output = output;
    o.compare = true;
    assert_done(mgk_measure_diversity(&o, NULL));
}

static void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_true(in && out);
    for (size_t size; (size = fread(bytes, 1, sizeof(bytes), in)) > 0;)
        assert_int_equal(fwrite(bytes, 1, size, out), size);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void set_step(const char *path, int64_t step)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t attribute = H5Aopen(file, "training_step", H5P_DEFAULT);
    assert_true(H5Awrite(attribute, H5T_NATIVE_INT64, &step) >= 0);
    H5Aclose(attribute);
    H5Fclose(file);
}

static int make_files(void **state)
{
    static const char *const copy = "copy.h5", *const softmax = "softmax.h5";
    case_make_store("softmax", NULL);
    assert_int_equal(rename(case_store, softmax), 0);
    case_make_mgk(state);
    for (size_t i = 0; i < COMPARED; i++)
        compare_stores((const char *const[]){softmax, case_store}, compared[i]);
    copy_file(case_store, copy);
    set_step(copy, 500);
    const char *const inputs[] = {case_store, copy};
    measure(inputs, 2, means_csv, false);
    measure(inputs, 2, means_json, false);
    measure(inputs, 2, samples_csv, true);
    measure(inputs, 2, samples_json, true);
    measure(inputs, 2, arrays, false);
    measure(inputs, 1, "one.h5", false);
    measure(inputs, 2, "across_means.csv", false);
    measure(inputs, 2, "across_samples.json", true);
    measure(inputs, 2, "across.h5", false);
    measure(inputs, 1, "across_one.h5", false);
    return 0;
}

static mgk_diversity_set read_file(const char *path)
{
    mgk_diversity_set set;
    assert_ok(mgk_diversity_file_read(path, &set));
    return set;
}

/* NaN equals NaN: no value. */
static void assert_same(double a, double b)
{
    if (isnan(a) && isnan(b))
        return;
    assert_close(a, b, 1e-12, 1e-12);
}

/* NaN comes last. */
static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}

/* The values of measure m in one layer are those of measure k of another file. */
static void compare_layer(const mgk_diversity_values *a, size_t m, const mgk_diversity_values *b,
                          size_t k, size_t layer)
{
    const bool pair = a->layout.measures[m]->level == MGK_MEASURE_PAIR;
    const size_t size = mgk_measure_size(a->layout.measures[m], HEADS, a->layout.mixtures);
    for (size_t i = 0; i < size; i++) {
        const size_t x = mgk_diversity_place(a, m, layer) + i,
                     y = mgk_diversity_place(b, k, layer) + i;
        if (pair && i / HEADS == i % HEADS)
            continue;
        assert_int_equal(a->means.samples[x], b->means.samples[y]);
        assert_same(mgk_diversity_mean(&a->means, x), mgk_diversity_mean(&b->means, y));
        assert_same(mgk_diversity_sd(&a->means, x), mgk_diversity_sd(&b->means, y));
    }
    double *samples = mgk_diversity_samples(a, m, layer),
           *others = mgk_diversity_samples(b, k, layer);
    if (!samples || !others)
        return;
    /* Text lists samples by number, HDF5 in the order in which they were measured. */
    qsort(samples, S, sizeof(*samples), ascending);
    qsort(others, S, sizeof(*others), ascending);
    for (size_t s = 0; s < S; s++)
        assert_same(samples[s], others[s]);
}

static void compare(const mgk_diversity_set *a, const mgk_diversity_set *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const mgk_diversity_values *x = &a->inputs[i], *y = &b->inputs[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->layout.chosen, y->layout.chosen);
        assert_int_equal(x->layout.layers, LAYERS);
        assert_int_equal(x->layout.heads, HEADS);
        assert_int_equal(x->layout.mixtures, 2);
        assert_int_equal(y->layout.mixtures, 2);
        for (size_t m = 0; m < x->layout.chosen; m++) {
            const size_t k = mgk_diversity_find(y, x->layout.measures[m]->name);
            assert_true(k < y->layout.chosen);
            assert_int_equal(x->layout.measures[m]->level, y->layout.measures[k]->level);
            assert_int_equal(x->layout.measures[m]->components, y->layout.measures[k]->components);
            assert_string_equal(x->layout.measures[m]->unit, y->layout.measures[k]->unit);
            assert_string_equal(x->layout.measures[m]->formula, y->layout.measures[k]->formula);
            for (size_t l = 0; l < LAYERS; l++)
                compare_layer(x, m, y, k, l);
        }
    }
}

/* Of a pair across layers: all values but those of a head with itself, which text lacks. */
static void compare_across(const mgk_diversity_values *a, size_t m, const mgk_diversity_values *b,
                           size_t k)
{
    const size_t heads = LAYERS * HEADS;
    for (size_t i = 0; i < heads * heads; i++) {
        const size_t x = mgk_record_across(&a->layout, m) + i,
                     y = mgk_record_across(&b->layout, k) + i;
        if (i / heads == i % heads)
            continue;
        assert_int_equal(a->means.samples[x], b->means.samples[y]);
        assert_same(mgk_diversity_mean(&a->means, x), mgk_diversity_mean(&b->means, y));
        assert_same(mgk_diversity_sd(&a->means, x), mgk_diversity_sd(&b->means, y));
    }
}

/* Pairs of a layer have the same values in their layer and across layers. */
static void compare_with_layers(const mgk_diversity_values *v, size_t m)
{
    for (size_t l = 0; l < LAYERS; l++)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t g = 0; g < HEADS; g++)
                assert_same(
                    mgk_diversity_mean(&v->means, mgk_diversity_place(v, m, l) + h * HEADS + g),
                    mgk_diversity_mean(&v->means, mgk_record_across(&v->layout, m) +
                                                      (l * HEADS + h) * LAYERS * HEADS + l * HEADS +
                                                      g));
}

static void formats_agree_across_layers(void **state)
{
    (void)state;
    const char *const paths[] = {"across_samples.json", "across.h5"};
    mgk_diversity_set means = read_file("across_means.csv"), plain = read_file(means_csv);
    for (size_t i = 0; i < 2; i++) {
        mgk_diversity_set set = read_file(paths[i]);
        size_t pairs = 0;
        compare(&means, &set);
        compare(&set, &plain); /* the other values are those without pairs across layers */
        for (size_t m = 0; m < means.inputs[1].layout.chosen; m++) {
            const mgk_diversity_values *v = &means.inputs[1], *w = &set.inputs[1];
            const size_t k = mgk_diversity_find(w, v->layout.measures[m]->name);
            if (v->layout.measures[m]->level != MGK_MEASURE_PAIR)
                continue;
            assert_true(v->layout.across && w->layout.across);
            compare_across(v, m, w, k);
            compare_with_layers(v, m);
            compare_with_layers(w, k);
            pairs++;
        }
        assert_true(pairs >= 5);
        mgk_diversity_set_free(&set);
    }
    assert_false(plain.inputs[0].layout.across);
    mgk_diversity_set_free(&means);
    mgk_diversity_set_free(&plain);
}

static void formats_agree(void **state)
{
    (void)state;
    const char *const paths[] = {means_json, samples_csv, samples_json, arrays};
    mgk_diversity_set means = read_file(means_csv);
    assert_int_equal(means.count, 2);
    assert_int_equal(means.inputs[0].sample_count, 0);
    assert_string_equal(means.inputs[1].name, "copy.h5");
    for (size_t i = 0; i < 4; i++) {
        mgk_diversity_set set = read_file(paths[i]);
        assert_int_equal(set.inputs[0].sample_count, i == 0 ? 0 : S);
        compare(&means, &set);
        assert_int_equal(i == 1, set.settings == NULL); /* CSV has none */
        mgk_diversity_set_free(&set);
    }
    mgk_diversity_set_free(&means);
    mgk_diversity_set csv = read_file(samples_csv), h5 = read_file(arrays);
    compare(&csv, &h5); /* with the samples of layers */
    mgk_diversity_set_free(&csv);
    mgk_diversity_set_free(&h5);
}

/* A file of one input holds its name in the settings. */
static void one_input(void **state)
{
    (void)state;
    mgk_diversity_set both = read_file(arrays), one = read_file("one.h5");
    assert_int_equal(one.count, 1);
    both.count = 1;
    compare(&both, &one);
    both.count = 2;
    mgk_diversity_set_free(&both);
    mgk_diversity_set_free(&one);
}

static void expect_steps(const char *path, int64_t first, int64_t second)
{
    mgk_diversity_set set = read_file(path);
    assert_int_equal(set.count, 2);
    assert_int_equal(set.inputs[0].training_step, first);
    assert_int_equal(set.inputs[1].training_step, second);
    mgk_diversity_set_free(&set);
}

/* Writes means.json with another text for the steps. */
static void write_steps(const char *path, const char *steps)
{
    mgk_mapping file;
    assert_ok(mgk_map_file(means_json, &file));
    const char *text = (const char *)file.data;
    const char *start = memmem(text, file.size, "[0,500]", 7);
    assert_non_null(start);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    fprintf(out, "%.*s%s%.*s", (int)(start - text), text, steps,
            (int)(file.size - (size_t)(start - text) - 7), start + 7);
    assert_int_equal(fclose(out), 0);
    mgk_unmap_file(&file);
}

/* The models of the stores are of steps 0 and 500. */
static void steps_are_read(void **state)
{
    (void)state;
    static const char *const odd[] = {"[null,null]", "[\"0\",0.5]", "[-1,1e300]", "[]", "{}", "7"};
    expect_steps(means_json, 0, 500);
    expect_steps(samples_json, 0, 500);
    expect_steps(arrays, 0, 500);
    expect_steps(means_csv, -1, -1);
    mgk_diversity_set one = read_file("one.h5");
    assert_int_equal(one.inputs[0].training_step, 0);
    mgk_diversity_set_free(&one);
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        write_steps("odd.json", odd[i]);
        expect_steps("odd.json", -1, -1);
    }
    write_steps("odd.json", "[7]");
    expect_steps("odd.json", 7, -1);
}

/* mgk_table_open gives the rows of text as they are, and the means of HDF5. */
static void tables_open(void **state)
{
    (void)state;
    mgk_table *csv, *h5, *samples;
    mgk_table_column a, b;
    assert_done(mgk_table_open(means_csv, &csv));
    assert_done(mgk_table_open(arrays, &h5));
    assert_done(mgk_table_open(samples_json, &samples));
    assert_int_equal(mgk_table_rows(csv), mgk_table_rows(h5));
    assert_int_equal(mgk_table_rows(samples), S * mgk_table_rows(csv));
    assert_non_null(mgk_table_settings(h5));
    assert_done(mgk_table_find_column(csv, "value", &a));
    assert_done(mgk_table_find_column(h5, "value", &b));
    for (size_t r = 0; r < mgk_table_rows(csv); r++) {
        assert_int_equal(isnan(a.reals[r]), isnan(b.reals[r]));
        if (!isnan(a.reals[r]))
            assert_close(a.reals[r], b.reals[r], 1e-14, 1e-10);
    }
    mgk_table_close(csv);
    mgk_table_close(h5);
    mgk_table_close(samples);
}

/* ---- differences ----------------------------------------------------------------------------- */

/* The difference of the same measure and layer in another file. */
static const mgk_layer_difference *find_difference(const mgk_diversity_set *set,
                                                   const mgk_layer_difference *d)
{
    for (size_t i = 0; i < set->difference_count; i++)
        if (strcmp(set->differences[i].measure, d->measure) == 0 &&
            set->differences[i].layer == d->layer)
            return &set->differences[i];
    fail_msg("no difference of %s in layer %d", d->measure, d->layer);
    return NULL;
}

static void differences_agree(void **state)
{
    (void)state;
    mgk_diversity_set csv = read_file(compared[0]);
    size_t known = 0; /* with a p */
    for (size_t i = 1; i < COMPARED; i++) {
        mgk_diversity_set set = read_file(compared[i]);
        assert_int_equal(set.difference_count, csv.difference_count);
        for (size_t k = 0; k < csv.difference_count; k++) {
            const mgk_layer_difference *a = &csv.differences[k], *b = find_difference(&set, a);
            assert_string_equal(a->name, "plot.h5-softmax.h5");
            assert_string_equal(b->name, "plot.h5-softmax.h5");
            assert_true(a->paired && b->paired);
            assert_int_equal(a->difference.samples, b->difference.samples);
            assert_same(a->difference.value, b->difference.value);
            assert_same(a->difference.low, b->difference.low);
            assert_same(a->difference.high, b->difference.high);
            assert_same(a->difference.p, b->difference.p);
            assert_same(a->difference.p_holm, b->difference.p_holm);
            known += isnan(b->difference.p_holm) ? 0 : 1;
        }
        mgk_diversity_set_free(&set);
    }
    assert_true(known > LAYERS);
    mgk_diversity_set_free(&csv);
}

/* The table of HDF5 has the rows of text. */
static void tables_have_differences(void **state)
{
    (void)state;
    mgk_table *csv, *h5;
    mgk_table_column column;
    assert_done(mgk_table_open(compared[0], &csv));
    assert_done(mgk_table_open(compared[COMPARED_H5], &h5));
    assert_int_equal(mgk_table_rows(csv), mgk_table_rows(h5));
    assert_done(mgk_table_find_column(h5, "paired", &column));
    assert_int_equal(column.integers[0], -1);
    assert_int_equal(column.integers[mgk_table_rows(h5) - 1], 1);
    mgk_table_close(csv);
    mgk_table_close(h5);
}

static void files_are_described(void **state)
{
    (void)state;
    const char *const paths[] = {means_csv, means_json, arrays};
    for (size_t i = 0; i < 3; i++) {
        char *text;
        assert_done(mgk_describe_file(paths[i], NULL, false, &text));
        assert_non_null(strstr(text, "diversity file"));
        assert_non_null(strstr(text, "input 1, js"));
        assert_non_null(strstr(text, "mean_i JS(a_i, b_i) / ln 2"));
        assert_null(strstr(text, "across layers  lowest"));
        mgk_release(text);
    }
    char *across;
    assert_done(mgk_describe_file("across.h5", NULL, false, &across));
    assert_non_null(strstr(across, "across layers"));
    mgk_release(across);
}

/* ---- damaged files --------------------------------------------------------------------------- */

static const char header[] =
    "input,level,measure,sample,layer,head,other_layer,other_head,component,value,sd,samples\n";

static void refuses_rows(const char *rows, mgk_status expected, const char *message)
{
    mgk_diversity_set set;
    FILE *file = fopen("bad.csv", "w");
    assert_non_null(file);
    fprintf(file, "%s%s", header, rows);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(mgk_diversity_file_read("bad.csv", &set), expected);
    if (!strstr(mgk_fail_message(), message) || strncmp(mgk_fail_message(), "bad.csv: ", 9) != 0)
        fail_msg("\"%s\" lacks \"%s\"", mgk_fail_message(), message);
    assert_null(set.inputs);
}

static void bad_rows(void **state)
{
    (void)state;
    refuses_rows("", STATUS_FORMAT, "no values");
    refuses_rows("a,head,x,,0,,,,,1,,1\n", STATUS_FORMAT, "row 1: heads that do not suit");
    refuses_rows("a,layer,x,,0,1,,,,1,,1\n", STATUS_FORMAT, "row 1: heads that do not suit");
    refuses_rows("a,layer,x,,,,,,,1,,1\n", STATUS_FORMAT, "row 1: no layer");
    refuses_rows("a,world,x,,0,,,,,1,,1\n", STATUS_FORMAT, "line 2");
    refuses_rows("a,layer,x,,0,,,,,inf,,1\n", STATUS_FORMAT, "line 2");
    refuses_rows("a,layer,x,,0,,,,,1,-1,2\n", STATUS_FORMAT, "row 1: a negative standard");
    refuses_rows("a,layer,x,,0,,,,0,1,,1\n", STATUS_FORMAT, "row 1: a component");
    refuses_rows("a,head,x,,0,0,,,0,1,,1\na,head,x,,0,0,,,,1,,1\n", STATUS_FORMAT,
                 "row 2: another level");
    refuses_rows("a,head,x,,0,0,,,0,1,,1\na,head,x,,0,1,,,1,1,,1\n", STATUS_FORMAT,
                 "2 rows of input \"a\", expected 4");
    refuses_rows("b-a,difference,x,,0,,,,,1,,1\n", STATUS_FORMAT, "no values but differences");
    refuses_rows("a,pair,x,,0,0,1,1,,1,,1\n", STATUS_FORMAT, "1 row of input \"a\", expected 6");
    refuses_rows("a,pair,x,,0,0,1,0,,1,,1\na,pair,x,,1,0,0,0,,1,,1\n", STATUS_FORMAT,
                 "2 rows of input \"a\", expected 1");
    refuses_rows("a,pair,x,,0,0,1,0,,1,,1\na,pair,x,,1,0,0,0,,1,,1\na,pair,x,,0,0,1,1,,1,,1\n"
                 "a,pair,x,,0,1,1,1,,1,,1\na,pair,x,,0,0,0,1,,1,,1\na,pair,x,,1,0,1,1,,1,,1\n",
                 STATUS_FORMAT, "row 2: the value is there twice");
    refuses_rows("a,pair,x,,0,2,0,2,,1,,1\n", STATUS_FORMAT, "row 1: a pair of a head with itself");
    refuses_rows("a,layer,x,,0,,,,,1,,1\na,layer,x,3,1,,,,,1,,\n", STATUS_FORMAT,
                 "row 2: means and samples");
    refuses_rows("a,layer,x,,0,,,,,1,,1\na,head,x,,0,0,,,,1,,1\n", STATUS_FORMAT,
                 "row 2: another level");
    refuses_rows("a,head,x,,0,0,,,,1,,1\na,head,x,,0,0,,,,1,,1\na,head,y,,0,0,,,,1,,1\n"
                 "a,head,y,,0,1,,,,1,,1\n",
                 STATUS_FORMAT, "row 2: the value is there twice");
    refuses_rows("a,pair,x,,0,0,0,1,,1,,1\na,pair,x,,0,1,0,0,,1,,1\n"
                 "a,pair,x,,0,0,0,2,,1,,1\n",
                 STATUS_FORMAT, "row 2: the value is there twice");
    refuses_rows("a,head,x,,0,0,,,,1,,1\na,head,x,,2147483647,2147483647,,,,1,,1\n", STATUS_FORMAT,
                 "2 rows of input \"a\", expected 4 for 1 measure, 2 layers, 2 heads and 1 sample");
}

/* Writes a file with one difference, and reads it. */
static mgk_status read_difference(const char *cells, mgk_diversity_set *set)
{
    FILE *file = fopen("bad.csv", "w");
    assert_non_null(file);
    fprintf(file, "%.*s,low,high,p,p_holm,paired\na,layer,x,,0,,,,,1,,2,,,,,\n",
            (int)strlen(header) - 1, header);
    fprintf(file, "b-a,difference,x,,%s\n", cells);
    assert_int_equal(fclose(file), 0);
    return mgk_diversity_file_read("bad.csv", set);
}

static void bad_differences(void **state)
{
    (void)state;
    static const struct {
        const char *cells, *message;
    } cases[] = {
        {",,,,,1,,2,0,2,0.1,0.2,1", "row 2: a difference of no layer"},
        {"0,,,,,1,,2,2,0,0.1,0.2,1", "row 2: a difference of \"x\" from 2 to 0"},
        {"0,,,,,1,,2,0,2,1.1,1.2,1", "row 2: a difference of \"x\" with p = 1.1"},
        {"0,,,,,1,,2,0,2,0.2,0.1,1", "row 2: a difference of \"x\" with p = 0.2, adjusted 0.1"},
    };
    mgk_diversity_set set;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(read_difference(cases[i].cells, &set), STATUS_FORMAT);
        if (!strstr(mgk_fail_message(), cases[i].message) ||
            strncmp(mgk_fail_message(), "bad.csv: ", 9) != 0)
            fail_msg("\"%s\" lacks \"%s\"", mgk_fail_message(), cases[i].message);
        assert_null(set.inputs);
    }
    assert_ok(read_difference("0,,,,,1,,,,,,,0", &set)); /* cells may be empty */
    assert_int_equal(set.difference_count, 1);
    assert_true(isnan(set.differences[0].difference.p) && !set.differences[0].paired);
    mgk_diversity_set_free(&set);
}

/* Numbers need not begin at 0, nor be in order. */
static void numbers_are_sorted(void **state)
{
    (void)state;
    mgk_diversity_set set;
    FILE *file = fopen("odd.csv", "w");
    assert_non_null(file);
    fprintf(file, "%sa,pair,new,,7,9,7,2,,0.5,,3\na,pair,new,,3,2,3,9,,,,0\n", header);
    assert_int_equal(fclose(file), 0);
    assert_ok(mgk_diversity_file_read("odd.csv", &set));
    const mgk_diversity_values *v = &set.inputs[0];
    assert_int_equal(v->layers[0], 3);
    assert_int_equal(v->layers[1], 7);
    assert_int_equal(v->heads[1], 9);
    assert_string_equal(v->layout.measures[0]->formula, ""); /* of an unknown measure */
    const size_t first = mgk_diversity_place(v, 0, 1);
    assert_true(isnan(mgk_diversity_mean(&v->means, mgk_diversity_place(v, 0, 0) + 1)));
    assert_close(mgk_diversity_mean(&v->means, first + 1), 0.5, 0, 0);
    assert_close(mgk_diversity_mean(&v->means, first + 2), 0.5, 0, 0);
    assert_int_equal(v->means.samples[first + 2], 3);
    mgk_diversity_set_free(&set);
}

/* The change to apply to a file, and what reading it says. */
typedef struct h5_damage {
    void (*apply)(hid_t file);
    const char *message;
} h5_damage;

static void add_array(hid_t file, const char *name, int rank, const hsize_t *shape,
                      const char *level)
{
    hid_t space = H5Screate_simple(rank, shape, NULL);
    hid_t dataset =
        H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Tcopy(H5T_C_S1), one = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(level) + 1);
    hid_t attribute = H5Acreate2(dataset, "level", type, one, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, level);
    const double zeros[512] = {0};
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
    H5Aclose(attribute);
    H5Tclose(type);
    H5Sclose(one);
    H5Dclose(dataset);
    H5Sclose(space);
}

static void another_shape(hid_t file)
{
    add_array(file, "/measures/z", 3, (const hsize_t[]){S, LAYERS, HEADS + 1}, "head");
}

static void another_level(hid_t file)
{
    add_array(file, "/measures/z", 3, (const hsize_t[]){S, LAYERS, HEADS}, "pair");
}

static void five_axes(hid_t file)
{
    add_array(file, "/measures/z", 5, (const hsize_t[]){S, LAYERS, HEADS, 1, 1}, "head");
}

static void no_array_across(hid_t file)
{
    assert_true(H5Ldelete(file, "/across_layers/js", H5P_DEFAULT) >= 0);
}

static void another_array_across(hid_t file)
{
    assert_true(H5Lmove(file, "/across_layers/js", H5L_SAME_LOC, "/across_layers/entropy",
                        H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

static void four_axes_across(hid_t file)
{
    add_array(file, "/across_layers/z", 4, (const hsize_t[]){S, LAYERS, HEADS, HEADS}, "pair");
}

static void many_measures(hid_t file)
{
    for (int i = 0; i < MGK_MEASURES_MOST; i++) {
        char name[32];
        snprintf(name, sizeof(name), "/measures/z%d", i);
        add_array(file, name, 3, (const hsize_t[]){S, LAYERS, HEADS}, "head");
    }
}

static void no_measures(hid_t file)
{
    assert_true(H5Ldelete(file, "/measures", H5P_DEFAULT) >= 0);
    assert_true(H5Ldelete(file, "/across_layers", H5P_DEFAULT) >= 0);
}

static void no_format(hid_t file)
{
    assert_true(H5Adelete(file, "format") >= 0);
}

static void other_version(hid_t file)
{
    const int two = 2;
    hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
    assert_true(H5Awrite(attribute, H5T_NATIVE_INT, &two) >= 0);
    H5Aclose(attribute);
}

static void set_value(hid_t file, const char *name, hid_t type, const void *value)
{
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT), place = H5Dget_space(dataset);
    const hsize_t one = 1, zeros[4] = {0}, ones[4] = {1, 1, 1, 1};
    hid_t memory = H5Screate_simple(1, &one, NULL);
    H5Sselect_hyperslab(place, H5S_SELECT_SET, zeros, NULL, ones, NULL);
    assert_true(H5Dwrite(dataset, type, memory, place, H5P_DEFAULT, value) >= 0);
    H5Sclose(memory);
    H5Sclose(place);
    H5Dclose(dataset);
}

static void infinite_value(hid_t file)
{
    const double infinity = INFINITY;
    set_value(file, "/measures/entropy", H5T_NATIVE_DOUBLE, &infinity);
}

static void negative_layer(hid_t file)
{
    const int number = -4;
    set_value(file, "/layer", H5T_NATIVE_INT, &number);
}

static void unordered_heads(hid_t file)
{
    const int number = 9;
    set_value(file, "/head", H5T_NATIVE_INT, &number);
}

static void differences_without_statistics(hid_t file)
{
    add_array(file, "/differences/0/z", 2, (const hsize_t[]){LAYERS, 5}, "difference");
}

static void differences_of_more_layers(hid_t file)
{
    add_array(file, "/differences/0/z", 2, (const hsize_t[]){LAYERS + 1, 6}, "difference");
}

static void differences_without_layers(hid_t file)
{
    assert_true(H5Ldelete(file, "/differences/0/layer", H5P_DEFAULT) >= 0);
}

static void infinite_difference(hid_t file)
{
    const double infinity = INFINITY;
    set_value(file, "/differences/0/entropy", H5T_NATIVE_DOUBLE, &infinity);
}

static void difference_of_no_layer(hid_t file)
{
    const int number = -4;
    set_value(file, "/differences/0/layer", H5T_NATIVE_INT, &number);
}

static void bad_arrays(void **state)
{
    (void)state;
    static const h5_damage cases[] = {
        {another_shape, "axis 2 of \"/measures/z\" has 5, expected 4"},
        {another_level, "\"z\" has 3 axes and the level \"pair\""},
        {five_axes, "\"/measures/z\" has 5 axes"},
        {many_measures, "more than 128 measures"},
        {no_measures, "no measures"},
        {no_format, "not measures of diversity"},
        {other_version, "format_version is 2"},
        {infinite_value, "\"entropy\" has an infinite value"},
        {negative_layer, "\"/layer\" is -4"},
        {unordered_heads, "do not ascend"},
        {no_array_across, "arrays across layers for"},
        {another_array_across, "\"entropy\" is across layers, but no measure of pairs"},
        {four_axes_across, "\"/across_layers/z\" has 4 axes, expected 5"},
        {differences_without_statistics,
         "\"/differences/0/z\" has not the axes layer and statistic"},
        {differences_of_more_layers, "\"/differences/0/z\" has 4 rows, expected 3"},
        {differences_without_layers, "/differences/0/layer"},
        {infinite_difference, "a difference of \"entropy\" from"},
        {difference_of_no_layer, "a difference of no layer"},
    };
    const size_t of_inputs = 13; /* the cases after these are of differences */
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        mgk_diversity_set set;
        copy_file(i < of_inputs ? "across_one.h5" : compared[COMPARED_H5], "bad.h5");
        hid_t file = H5Fopen("bad.h5", H5F_ACC_RDWR, H5P_DEFAULT);
        assert_true(file >= 0);
        cases[i].apply(file);
        H5Fclose(file);
        assert_true(mgk_diversity_file_read("bad.h5", &set) != STATUS_OK);
        if (!strstr(mgk_fail_message(), cases[i].message) ||
            strncmp(mgk_fail_message(), "bad.h5: ", 8) != 0)
            fail_msg("\"%s\" lacks \"%s\"", mgk_fail_message(), cases[i].message);
        assert_null(set.inputs);
    }
}

/* A missing value is left out of the mean. */
static void gaps_in_arrays(void **state)
{
    (void)state;
    const double nan_value = NAN;
    copy_file("one.h5", "gap.h5");
    mgk_diversity_set before = read_file("gap.h5");
    hid_t file = H5Fopen("gap.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    set_value(file, "/measures/entropy", H5T_NATIVE_DOUBLE, &nan_value);
    H5Fclose(file);
    mgk_diversity_set after = read_file("gap.h5");
    const mgk_diversity_values *v = &after.inputs[0];
    const size_t i = mgk_diversity_place(v, mgk_diversity_find(v, "entropy"), 0);
    assert_int_equal(before.inputs[0].means.samples[i], S);
    assert_int_equal(v->means.samples[i], S - 1);
    assert_true(isfinite(mgk_diversity_mean(&v->means, i)));
    mgk_diversity_set_free(&before);
    mgk_diversity_set_free(&after);
}

static void other_files(void **state)
{
    (void)state;
    mgk_diversity_set set;
    const char *const paths[] = {case_store, case_model, "none.csv"};
    for (size_t i = 0; i < 3; i++)
        assert_true(mgk_diversity_file_read(paths[i], &set) != STATUS_OK);
    mgk_table *table;
    assert_int_equal(mgk_table_open("none.csv", &table), MGK_IO);
    assert_null(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(one_input),
        cmocka_unit_test(steps_are_read),
        cmocka_unit_test(formats_agree_across_layers),
        cmocka_unit_test(tables_open),
        cmocka_unit_test(differences_agree),
        cmocka_unit_test(tables_have_differences),
        cmocka_unit_test(files_are_described),
        cmocka_unit_test(bad_rows),
        cmocka_unit_test(bad_differences),
        cmocka_unit_test(numbers_are_sorted),
        cmocka_unit_test(bad_arrays),
        cmocka_unit_test(gaps_in_arrays),
        cmocka_unit_test(other_files),
    };
    case_enter("diversity_files");
    return cmocka_run_group_tests(tests, make_files, NULL);
}
