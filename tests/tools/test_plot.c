/* SPDX-License-Identifier: MIT */
/* mgk_plot_picture: pictures against the content of files. */
#include "plot_case.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sha256.h"
#include "store/schema/reader.h"
#include "test.h"
#include "tiny.h"
#include "train/log.h"

static bool same_color(mgk_rgb a, mgk_rgb b)
{
    return a.r == b.r && a.g == b.g && a.b == b.b;
}

/* Grey on a linear scale is linear in the value: 0 is black, the largest entry white. */
static void a_matrix_is_its_entries(void **state)
{
    (void)state;
    const int layer = 2, head = 1;
    mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, &case_store, 1);
    o.layers = &layer;
    o.heads = &head;
    o.layer_count = o.head_count = 1;
    o.matrix = true;
    o.colors = "grey";
    o.scale = "linear";
    for (o.sample = 0; o.sample < S; o.sample++) {
        png_picture picture = case_draw(&o);
        double values[N * N];
        mgk_store_reader *reader;
        assert_ok(mgk_store_open(case_store, NULL, &reader));
        assert_ok(mgk_store_read_matrix(reader, o.sample, layer, head, STORE_F64, values, NULL));
        mgk_store_close(reader);
        assert_int_equal(picture.width, N);
        assert_int_equal(picture.height, N);
        for (size_t i = 0; i < N * N; i++)
            for (size_t j = 0; j < N * N; j++) {
                if (values[i] == 0)
                    assert_true(same_color(picture.pixels[i], (mgk_rgb){0, 0, 0}));
                if (values[i] == 1)
                    assert_true(same_color(picture.pixels[i], (mgk_rgb){255, 255, 255}));
                if (values[i] < values[j])
                    assert_true(picture.pixels[i].g <= picture.pixels[j].g);
                if (values[j] - values[i] > 0.1)
                    assert_true(picture.pixels[i].g < picture.pixels[j].g);
            }
        mgk_free(picture.pixels);
    }
}

/* A sample that is asked for by its number in the input is answered with its position. */
static void numbers_of_samples_lead_to_positions(void **state)
{
    (void)state;
    char expected[160] = "";
    mgk_store_reader *reader;
    mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, &case_store, 1);
    assert_ok(mgk_store_open(case_store, NULL, &reader));
    const int32_t *numbers = mgk_store_describe(reader)->sample_index;
    for (int i = 0; i < S; i++)
        if (numbers[i] >= S) {
            o.sample = numbers[i];
            snprintf(
                expected, sizeof(expected),
                "plot.h5: no sample at position %d: `sample` is the position in the file, 0 to "
                "2; sample %d of the input is at %d",
                o.sample, o.sample, i);
        }
    mgk_store_close(reader);
    assert_true(*expected);
    case_refuses(o, MGK_INPUT, expected);
}

static void the_seed_chooses_the_sample(void **state)
{
    (void)state;
    bool differ = false;
    png_picture first = {.pixels = NULL};
    mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, &case_store, 1);
    for (uint64_t seed = 0; seed < 8; seed++) {
        o.job.seed = seed;
        png_picture once = case_draw(&o), again = case_draw(&o);
        case_assert_same(&once, &again);
        if (seed == 0)
            first = once;
        else
            differ = differ || case_differ(&once, &first);
        mgk_free(again.pixels);
        if (seed > 0)
            mgk_free(once.pixels);
    }
    mgk_free(first.pixels);
    assert_true(differ);
}

static void padding_is_not_drawn(void **state)
{
    (void)state;
    const int first = 0;
    FILE *file = fopen("plot_ids.txt", "w");
    assert_non_null(file);
    fputs("1 2 3 4\n", file);
    assert_int_equal(fclose(file), 0);
    case_make_store("softmax", "plot_ids.txt");
    mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, &case_store, 1);
    o.layers = o.heads = &first;
    o.layer_count = o.head_count = 1;
    o.matrix = true;
    png_picture attention = case_draw(&o);
    assert_int_equal(attention.width, 4);
    assert_int_equal(attention.height, 4);
    o.kind = MGK_PLOT_KEYS;
    png_picture keys = case_draw(&o);
    assert_int_equal(keys.width, D);
    assert_int_equal(keys.height, 4);
    o.tokens = 3;
    png_picture fewer = case_draw(&o);
    assert_int_equal(fewer.height, 3);
    mgk_free(attention.pixels);
    mgk_free(keys.pixels);
    mgk_free(fewer.pixels);
}

