/* mgk_plot_picture: what is drawn against what the files hold. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "analysis/words.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "plots/read_png.h"
#include "store/make_numpy.h"
#include "store/reader.h"
#include "tiny.h"
#include "train/log.h"

enum { N = 9, D = 2, S = 3 };

static const char *const model_path = "plot_model.safetensors";
static const char *const store_path = "plot.h5";
static const char *const png_path = "plot.png";
static const char *const array_path = "plot_array.npy";
static const char *const lines_path = "plot_lines.txt";

static mgk_plot_options options_of(mgk_plot_kind kind, const char *const *inputs, size_t count)
{
    mgk_plot_options o = mgk_plot_options_default();
    o.kind = kind;
    o.inputs = inputs;
    o.input_count = count;
    o.output = png_path;
    o.job.force = true;
    o.job.command = "a command";
    return o;
}

static png_picture draw(const mgk_plot_options *o)
{
    assert_done(mgk_plot_picture(o));
    return read_png(o->output);
}

/* The model, and all that a store can hold of it. */
static void make_store(const char *attention, const char *tokens)
{
    static const char *const texts[] = {"plot_text.txt"};
    mgk_config config = tiny_config(MGK_FAMILY_LM, attention);
    tiny_save(&config, model_path);
    tiny_text(texts[0], 400);
    mgk_dump_options o = mgk_dump_options_default();
    o.job.force = true;
    o.job.threads = 1;
    o.model = model_path;
    o.output = store_path;
    o.input.samples = tokens ? 1 : S;
    o.input.tokens = tokens;
    o.input.text = texts;
    o.input.text_count = tokens ? 0 : 1;
    o.save = MGK_SAVE_ATTENTION | MGK_SAVE_KEYS | MGK_SAVE_WEIGHTS;
    assert_done(mgk_dump_attention(&o, NULL));
}

static int make_mgk(void **state)
{
    (void)state;
    make_store("mgk", NULL);
    return 0;
}

static bool same_color(mgk_rgb a, mgk_rgb b)
{
    return a.r == b.r && a.g == b.g && a.b == b.b;
}

static void assert_same_picture(const png_picture *a, const png_picture *b)
{
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    assert_memory_equal(a->pixels, b->pixels, a->width * a->height * sizeof(mgk_rgb));
}

