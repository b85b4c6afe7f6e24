/* SPDX-License-Identifier: MIT */
/* mgk_plot_picture: labels of rows and columns, words, ranges and titles. */
#include "plot_case.h"

#include <stdio.h>
#include <string.h>

#include "analysis/measures/words.h"
#include "base/file.h"
#include "base/memory.h"
#include "store/make_numpy.h"
#include "test.h"

static const char *const array_path = "plot_array.npy";
static const char *const lines_path = "plot_lines.txt";

/* Writes rows of different numbers as .npy; returns the matrix, [N, N]. */
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
    mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, &array_path, 1);
    o.colors = "grey";
    o.scale = "linear";
    return o;
}

/* Draws the single matrix of an array that the test has merged or cut itself. */
static png_picture draw_matrix(const char *shape, const float *values, size_t size)
{
    static numpy_bytes array;
    mgk_plot_options o = array_options();
    make_npy("<f4", false, shape, values, size, &array);
    assert_ok(mgk_write_file(array_path, true, array.bytes, array.size));
    o.matrix = true;
    return case_draw(&o);
}

/* --words draws the same as the merged array; --range selects a part. */
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
    png_picture found = case_draw(&o);
    o.first = 1;
    o.last = 3;
    png_picture found_part = case_draw(&o);

    mgk_words_merge(values, N, N, words, 4, merged);
    png_picture expected = draw_matrix("(4, 4)", merged, sizeof(merged));
    case_assert_same(&found, &expected);
    for (size_t i = 0; i < 4; i++)
        part[i] = merged[(1 + i / 2) * 4 + 1 + i % 2];
    png_picture expected_part = draw_matrix("(2, 2)", part, sizeof(part));
    case_assert_same(&found_part, &expected_part);
    mgk_free(found.pixels);
    mgk_free(found_part.pixels);
    mgk_free(expected.pixels);
    mgk_free(expected_part.pixels);
}

/* Labels need space; there are fewer words than bytes. */
static void labels_of_a_store(void **state)
{
    (void)state;
    const int first = 0;
    mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, &case_store, 1);
    o.layers = o.heads = &first;
    o.layer_count = o.head_count = 1;
    o.sample = 1;
    o.title = "t"; /* no wider than the matrix */
    png_picture plain = case_draw(&o);
    o.labels = true;
    png_picture labels = case_draw(&o);
    assert_true(labels.width > plain.width && labels.height > plain.height);
    o.words = o.matrix = true;
    o.labels = false;
    png_picture matrix = case_draw(&o);
    assert_true(matrix.width == matrix.height && matrix.width < N);
    mgk_free(plain.pixels);
    mgk_free(labels.pixels);
    mgk_free(matrix.pixels);
}

/* The colour bar names what is drawn: the same numbers look alike under other names than "scores".
 */
static void scores_are_named(void **state)
{
    (void)state;
    static const char *const path = "plot_arrays.npz";
    static const char *const names[] = {"attention.npy", "theirs.npy", "scores.npy"};
    static const char *const datasets[] = {"attention", "theirs", "scores"};
    static numpy_bytes arrays[3];
    png_picture found[3];
    float values[N * N];
    for (size_t i = 0; i < N * N; i++)
        values[i] = (float)(1 + i % 7);
    for (size_t i = 0; i < 3; i++)
        make_npy("<f4", false, "(9, 9)", values, sizeof(values), &arrays[i]);
    make_npz(path, names, arrays, 3, false);
    mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, &path, 1);
    for (size_t i = 0; i < 3; i++) {
        o.dataset = datasets[i];
        found[i] = case_draw(&o);
    }
    case_assert_same(&found[0], &found[1]);
    assert_true(case_differ(&found[0], &found[2]));
    for (size_t i = 0; i < 3; i++)
        mgk_free(found[i].pixels);
}