static void weights_of_store_and_model_agree(void **state)
{
    (void)state;
    static const char *const kinds[] = {"softmax", "mgk", "smgk"};
    const int layers[] = {0, 2}, head = 3;
    size_t heights[3];
    for (size_t i = 0; i < 3; i++) {
        case_make_store(kinds[i], NULL);
        mgk_plot_options o = case_options(MGK_PLOT_WEIGHTS, &case_store, 1);
        o.layers = layers;
        o.layer_count = 2;
        o.heads = &head;
        o.head_count = 1;
        o.shared = true;
        png_picture stored = case_draw(&o);
        o.inputs = &case_model;
        png_picture own = case_draw(&o);
        case_assert_same(&stored, &own);
        heights[i] = own.height;
        mgk_free(stored.pixels);
        mgk_free(own.pixels);
    }
    /* Two projections have two labels; shifted keys share one. */
    assert_true(heights[1] > heights[0]);
    assert_int_equal(heights[2], heights[0]);
}

static void write_ranks(const char *const *inputs, size_t count, const char *path)
{
    mgk_rank_options o = mgk_rank_options_default();
    o.job.force = true;
    o.job.threads = 1;
    o.inputs = inputs;
    o.input_count = count;
    static const double threshold = 1e-4; /* all formats must contain it */
    o.thresholds = &threshold;
    o.output = path;
    assert_done(mgk_rank_attention(&o, NULL));
}

static void rank_formats_agree(void **state)
{
    (void)state;
    static const char *const paths[] = {"plot_ranks.csv", "plot_ranks.json", "plot_ranks.h5"};
    const char *const twice[] = {case_store, case_store};
    for (size_t inputs = 1; inputs <= 2; inputs++) {
        png_picture first = {.pixels = NULL};
        for (size_t i = 0; i < 3; i++) {
            write_ranks(twice, inputs, paths[i]);
            mgk_plot_options o = case_options(MGK_PLOT_RANKS, &paths[i], 1);
            png_picture picture = case_draw(&o);
            if (i == 0)
                first = picture;
            else
                case_assert_same(&picture, &first);
            if (i > 0)
                mgk_free(picture.pixels);
        }
        mgk_free(first.pixels);
    }
}