/* Grey on a linear scale is linear in the value: 0 black, the greatest entry white. */
static void a_matrix_is_its_entries(void **state)
{
    (void)state;
    const int layer = 2, head = 1;
    mgk_plot_options o = options_of(MGK_PLOT_ATTENTION, &store_path, 1);
    o.layers = &layer;
    o.heads = &head;
    o.layer_count = o.head_count = 1;
    o.matrix = true;
    o.colors = "grey";
    o.scale = "linear";
    for (o.sample = 0; o.sample < S; o.sample++) {
        png_picture picture = draw(&o);
        double values[N * N];
        mgk_store_reader *reader;
        assert_ok(mgk_store_open(store_path, NULL, &reader));
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

static void the_seed_chooses_the_sample(void **state)
{
    (void)state;
    bool differ = false;
    png_picture first = {.pixels = NULL};
    mgk_plot_options o = options_of(MGK_PLOT_ATTENTION, &store_path, 1);
    for (uint64_t seed = 0; seed < 8; seed++) {
        o.job.seed = seed;
        png_picture once = draw(&o), again = draw(&o);
        assert_same_picture(&once, &again);
        if (seed == 0)
            first = once;
        else
            differ = differ || memcmp(once.pixels, first.pixels,
                                      once.width * once.height * sizeof(mgk_rgb)) != 0;
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
    make_store("softmax", "plot_ids.txt");
    mgk_plot_options o = options_of(MGK_PLOT_ATTENTION, &store_path, 1);
    o.layers = o.heads = &first;
    o.layer_count = o.head_count = 1;
    o.matrix = true;
    png_picture attention = draw(&o);
    assert_int_equal(attention.width, 4);
    assert_int_equal(attention.height, 4);
    o.kind = MGK_PLOT_KEYS;
    png_picture keys = draw(&o);
    assert_int_equal(keys.width, D);
    assert_int_equal(keys.height, 4);
    o.tokens = 3;
    png_picture fewer = draw(&o);
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
        make_store(kinds[i], NULL);
        mgk_plot_options o = options_of(MGK_PLOT_WEIGHTS, &store_path, 1);
        o.layers = layers;
        o.layer_count = 2;
        o.heads = &head;
        o.head_count = 1;
        o.shared = true;
        png_picture stored = draw(&o);
        o.inputs = &model_path;
        png_picture own = draw(&o);
        assert_same_picture(&stored, &own);
        heights[i] = own.height;
        mgk_free(stored.pixels);
        mgk_free(own.pixels);
    }
    /* Two projections have labels of their own; shifted keys share one. */
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
    o.output = path;
    assert_done(mgk_rank_attention(&o, NULL));
}

static void rank_formats_agree(void **state)
{
    (void)state;
    static const char *const paths[] = {"plot_ranks.csv", "plot_ranks.json", "plot_ranks.h5"};
    const char *const twice[] = {store_path, store_path};
    for (size_t inputs = 1; inputs <= 2; inputs++) {
        png_picture first = {.pixels = NULL};
        for (size_t i = 0; i < 3; i++) {
            write_ranks(twice, inputs, paths[i]);
            mgk_plot_options o = options_of(MGK_PLOT_RANKS, &paths[i], 1);
            png_picture picture = draw(&o);
            if (i == 0)
                first = picture;
            else
                assert_same_picture(&picture, &first);
            if (i > 0)
                mgk_free(picture.pixels);
        }
        mgk_free(first.pixels);
    }
}

static void figures_name_their_models(void **state)
{
    (void)state;
    static const int figures[] = {2, 5, 6, 11, 12};
    const char *const ranks = "plot_ranks.h5", *const both[] = {ranks, store_path};
    char sha256[MGK_SHA256_HEX_SIZE], expected[128];
    assert_ok(mgk_sha256_file(model_path, sha256));
    snprintf(expected, sizeof(expected), "Model SHA-256=%s\n", sha256);
    write_ranks(&store_path, 1, ranks);
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        int figure = figures[i];
        mgk_plot_options o = options_of(MGK_PLOT_FIGURE, &store_path, 1);
        o.figure = figure;
        o.title = "A title";
        if (figure == 2) {
            o.inputs = both;
            o.input_count = 2;
        } else if (figure == 6) {
            o.inputs = &ranks;
        }
        png_picture picture = draw(&o);
        assert_non_null(strstr(picture.texts, "Software=mgk "));
        assert_non_null(strstr(picture.texts, "Command=a command\n"));
        assert_non_null(strstr(picture.texts, "Title=A title\n"));
        assert_non_null(strstr(picture.texts, expected));
        mgk_free(picture.pixels);
    }
}

/* Rank files carry the hash of the model, except CSV, and so do costs and pictures of mgk-rank. */
static void ranks_and_costs_name_their_models(void **state)
{
    (void)state;
    static const char *const paths[] = {"plot_ranks.json", "plot_ranks.h5"};
    char sha256[MGK_SHA256_HEX_SIZE], expected[128];
    assert_ok(mgk_sha256_file(model_path, sha256));
    snprintf(expected, sizeof(expected), "Model SHA-256=%s\n", sha256);
    for (size_t i = 0; i < 2; i++) {
        write_ranks(&store_path, 1, paths[i]);
        mgk_plot_options o = options_of(MGK_PLOT_RANKS, &paths[i], 1);
        png_picture picture = draw(&o);
        assert_non_null(strstr(picture.texts, expected));
        mgk_free(picture.pixels);
    }
    mgk_plot_options o = options_of(MGK_PLOT_COST, &model_path, 1);
    png_picture picture = draw(&o);
    assert_non_null(strstr(picture.texts, expected));
    mgk_free(picture.pixels);

    static const char *const texts[] = {"plot_text.txt"};
    mgk_rank_options ranks = mgk_rank_options_default();
    ranks.job.force = true;
    ranks.png = png_path;
    ranks.model = model_path;
    ranks.input.text = texts;
    ranks.input.text_count = 1;
    ranks.matrices = 4;
    for (int stored = 0; stored < 2; stored++) {
        assert_done(mgk_rank_attention(&ranks, NULL));
        picture = read_png(png_path);
        assert_non_null(strstr(picture.texts, expected));
        mgk_free(picture.pixels);
        ranks.model = NULL;
        ranks.input = (mgk_input){0};
        ranks.inputs = &store_path;
        ranks.input_count = 1;
    }
}

/* A title is cut between characters: cairo draws no broken ones. */
static void long_names_are_drawn(void **state)
{
    (void)state;
    char path[200] = "a"; /* one byte, so that the cut falls within a character */
    for (int i = 0; i < 60; i++)
        strcat(path, "\xc3\xa9");
    strcat(path, ".csv");
    const char *const own = path, *const twice[] = {store_path, store_path};
    for (size_t inputs = 1; inputs <= 2; inputs++) {
        write_ranks(twice, inputs, path);
        mgk_plot_options o = options_of(MGK_PLOT_RANKS, &own, 1);
        png_picture picture = draw(&o);
        mgk_free(picture.pixels);
    }
    remove(path);
}

static void refuses(mgk_plot_options o, mgk_result expected, const char *message)
{
    o.output = "plot_none.png";
    assert_int_equal(mgk_plot_picture(&o), expected);
    if (!strstr(mgk_error(), message))
        fail_msg("\"%s\" lacks \"%s\"", mgk_error(), message);
    assert_null(fopen(o.output, "rb"));
}

static void options_without_sense_are_usage(void **state)
{
    (void)state;
    const int nine = 9;
    const char *const name = "one", *const names[] = {"one", "two"};
    const mgk_plot_options right = options_of(MGK_PLOT_ATTENTION, &store_path, 1);
    mgk_plot_options o = right;
    o.input_count = 0;
    refuses(o, MGK_USAGE, "an input");
    o = right;
    o.kind = MGK_PLOT_FIGURE;
    o.figure = 3;
    refuses(o, MGK_USAGE, "figure 3: expected 2, 5, 6, 11 or 12");
    o.figure = 5;
    o.matrix = true;
    refuses(o, MGK_USAGE, "one matrix");
    o = right;
    o.matrix = true;
    refuses(o, MGK_USAGE, "3 layers, 4 heads");
    o = right;
    o.layers = &nine;
    o.layer_count = 1;
    refuses(o, MGK_FAILED, "plot.h5: no layer 9");
    o.kind = MGK_PLOT_WEIGHTS;
    o.inputs = &model_path;
    refuses(o, MGK_FAILED, "plot_model.safetensors: no layer 9");
    o = right;
    o.heads = &nine;
    o.head_count = 1;
    refuses(o, MGK_FAILED, "plot.h5: no head 9");
    o = right;
    o.sample = S;
    refuses(o, MGK_FAILED, "plot.h5: no sample 3");
    o = right;
    o.names = names;
    o.name_count = 2;
    refuses(o, MGK_USAGE, "2 names for 1 models");
    o.kind = MGK_PLOT_WEIGHTS;
    refuses(o, MGK_USAGE, "2 names for 1 models");
    o = right;
    o.tokens = 0;
    refuses(o, MGK_USAGE, "0 tokens");
    o = right;
    o.panel = -1;
    refuses(o, MGK_USAGE, "-1 pixels");
    o = right;
    o.colors = name;
    refuses(o, MGK_USAGE, "viridis");
    o = right;
    o.scale = name;
    refuses(o, MGK_USAGE, "percentile");
    o = right;
    o.pooling = name;
    refuses(o, MGK_USAGE, "mean");
}

/* Rows of numbers that are not alike, as .npy; returns its matrix, [N, N]. */
static const float *write_array(void)
{
    static float values[N * N];
    static numpy_bytes array;
    char shape[32];
    for (size_t i = 0; i < N * N; i++)
        values[i] = (float)(1 + i * i % 17);
    snprintf(shape, sizeof(shape), "(%d, %d)", N, N);
    make_npy("<f4", false, shape, values, sizeof(values), &array);
    assert_ok(mgk_write_file(array_path, true, array.bytes, array.size));
    return values;
}

static void write_lines(const char *text)
{
    assert_ok(mgk_write_file(lines_path, true, text, strlen(text)));
}

static mgk_plot_options array_options(void)
{
    mgk_plot_options o = options_of(MGK_PLOT_ATTENTION, &array_path, 1);
    o.colors = "grey";
    o.scale = "linear";
    return o;
}

/* The single matrix of an array that a test has merged or cut itself. */
static png_picture draw_matrix(const char *shape, const float *values, size_t size)
{
    static numpy_bytes array;
    mgk_plot_options o = array_options();
    make_npy("<f4", false, shape, values, size, &array);
    assert_ok(mgk_write_file(array_path, true, array.bytes, array.size));
    o.matrix = true;
    return draw(&o);
}

/* What --words draws of an array is what is drawn of the merged array; --range leaves a part. */
static void words_and_ranges(void **state)
{
    (void)state;
    const float *values = write_array();
    float merged[4 * 4], part[2 * 2];
    const size_t words[N] = {0, 1, 1, 1, 2, 2, 3, 3, 3};
    write_lines("[CLS]\nun\n##aff\n##able\nx\n##y\na\n##b\n##c\n");
    mgk_plot_options o = array_options();
    o.matrix = o.words = true;
    o.labels_file = lines_path;
    png_picture found = draw(&o);
    o.first = 1;
    o.last = 3;
    png_picture found_part = draw(&o);

    mgk_words_merge(values, N, N, words, 4, merged);
    png_picture expected = draw_matrix("(4, 4)", merged, sizeof(merged));
    assert_same_picture(&found, &expected);
    for (size_t i = 0; i < 4; i++)
        part[i] = merged[(1 + i / 2) * 4 + 1 + i % 2];
    png_picture expected_part = draw_matrix("(2, 2)", part, sizeof(part));
    assert_same_picture(&found_part, &expected_part);
    mgk_free(found.pixels);
    mgk_free(found_part.pixels);
    mgk_free(expected.pixels);
    mgk_free(expected_part.pixels);
}

/* Labels need room; words are fewer than the bytes that they are made of. */
static void labels_of_a_store(void **state)
{
    (void)state;
    const int first = 0;
    mgk_plot_options o = options_of(MGK_PLOT_ATTENTION, &store_path, 1);
    o.layers = o.heads = &first;
    o.layer_count = o.head_count = 1;
    o.sample = 1;
    png_picture plain = draw(&o);
    o.labels = true;
    png_picture labels = draw(&o);
    assert_true(labels.width > plain.width && labels.height > plain.height);
    o.words = o.matrix = true;
    o.labels = false;
    png_picture matrix = draw(&o);
    assert_true(matrix.width == matrix.height && matrix.width < N);
    mgk_free(plain.pixels);
    mgk_free(labels.pixels);
    mgk_free(matrix.pixels);
}

static void labels_that_do_not_fit(void **state)
{
    (void)state;
    mgk_plot_options o = array_options();
    write_array();
    o.labels = true;
    refuses(o, MGK_FAILED, "plot_array.npy: the file has no text of its tokens");
    o.labels_file = lines_path;
    write_lines("one\ntwo\n");
    refuses(o, MGK_FAILED, "plot_lines.txt: 2 lines for matrices of 9 tokens");
    write_lines("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
    refuses(o, MGK_FAILED, "plot_lines.txt: 10 lines for matrices of 9 tokens");
    write_lines("1\n2\n3\n4\n5\n6\n7\n8\n\xff\x01");
    o.last = 10;
    refuses(o, MGK_FAILED, "--range 0:10, but there are 9 tokens");
    o.first = o.last = 3;
    refuses(o, MGK_USAGE, "range 3:3");
    o.first = -1;
    refuses(o, MGK_USAGE, "range -1:3");
    o.first = o.last = 0;
    mgk_free(draw(&o).pixels);
    o.matrix = true;
    refuses(o, MGK_USAGE, "no room for labels");
    o = array_options();
    o.kind = MGK_PLOT_KEYS;
    o.words = true;
    refuses(o, MGK_USAGE, "are those of attention");
}

static void values_that_are_none_fail(void **state)
{
    (void)state;
    const char *const path = "plot_nan.csv";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(MGK_LOG_HEADER "\n1,1,0.1,,,,,,\n", file);
    assert_int_equal(fclose(file), 0);
    refuses(options_of(MGK_PLOT_CURVES, &path, 1), MGK_FAILED, "plot_nan.csv: no point");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_matrix_is_its_entries, make_mgk),
        cmocka_unit_test_setup(the_seed_chooses_the_sample, make_mgk),
        cmocka_unit_test(padding_is_not_drawn),
        cmocka_unit_test(weights_of_store_and_model_agree),
        cmocka_unit_test_setup(rank_formats_agree, make_mgk),
        cmocka_unit_test_setup(figures_name_their_models, make_mgk),
        cmocka_unit_test_setup(ranks_and_costs_name_their_models, make_mgk),
        cmocka_unit_test_setup(long_names_are_drawn, make_mgk),
        cmocka_unit_test_setup(options_without_sense_are_usage, make_mgk),
        cmocka_unit_test(values_that_are_none_fail),
        cmocka_unit_test(words_and_ranges),
        cmocka_unit_test_setup(labels_of_a_store, make_mgk),
        cmocka_unit_test(labels_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