static void labels_that_do_not_fit(void **state)
{
    (void)state;
    mgk_plot_options o = array_options();
    write_array();
    o.labels = true;
    case_refuses(o, MGK_INPUT, "plot_array.npy: the file has no text of its tokens");
    o.labels_file = lines_path;
    write_lines("one\ntwo\n");
    case_refuses(o, MGK_INPUT, "plot_lines.txt: 2 lines for matrices of 9 tokens");
    write_lines("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
    case_refuses(o, MGK_INPUT, "plot_lines.txt: 10 lines for matrices of 9 tokens");
    write_lines("1\n2\n3\n4\n5\n6\n7\n8\n\xff\x01");
    o.last = 10;
    case_refuses(o, MGK_INPUT, "range 0:10, but there are 9 tokens");
    o.first = o.last = 3;
    case_refuses(o, MGK_USAGE, "range 3:3");
    o.first = -1;
    case_refuses(o, MGK_USAGE, "range -1:3");
    o.first = o.last = 0;
    mgk_free(case_draw(&o).pixels);
    o.matrix = true;
    case_refuses(o, MGK_USAGE, "`labels`: not an option of one matrix alone");
    o.labels = false;
    case_refuses(o, MGK_USAGE, "no room for labels");
    o = array_options();
    o.kind = MGK_PLOT_KEYS;
    o.words = true;
    case_refuses(o, MGK_USAGE, "`words`: not an option of keys, but of attention");
}

/* Leading spaces and other invisible characters of a token are drawn as marks. */
static void white_space_is_drawn(void **state)
{
    (void)state;
    mgk_plot_options o = array_options();
    write_array();
    o.labels_file = lines_path;
    write_lines(" one\na b\n  \n\tx\n5\n6\n7\n8\n9\n");
    png_picture found = case_draw(&o);
    write_lines("\xe2\x90\xa3one\na b\n\xe2\x90\xa3\xe2\x90\xa3\n\xe2\x87\xa5x\n5\n6\n7\n8\n9\n");
    png_picture expected = case_draw(&o);
    case_assert_same(&found, &expected);
    write_lines("one\na b\n  \n\tx\n5\n6\n7\n8\n9\n");
    png_picture without = case_draw(&o);
    assert_true(case_differ(&without, &found));
    mgk_free(found.pixels);
    mgk_free(expected.pixels);
    mgk_free(without.pixels);
}

/* Checks the picture's metadata, such as "Title=...". */
static void assert_text(const mgk_plot_options *o, const char *text, bool there)
{
    png_picture picture = case_draw(o);
    if (there == !strstr(picture.texts, text))
        fail_msg("\"%s\" in: %s", text, picture.texts);
    mgk_free(picture.pixels);
}

static void titles_name_model_and_sample(void **state)
{
    (void)state;
    const char *const both[] = {case_store, array_path};
    write_array();
    mgk_plot_options o = case_options(MGK_PLOT_ATTENTION, both, 1);
    o.sample = 1;
    assert_text(&o, "Title=plot_model, sample 60\n", true); /* the number, not the position */
    o.input_count = 2;
    o.sample = 0;
    assert_text(&o, "Title=", false); /* 24 of the store, 0 of the array */
    const char *const same[] = {case_store, case_store};
    o.inputs = same;
    assert_text(&o, "Title=sample 24\n", true);
    o.inputs = both;
    o.title = "Mine";
    assert_text(&o, "Title=Mine\n", true);
    o = case_options(MGK_PLOT_WEIGHTS, both, 1);
    assert_text(&o, "Title=plot_model\n", true);
    o = case_options(MGK_PLOT_FIGURE, both, 1);
    o.figure = 5;
    assert_text(&o, "Title=", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_ranges),
        cmocka_unit_test_setup(labels_of_a_store, case_make_mgk),
        cmocka_unit_test(scores_are_named),
        cmocka_unit_test(labels_that_do_not_fit),
        cmocka_unit_test(white_space_is_drawn),
        cmocka_unit_test_setup(titles_name_model_and_sample, case_make_mgk),
    };
    case_enter("plot_labels");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