/* Copies a rank file, as if its matrices had far more tokens. */
static void copy_larger(const char *from, const char *to)
{
    char line[512];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    assert_non_null(in);
    assert_non_null(out);
    for (int row = 0; fgets(line, sizeof(line), in); row++) {
        char *tokens = strstr(line, ",9,");
        assert_true(row == 0 || tokens);
        if (row == 0)
            fputs(line, out);
        else
            fprintf(out, "%.*s,999,%s", (int)(tokens - line), line, tokens + 3);
    }
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* mgk-rank --png draws the same as mgk-plot from its file, and both use the size of the
 * matrices. */
static void pictures_of_ranks_agree(void **state)
{
    (void)state;
    static const char *const path = "plot_ranks.csv", *const larger = "plot_larger.csv";
    mgk_rank_options r = mgk_rank_options_default();
    r.job.force = true;
    r.inputs = &case_store;
    r.input_count = 1;
    r.output = path;
    r.png = "plot_ranks.png";
    assert_done(mgk_rank_attention(&r, NULL));
    png_picture expected = read_png(r.png);
    mgk_plot_options o = case_options(MGK_PLOT_RANKS, &path, 1);
    o.names = &case_store;
    o.name_count = 1;
    png_picture found = case_draw(&o);
    case_assert_same(&found, &expected);
    copy_larger(path, larger);
    o.inputs = &larger;
    png_picture other = case_draw(&o);
    assert_true(case_differ(&other, &found));
    mgk_free(expected.pixels);
    mgk_free(found.pixels);
    mgk_free(other.pixels);
}

/* Copies the header and the rows of two heads of a rank file. */
static void copy_heads(const char *from, const char *to, int first, int second)
{
    char line[512];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    assert_non_null(in);
    assert_non_null(out);
    for (int row = 0; fgets(line, sizeof(line), in); row++) {
        int head = -1;
        assert_true(row == 0 || sscanf(line, "%*d,%*d,%d", &head) == 1);
        if (row == 0 || head == first || head == second)
            fputs(line, out);
    }
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* Writes ranks of half of N = 10, `middle` and 40 of each layer. */
static void write_halves(const char *path, int layers, int middle)
{
    const int sizes[] = {10, middle, 40};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("sample,layer,head,n,rank,undecided,sigma_max,sigma_min,effective_rank,stable_rank\n",
          file);
    for (int i = 0; i < 3 * layers; i++)
        fprintf(file, "%d,%d,0,%d,%d,0,1,0.5,2,1.5\n", i % 3, i / 3, sizes[i % 3],
                sizes[i % 3] / 2);
    assert_int_equal(fclose(file), 0);
}

/* Where matrices differ in N, figures draw ranks as shares of N, as `ranks` does, and say so. */
static void figures_share_ranks(void **state)
{
    (void)state;
    static const char *const path = "halves.csv", *const name = "model";
    const char *const both[] = {case_store, path};
    for (int figure = 2; figure <= 6; figure += 4) {
        mgk_plot_options o = case_options(MGK_PLOT_FIGURE, both, 2);
        o.figure = figure;
        o.names = &name;
        o.name_count = 1;
        if (figure == 6) {
            o.inputs = &path;
            o.input_count = 1;
        }
        write_halves(path, 3, 10);
        png_picture low = case_draw(&o);
        write_halves(path, 3, 40);
        png_picture high = case_draw(&o);
        case_assert_same(&low, &high);
        assert_true(figure == 2 || strstr(high.texts, "ranks as shares of N, N from 10 to 40"));
        mgk_free(low.pixels);
        mgk_free(high.pixels);
    }
}

/* Every picture of ranks can choose heads, as if the file had no others. */
static void heads_of_rank_files(void **state)
{
    (void)state;
    static const char *const all = "plot_ranks.csv", *const some = "plot_some_ranks.csv";
    const double thresholds[] = {1e-6, 1e-3, 0.1};
    const char *const name = "model";
    const int heads[] = {1, 3};
    mgk_rank_options r = mgk_rank_options_default();
    r.job.force = true;
    r.inputs = &case_store;
    r.input_count = 1;
    r.output = all;
    r.thresholds = thresholds;
    r.threshold_count = 3;
    assert_done(mgk_rank_attention(&r, NULL));
    copy_heads(all, some, heads[0], heads[1]);
    for (int i = 0; i < 3; i++) {
        mgk_plot_options o = case_options(i < 2 ? MGK_PLOT_RANKS : MGK_PLOT_FIGURE, &all, 1);
        o.figure = i < 2 ? 0 : 6;
        o.sweep = i == 1;
        o.names = &name;
        o.name_count = 1;
        png_picture every = case_draw(&o);
        o.heads = heads;
        o.head_count = 2;
        png_picture found = case_draw(&o);
        o.inputs = &some;
        o.heads = NULL;
        png_picture expected = case_draw(&o);
        case_assert_same(&found, &expected);
        assert_true(case_differ(&every, &found));
        mgk_free(every.pixels);
        mgk_free(found.pixels);
        mgk_free(expected.pixels);
    }
}

static void figures_name_their_models(void **state)
{
    (void)state;
    static const int figures[] = {2, 3, 5, 6, 7, 8, 11, 12, 13, 14};
    const char *const ranks = "plot_ranks.h5", *const both[] = {ranks, case_store};
    char sha256[MGK_SHA256_HEX_SIZE], expected[128];
    assert_ok(mgk_sha256_file(case_model, sha256));
    snprintf(expected, sizeof(expected), "Model SHA-256=%s\n", sha256);
    write_ranks(&case_store, 1, ranks);
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        int figure = figures[i];
        mgk_plot_options o = case_options(MGK_PLOT_FIGURE, &case_store, 1);
        o.figure = figure;
        o.title = "A title";
        if (figure == 2) {
            o.inputs = both;
            o.input_count = 2;
        } else if (figure == 6) {
            o.inputs = &ranks;
        } else if (figure == 3 || figure == 7 || figure > 12) {
            o.inputs = &case_model;
        }
        png_picture picture = case_draw(&o);
        assert_non_null(strstr(picture.texts, "Software=mgk "));
        assert_non_null(strstr(picture.texts, "Command=a command\n"));
        assert_non_null(strstr(picture.texts, "Title=A title\n"));
        assert_non_null(strstr(picture.texts, expected));
        mgk_free(picture.pixels);
    }
}

/* Rank files except CSV contain the hash of the model; so do pictures of costs and of mgk-rank. */
static void ranks_and_costs_name_their_models(void **state)
{
    (void)state;
    static const char *const paths[] = {"plot_ranks.json", "plot_ranks.h5"};
    char sha256[MGK_SHA256_HEX_SIZE], expected[128];
    assert_ok(mgk_sha256_file(case_model, sha256));
    snprintf(expected, sizeof(expected), "Model SHA-256=%s\n", sha256);
    for (size_t i = 0; i < 2; i++) {
        write_ranks(&case_store, 1, paths[i]);
        mgk_plot_options o = case_options(MGK_PLOT_RANKS, &paths[i], 1);
        png_picture picture = case_draw(&o);
        assert_non_null(strstr(picture.texts, expected));
        mgk_free(picture.pixels);
    }
    mgk_plot_options o = case_options(MGK_PLOT_COST, &case_model, 1);
    png_picture picture = case_draw(&o);
    assert_non_null(strstr(picture.texts, expected));
    mgk_free(picture.pixels);

    static const char *const texts[] = {"plot_text.txt"};
    mgk_rank_options ranks = mgk_rank_options_default();
    ranks.job.force = true;
    ranks.png = case_png;
    ranks.model = case_model;
    ranks.input.text = texts;
    ranks.input.text_count = 1;
    ranks.matrices = 4;
    for (int stored = 0; stored < 2; stored++) {
        assert_done(mgk_rank_attention(&ranks, NULL));
        picture = read_png(case_png);
        assert_non_null(strstr(picture.texts, expected));
        mgk_free(picture.pixels);
        ranks.model = NULL;
        ranks.input = (mgk_input){0};
        ranks.inputs = &case_store;
        ranks.input_count = 1;
    }
}

/* The titles of two inputs are those that are given here. */
static void expect_titles(mgk_plot_options o, const char *first, const char *second)
{
    const char *const names[] = {first, second};
    png_picture chosen = case_draw(&o);
    o.names = names;
    o.name_count = 2;
    png_picture given = case_draw(&o);
    case_assert_same(&chosen, &given);
    mgk_free(chosen.pixels);
    mgk_free(given.pixels);
}

/* Kinds name models if they differ; equal ones have the model's name in front, or if that is the
 * same, the file. */
static void equal_kinds_have_names(void **state)
{
    (void)state;
    static const char *const other = "other.safetensors", *const linear = "linear.safetensors",
                             *const twice[] = {"plot.h5", "./plot.h5"};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, other);
    config = tiny_config(MGK_FAMILY_LM, "linear");
    tiny_save(&config, linear);
    const char *const equal[] = {case_model, other}, *const different[] = {case_model, linear};
    expect_titles(case_options(MGK_PLOT_COST, equal, 2), "plot_model: MGK, 4 heads",
                  "other: MGK, 4 heads");
    expect_titles(case_options(MGK_PLOT_COST, different, 2), "MGK, 4 heads", "linear, 4 heads");
    mgk_plot_options o = case_options(MGK_PLOT_FIGURE, equal, 2);
    o.figure = 11;
    expect_titles(o, "plot_model: MGK, 4 heads", "other: MGK, 4 heads");
    o = case_options(MGK_PLOT_FIGURE, twice, 2);
    o.figure = 5;
    expect_titles(o, "plot.h5: MGK, 4 heads", "./plot.h5: MGK, 4 heads");
    o = case_options(MGK_PLOT_ATTENTION, twice, 2);
    expect_titles(o, "plot.h5: plot_model: MGK, 4 heads", "./plot.h5: plot_model: MGK, 4 heads");
    o.columns = 2;
    expect_titles(o, "plot.h5: MGK, 4 heads", "./plot.h5: MGK, 4 heads");
}

/* Ranks of several inputs have their names, which CSV does not hold; where these are the same,
 * those of their files, too, or numbers. */
static void ranks_have_names(void **state)
{
    (void)state;
    static const char *const second = "./second.h5", *const files[] = {"a.json", "a.h5"},
                             *const table = "a.csv";
    const char *const two[] = {case_store, second}, *const twice[] = {case_store, case_store};
    unlink(second);
    assert_int_equal(symlink(case_store, second), 0);
    for (size_t i = 0; i < 2; i++) {
        write_ranks(two, 2, files[i]);
        expect_titles(case_options(MGK_PLOT_RANKS, &files[i], 1), "plot", "second");
        write_ranks(twice, 2, files[i]);
        expect_titles(case_options(MGK_PLOT_RANKS, &files[i], 1), "a, input 0", "a, input 1");
        write_ranks(&case_store, 1, files[i]);
    }
    expect_titles(case_options(MGK_PLOT_RANKS, files, 2), "a.json: a", "a.h5: a");
    write_ranks(two, 2, table);
    expect_titles(case_options(MGK_PLOT_RANKS, &table, 1), "a, input 0", "a, input 1");
    write_ranks(two, 2, files[0]);
    write_halves(table, 1, 10);
    const char *const differ[] = {files[0], table};
    case_refuses(case_options(MGK_PLOT_RANKS, differ, 2), MGK_INPUT,
                 "plot and a have different layers");
}

/* A title is cut between characters, because cairo draws no incomplete ones. */
static void long_names_are_drawn(void **state)
{
    (void)state;
    char path[200] = "a"; /* one byte, so that the cut falls within a character */
    for (int i = 0; i < 60; i++)
        strcat(path, "\xc3\xa9");
    strcat(path, ".csv");
    const char *const own = path, *const twice[] = {case_store, case_store};
    for (size_t inputs = 1; inputs <= 2; inputs++) {
        write_ranks(twice, inputs, path);
        mgk_plot_options o = case_options(MGK_PLOT_RANKS, &own, 1);
        png_picture picture = case_draw(&o);
        mgk_free(picture.pixels);
    }
    remove(path);
}

static void options_without_sense_are_usage(void **state)
{
    (void)state;
    const int nine = 9;
    const char *const name = "one", *const names[] = {"one", "two"};
    const mgk_plot_options right = case_options(MGK_PLOT_ATTENTION, &case_store, 1);
    mgk_plot_options o = right;
    o.input_count = 0;
    case_refuses(o, MGK_USAGE, "attention: no input, expected");
    o = right;
    o.kind = MGK_PLOT_FIGURE;
    o.figure = 15;
    case_refuses(o, MGK_USAGE, "figure 15: expected 1 to 14");
    o.figure = 3;
    o.inputs = (const char *const[]){case_model, case_model};
    o.input_count = 2;
    case_refuses(o, MGK_USAGE, "figure 3: 2 inputs, expected one model");
    o.inputs = right.inputs;
    o.input_count = 1;
    o.figure = 5;
    o.matrix = true;
    case_refuses(o, MGK_USAGE,
                 "`matrix`: not an option of figure 5, but of attention, weights, keys");
    o = right;
    o.matrix = true;
    case_refuses(o, MGK_USAGE, "layers: 3, heads: 4");
    o = right;
    o.layers = &nine;
    o.layer_count = 1;
    case_refuses(o, MGK_INPUT, "plot.h5: no layer 9");
    o.kind = MGK_PLOT_WEIGHTS;
    o.inputs = &case_model;
    case_refuses(o, MGK_INPUT, "plot_model.safetensors: no layer 9");
    o = right;
    o.heads = &nine;
    o.head_count = 1;
    case_refuses(o, MGK_INPUT, "plot.h5: no head 9");
    o = right;
    o.sample = S;
    case_refuses(o, MGK_INPUT,
                 "plot.h5: no sample at position 3: `sample` is the position in the file");
    o = right;
    o.names = names;
    o.name_count = 2;
    case_refuses(o, MGK_USAGE, "2 names for 1 model");
    o.kind = MGK_PLOT_WEIGHTS;
    case_refuses(o, MGK_USAGE, "2 names for 1 model");
    o = right;
    o.kind = MGK_PLOT_KEYS;
    o.tokens = -1;
    case_refuses(o, MGK_USAGE, "-1 tokens");
    o = right;
    o.panel = -1;
    case_refuses(o, MGK_USAGE, "-1 pixels");
    o = right;
    o.colors = name;
    case_refuses(o, MGK_USAGE, "viridis");
    o = right;
    o.scale = name;
    case_refuses(o, MGK_USAGE, "percentile");
    o = right;
    o.pooling = name;
    case_refuses(o, MGK_USAGE, "mean");
}

static void keep_remark(void *context, const mgk_report *report)
{
    char *remark = context;
    if (report->milestone)
        snprintf(remark, 200, "%s", report->note);
}

static void write_matrix(const char *path, const double values[9])
{
    char header[] = "\223NUMPY\1\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3), }";
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(header, 1, sizeof(header) - 1, file), sizeof(header) - 1);
    fprintf(file, "%*s", (int)(128 - sizeof(header) + 1), "\n");
    assert_int_equal(fwrite(values, sizeof(double), 9, file), 9);
    assert_int_equal(fclose(file), 0);
}

/* Entries that are not finite are drawn and counted in a message. */
static void gaps_are_reported(void **state)
{
    (void)state;
    const char *const path = "plot_gaps.npy";
    char remark[200] = "";
    for (int gaps = 0; gaps < 3; gaps += 2) {
        double values[9] = {0.5, 0.25, 0.25, 1, 0, 0, 0, 0, 1};
        if (gaps > 0) {
            values[4] = (double)NAN;
            values[8] = -(double)INFINITY;
        }
        write_matrix(path, values);
        mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, &path, 1);
        o.job.watcher = (mgk_watcher){.report = keep_remark, .context = remark};
        mgk_free(case_draw(&o).pixels);
        assert_string_equal(
            remark,
            gaps ? "plot_gaps.npy: 2 of the entries drawn are not finite, and magenta" : "");
    }
}

/* Arrays of other software do not say that they are causal; their zeros show it, unless the matrix
 * is diagonal. */
static void masks_are_found(void **state)
{
    (void)state;
    static const double arrays[][9] = {{1, 0, 0, 0.5, 0.5, 0, 0.2, 0.3, 0.5},
                                       {1, 0, 0, 0.5, 0.5, 0.1, 0.2, 0.3, 0.5},
                                       {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const char *const path = "plot_mask.npy";
    const mgk_rgb stripe = mgk_hatch_at(0, 0);
    for (int i = 0; i < 3; i++) {
        write_matrix(path, arrays[i]);
        mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, &path, 1);
        png_picture picture = case_draw(&o);
        size_t count = 0;
        for (size_t p = 0; p < picture.width * picture.height; p++)
            count += same_color(picture.pixels[p], stripe);
        assert_true((count > 3000) == (i == 0));
        mgk_free(picture.pixels);
    }
}

/* A matrix without any number is a failure, and the only message. */
static void gaps_alone_are_refused(void **state)
{
    (void)state;
    const char *const path = "plot_gaps.npy";
    char remark[200] = "";
    write_matrix(path, (const double[9]){[0 ... 8] = (double)NAN});
    mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, &path, 1);
    o.job.watcher = (mgk_watcher){.report = keep_remark, .context = remark};
    case_refuses(o, MGK_INPUT, "plot_gaps.npy: no finite value to draw");
    o.separate = true;
    case_refuses(o, MGK_INPUT, "plot_gaps.npy: layer 0, head 0: no finite value to draw");
    assert_string_equal(remark, "");
}

/* For a negative value on a log scale, every picture's message names file and matrix. */
static void negative_values_are_reported(void **state)
{
    (void)state;
    static const char *const paths[] = {"plot_positive.npy", "plot_negative.npy"};
    const char *const expected =
        "plot_negative.npy: layer 0, head 0: -0.25 is negative, which a log "
        "scale cannot show: `scale` linear does";
    write_matrix(paths[0], (const double[9]){0.5, 0.5, 0, 1, 0, 0, 0, 0, 1});
    write_matrix(paths[1], (const double[9]){0.5, 0.5, 0, 1, 0, 0, 0, -0.25, 1});
    mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, paths, 2);
    case_refuses(o, MGK_INPUT, expected);
    o.separate = true;
    case_refuses(o, MGK_INPUT, expected);
    o.scale = "linear";
    mgk_free(case_draw(&o).pixels);
    o = case_options(MGK_PLOT_ATTENTION, &paths[1], 1);
    o.matrix = true;
    case_refuses(o, MGK_INPUT, expected);
    o = case_options(MGK_PLOT_WEIGHTS, &case_model, 1);
    o.scale = "log";
    o.colors = "viridis";
    o.layers = o.heads = (const int[]){2};
    o.layer_count = o.head_count = 1;
    case_refuses(o, MGK_INPUT, "plot_model.safetensors: layer 2, head 2, key 0: -");
}

static void values_that_are_none_fail(void **state)
{
    (void)state;
    const char *const path = "plot_nan.csv";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(MGK_LOG_HEADER "\n1,1,0.1,,,,,,\n", file);
    assert_int_equal(fclose(file), 0);
    case_refuses(case_options(MGK_PLOT_CURVES, &path, 1), MGK_INPUT, "plot_nan.csv: no point");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_matrix_is_its_entries, case_make_mgk),
        cmocka_unit_test_setup(numbers_of_samples_lead_to_positions, case_make_mgk),
        cmocka_unit_test_setup(the_seed_chooses_the_sample, case_make_mgk),
        cmocka_unit_test(padding_is_not_drawn),
        cmocka_unit_test(weights_of_store_and_model_agree),
        cmocka_unit_test_setup(rank_formats_agree, case_make_mgk),
        cmocka_unit_test_setup(pictures_of_ranks_agree, case_make_mgk),
        cmocka_unit_test_setup(heads_of_rank_files, case_make_mgk),
        cmocka_unit_test_setup(ranks_have_names, case_make_mgk),
        cmocka_unit_test_setup(figures_share_ranks, case_make_mgk),
        cmocka_unit_test_setup(figures_name_their_models, case_make_mgk),
        cmocka_unit_test_setup(ranks_and_costs_name_their_models, case_make_mgk),
        cmocka_unit_test_setup(equal_kinds_have_names, case_make_mgk),
        cmocka_unit_test_setup(long_names_are_drawn, case_make_mgk),
        cmocka_unit_test_setup(options_without_sense_are_usage, case_make_mgk),
        cmocka_unit_test(gaps_are_reported),
        cmocka_unit_test(masks_are_found),
        cmocka_unit_test(gaps_alone_are_refused),
        cmocka_unit_test_setup(negative_values_are_reported, case_make_mgk),
        cmocka_unit_test(values_that_are_none_fail),
    };
    case_enter("plot_files");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
