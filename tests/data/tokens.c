/* SPDX-License-Identifier: MIT */
/* The tokens task: id files as text and as .npy. */
#include "data/fixture.h"

#include <string.h>

enum { V = 100 };

static mgk_dataset_options token_options(const char *const *path, size_t length)
{
    mgk_dataset_options options = options_for(MGK_TASK_TOKENS, path, length);
    options.vocabulary = V;
    return options;
}

static void assert_sample(const mgk_dataset *set, uint64_t index, int32_t length,
                          const int32_t tokens[4], const int32_t targets[4])
{
    int32_t row[4], next[4], found;
    assert_int_equal(mgk_dataset_shape_of(set).length, 4);
    assert_ok(mgk_dataset_sample(set, index, row, &found, next));
    assert_int_equal(found, length);
    assert_memory_equal(row, tokens, sizeof(row));
    assert_memory_equal(next, targets, sizeof(next));
}

static void lines_become_samples(void **state)
{
    const char *path = write_text(state, "ids", "5 0\t99  1 \r\n  7\n1 2 3 4 5 6");
    mgk_dataset_options options = token_options(&path, 4);
    mgk_dataset *set = open_ok(&options);
    assert_true(mgk_dataset_size(set) == 3);
    assert_int_equal(mgk_dataset_shape_of(set).vocabulary, V);
    assert_int_equal(mgk_dataset_shape_of(set).classes, 0);
    assert_sample(set, 0, 4, (int32_t[]){5, 0, 99, 1}, (int32_t[]){0, 99, 1, -1});
    assert_sample(set, 1, 1, (int32_t[]){7, -1, -1, -1}, (int32_t[]){-1, -1, -1, -1});
    assert_sample(set, 2, 4, (int32_t[]){1, 2, 3, 4}, (int32_t[]){2, 3, 4, -1});
    assert_string_equal(mgk_dataset_remark(set), "1 of 3 sequences are cut to 4 tokens");
    mgk_dataset_close(set);
    options.length = 0;
    set = open_ok(&options);
    assert_int_equal(mgk_dataset_shape_of(set).length, 6);
    mgk_dataset_close(set);
}

/* The model's padding id counts as padding only at the end of a row. */
static void padding_is_cut(void **state)
{
    const char *path = write_text(state, "ids", "0 5 0 7 0 0\n1 0\n");
    mgk_dataset_options options = token_options(&path, 9);
    options.padding = 0;
    mgk_dataset *set = open_ok(&options);
    assert_int_equal(mgk_dataset_shape_of(set).length, 9);
    mgk_dataset_fit(set, (const uint64_t[]){1, 0}, 2);
    assert_sample(set, 0, 4, (int32_t[]){0, 5, 0, 7}, (int32_t[]){5, 0, 7, -1});
    assert_sample(set, 1, 1, (int32_t[]){1, -1, -1, -1}, (int32_t[]){-1, -1, -1, -1});
    assert_string_equal(
        mgk_dataset_remark(set),
        "1 of 2 sequences begin with padding, 0, read as tokens: move it to the end, "
        "where it is left out");
    mgk_dataset_fit(set, (const uint64_t[]){1}, 1);
    assert_int_equal(mgk_dataset_shape_of(set).length, 1);
    mgk_dataset_close(set);
    path = write_text(state, "ids", "3\n0 0\n");
    assert_refused(&options, STATUS_FORMAT, "line 2: no tokens");
}

static void blank_lines_at_the_end_are_left_out(void **state)
{
    const char *path = write_text(state, "ids", "1 2\n3\n \r\n\n");
    mgk_dataset_options options = token_options(&path, 9);
    mgk_dataset *set = open_ok(&options);
    assert_int_equal(mgk_dataset_size(set), 2);
    mgk_dataset_close(set);
}

static void malformed_lines_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"1 2\n3 100\n", "ids: line 2: token 2: \"100\" is not an id in [0, 100)"},
        {"-1\n", "line 1: token 1: \"-1\""},
        {"1 99999999999999999999999\n", "token 2: \"99999"},
        {"1.5\n", "\"1.5\""},
        {"1,2\n", "\"1,2\" is not an id in [0, 100); ids are separated by spaces"},
        {"1\n\n2\n", "line 2: no tokens"},
        {"\n", "line 1: no tokens"},
        {"1 \xff\x01\n", "token 2: \"??\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = write_text(state, "ids", cases[i].text);
        mgk_dataset_options options = token_options(&path, 4);
        assert_refused(&options, STATUS_FORMAT, cases[i].message);
    }
    const char *path = write_bytes(state, "nul", "1 \0 2", 5);
    mgk_dataset_options options = token_options(&path, 4);
    assert_refused(&options, STATUS_FORMAT, "\"?\"");
    path = write_text(state, "empty", "");
    assert_refused(&options, STATUS_SHAPE, "empty: empty");
    path = path_of(state, "absent");
    assert_refused(&options, STATUS_IO, "absent: ");
}

/* Writes a .npy file with the given version, header text and elements. */
static const char *write_npy(void **state, int version, const char *header, const void *elements,
                             size_t size)
{
    unsigned char file[512] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
    size_t at = 8, length = strlen(header), length_size = version == 1 ? 2 : 4;
    file[at] = (unsigned char)length;
    at += length_size;
    memcpy(file + at, header, length);
    if (size > 0)
        memcpy(file + at + length, elements, size);
    return write_bytes(state, "ids.npy", file, at + length + size);
}

/* What opens of `text` and what it says. */
static mgk_dataset *open_padded(void **state, const char *text, bool word, bool left,
                                const char *remark)
{
    const char *path = write_text(state, "ids", text);
    mgk_dataset_options options = token_options(&path, 0);
    options.padding = 0;
    options.padding_word = word;
    options.padding_left = left;
    mgk_dataset *set = open_ok(&options);
    assert_string_equal(mgk_dataset_remark(set), remark);
    return set;
}

/* In causal models padding on the left is left out, too: positions count from the first token. */
static void padding_on_the_left(void **state)
{
    static const char text[] = "0 0 5 6\n1 2 0 4\n0 7 8 9\n";
    mgk_dataset *set =
        open_padded(state, text, false, true,
                    "2 of 3 sequences begin with padding, 0, which is left out; 1 of "
                    "3 sequences have padding, 0, before the end, read as tokens");
    assert_sample(set, 0, 2, (int32_t[]){5, 6, -1, -1}, (int32_t[]){6, -1, -1, -1});
    assert_sample(set, 2, 3, (int32_t[]){7, 8, 9, -1}, (int32_t[]){8, 9, -1, -1});
    mgk_dataset_close(set);
    set =
        open_padded(state, text, false, false,
                    "2 of 3 sequences begin with padding, 0, read as tokens: move it to the end, "
                    "where it is left out; 1 of 3 sequences have padding, 0, before the end, read "
                    "as tokens");
    assert_sample(set, 0, 4, (int32_t[]){0, 0, 5, 6}, (int32_t[]){0, 5, 6, -1});
    mgk_dataset_close(set);
}

/* An id that pads and also ends texts is taken for padding at the end of a row, with a remark, and
 * for a token elsewhere; arrays that are padded with -1 say themselves which it is. */
static void padding_that_ends_texts(void **state)
{
    static const int32_t rows[] = {5, 6, 0, -1, 1, 2, 3, 0};
    mgk_dataset *set =
        open_padded(state, "0 5 0 6\n1 2 0 0\n3 4 5 0\n", true, true,
                    "2 of 3 sequences end with 0, which pads texts and also begins or "
                    "ends them: left out as padding; an array that is padded with -1 "
                    "keeps it");
    assert_sample(set, 0, 4, (int32_t[]){0, 5, 0, 6}, (int32_t[]){5, 0, 6, -1});
    assert_sample(set, 1, 2, (int32_t[]){1, 2, -1, -1}, (int32_t[]){2, -1, -1, -1});
    mgk_dataset_close(set);
    const char *path =
        write_npy(state, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 4), }", rows,
                  sizeof(rows));
    mgk_dataset_options options = token_options(&path, 0);
    options.padding = 0;
    options.padding_word = true;
    set = open_ok(&options);
    assert_null(mgk_dataset_remark(set));
    assert_sample(set, 0, 3, (int32_t[]){5, 6, 0, -1}, (int32_t[]){6, 0, -1, -1});
    assert_sample(set, 1, 4, (int32_t[]){1, 2, 3, 0}, (int32_t[]){2, 3, 0, -1});
    mgk_dataset_close(set);
}

static void arrays_become_samples(void **state)
{
    static const int32_t rows[] = {5, 0, 99, 1, 7, -1, -1, -1};
    static const int64_t wide[] = {5, 0, 99, 1};
    static const char *const headers[] = {
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 4), }     \n",
        "{\"shape\":(2,4),\"fortran_order\":False,\"descr\":\"<i4\"}",
    };
    for (int version = 1; version <= 3; version++) {
        for (int h = 0; h < 2; h++) {
            const char *path = write_npy(state, version, headers[h], rows, sizeof(rows));
            mgk_dataset_options options = token_options(&path, 0);
            mgk_dataset *set = open_ok(&options);
            assert_true(mgk_dataset_size(set) == 2);
            assert_sample(set, 0, 4, (int32_t[]){5, 0, 99, 1}, (int32_t[]){0, 99, 1, -1});
            assert_sample(set, 1, 1, (int32_t[]){7, -1, -1, -1}, (int32_t[]){-1, -1, -1, -1});
            mgk_dataset_close(set);
        }
    }
    const char *path =
        write_npy(state, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }\n", wide,
                  sizeof(wide));
    mgk_dataset_options options = token_options(&path, 4);
    mgk_dataset *set = open_ok(&options);
    assert_true(mgk_dataset_size(set) == 1);
    assert_sample(set, 0, 4, (int32_t[]){5, 0, 99, 1}, (int32_t[]){0, 99, 1, -1});
    mgk_dataset_close(set);
}

/* An array with one axis is a text: consecutive windows of N, without a short rest. */
static void one_axis_becomes_windows(void **state)
{
    static const int32_t ids[] = {5, 0, 99, 1, 7, 8, 9, 6, 3, 2, -1};
    const char *path = write_npy(
        state, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (11,), }", ids, sizeof(ids));
    mgk_dataset_options options = token_options(&path, 4);
    mgk_dataset *set = open_ok(&options);
    assert_true(mgk_dataset_size(set) == 2);
    mgk_dataset_fit(set, (const uint64_t[]){1, 0}, 2);
    assert_sample(set, 0, 4, (int32_t[]){5, 0, 99, 1}, (int32_t[]){0, 99, 1, 7});
    assert_sample(set, 1, 4, (int32_t[]){7, 8, 9, 6}, (int32_t[]){8, 9, 6, 3});
    assert_string_equal(mgk_dataset_remark(set),
                        "a text of 10 tokens, read as 2 windows of 4; 2 at "
                        "the end are left out");
    mgk_dataset_close(set);
    options.length = 5;
    set = open_ok(&options);
    int32_t tokens[5], targets[5], length;
    assert_ok(mgk_dataset_sample(set, 1, tokens, &length, targets));
    assert_memory_equal(targets, ((int32_t[]){9, 6, 3, 2, -1}), sizeof(targets));
    mgk_dataset_close(set);
    options.length = 20;
    set = open_ok(&options);
    assert_true(mgk_dataset_size(set) == 1);
    mgk_dataset_fit(set, (const uint64_t[]){0}, 1);
    assert_int_equal(mgk_dataset_shape_of(set).length, 10);
    assert_null(mgk_dataset_remark(set));
    mgk_dataset_close(set);
}

#define NPY(descr, order, shape) \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

/* Other byte orders, element sizes and layouts give the same ids. */
static void other_layouts_are_read(void **state)
{
    static const unsigned char big[] = {0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 1};
    static const int32_t columns[] = {5, 7, 0, -1, 99, -1, 1, -1};
    static const int8_t small[] = {5, 0, 99, 1};
    static const struct {
        const char *header;
        const void *elements;
        size_t size;
    } cases[] = {{NPY("'>i4'", "False", "(4,)"), big, sizeof(big)},
                 {NPY("'>u4'", "True", "(1, 4)"), big, sizeof(big)},
                 {NPY("'|i1'", "False", "(4,)"), small, sizeof(small)},
                 {NPY("'<i4'", "True", "(2, 4)"), columns, sizeof(columns)}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = write_npy(state, 1, cases[i].header, cases[i].elements, cases[i].size);
        mgk_dataset_options options = token_options(&path, 4);
        mgk_dataset *set = open_ok(&options);
        assert_sample(set, 0, 4, (int32_t[]){5, 0, 99, 1}, (int32_t[]){0, 99, 1, -1});
        if (mgk_dataset_size(set) == 2)
            assert_sample(set, 1, 1, (int32_t[]){7, -1, -1, -1}, (int32_t[]){-1, -1, -1, -1});
        mgk_dataset_close(set);
    }
}

static void other_arrays_are_refused(void **state)
{
    static const struct {
        const char *header;
        mgk_status status;
        const char *message;
    } cases[] = {
        {NPY("'<f4'", "False", "(4,)"), STATUS_UNSUPPORTED, "holds float32, expected token ids"},
        {NPY("'|b1'", "False", "(16,)"), STATUS_UNSUPPORTED, "holds bool"},
        {NPY("'|O'", "False", "(4,)"), STATUS_UNSUPPORTED, "holds object"},
        {NPY("[('a', '<i4')]", "False", "(4,)"), STATUS_UNSUPPORTED, "holds records"},
        {NPY("'<i4'", "False", "(1, 2, 2)"), STATUS_SHAPE, "[1,2,2], expected [samples, length]"},
        {NPY("'<i16'", "False", "()"), STATUS_UNSUPPORTED, "holds int128"},
        {NPY("'<i4'", "False", "(-4,)"), STATUS_FORMAT, "not made of sizes"},
        {NPY("'<i4'", "False", "(3,)"), STATUS_FORMAT, "take 16 bytes, expected 12"},
    };
    static const int32_t ids[] = {1, 2, 3, 4};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = write_npy(state, 1, cases[i].header, ids, sizeof(ids));
        mgk_dataset_options options = token_options(&path, 4);
        assert_refused(&options, cases[i].status, cases[i].message);
        assert_refused(&options, cases[i].status, "ids.npy: ");
    }
    const char *path = write_npy(state, 1, NPY("'<i4'", "False", "(0, 4)"), NULL, 0);
    mgk_dataset_options options = token_options(&path, 4);
    assert_refused(&options, STATUS_SHAPE, "ids.npy: the array is empty: [0,4]");
}

/* Ids in memory are used under the path's name. */
static void arrays_in_memory(void **state)
{
    (void)state;
    int64_t ids[] = {5, 0, 99, 1, 7, -1, -1, -1};
    const mgk_token_array array = {.ids = ids, .rows = 2, .columns = 4};
    const char *path = "somewhere";
    mgk_dataset_options options = token_options(&path, 4);
    options.ids = &array;
    mgk_dataset *set = open_ok(&options);
    assert_sample(set, 0, 4, (int32_t[]){5, 0, 99, 1}, (int32_t[]){0, 99, 1, -1});
    assert_sample(set, 1, 1, (int32_t[]){7, -1, -1, -1}, (int32_t[]){-1, -1, -1, -1});
    mgk_dataset_close(set);
    ids[4] = V;
    assert_refused(&options, STATUS_FORMAT, "somewhere: row 2: token 1: 100");
}

static void arrays_of_other_ids_are_refused(void **state)
{
    static const int32_t large[] = {1, 2, 3, 100}, hole[] = {1, -1, 3, 4},
                         padding[] = {1, 2, -1, -1};
    static const int64_t wide[] = {1, (int64_t)1 << 32};
    const char *square = NPY("'<i4'", "False", "(2, 2)");
    const char *path = write_npy(state, 1, square, large, sizeof(large));
    mgk_dataset_options options = token_options(&path, 4);
    assert_refused(&options, STATUS_FORMAT,
                   "ids.npy: row 2: token 2: 100 is not an id in [0, 100)");
    path = write_npy(state, 1, NPY("'<i4'", "False", "(4,)"), hole, sizeof(hole));
    assert_refused(&options, STATUS_FORMAT, "row 1: token 2: -1");
    path = write_npy(state, 1, square, padding, sizeof(padding));
    assert_refused(&options, STATUS_FORMAT, "row 2: no tokens");
    path = write_npy(state, 1, NPY("'<i8'", "False", "(2,)"), wide, sizeof(wide));
    assert_refused(&options, STATUS_FORMAT, "row 1: token 2: 4294967296");
    static const uint64_t largest[] = {1, UINT64_MAX}, larger[] = {1, ((uint64_t)1 << 63) + 1};
    path = write_npy(state, 1, NPY("'<u8'", "False", "(2,)"), largest, sizeof(largest));
    assert_refused(&options, STATUS_FORMAT, "row 1: token 2: 18446744073709551615 is not an id");
    path = write_npy(state, 1, NPY("'<u8'", "False", "(2,)"), larger, sizeof(larger));
    assert_refused(&options, STATUS_FORMAT, "row 1: token 2: 9223372036854775809 is not an id");
    static const int64_t smallest[] = {1, INT64_MIN};
    path = write_npy(state, 1, NPY("'<i8'", "False", "(2,)"), smallest, sizeof(smallest));
    assert_refused(&options, STATUS_FORMAT, "row 1: token 2: -9223372036854775808 is not an id");
#undef NPY
}

static void truncated_arrays_are_refused(void **state)
{
    static const int32_t ids[] = {1, 2, 3, 4};
    static const char header[] = "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }";
    unsigned char file[256] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, sizeof(header) - 1, 0};
    size_t size = 10 + sizeof(header) - 1 + sizeof(ids);
    memcpy(file + 10, header, sizeof(header) - 1);
    memcpy(file + 10 + sizeof(header) - 1, ids, sizeof(ids));
    for (size_t kept = 6; kept < size; kept++) {
        const char *path = write_bytes(state, "cut.npy", file, kept);
        mgk_dataset_options options = token_options(&path, 4);
        assert_refused(&options, STATUS_FORMAT, "cut.npy: ");
    }
    file[6] = 4;
    const char *path = write_bytes(state, "four.npy", file, size);
    mgk_dataset_options options = token_options(&path, 4);
    assert_refused(&options, STATUS_UNSUPPORTED, "npy version 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(lines_become_samples),
        folder_test(padding_is_cut),
        folder_test(padding_on_the_left),
        folder_test(padding_that_ends_texts),
        folder_test(blank_lines_at_the_end_are_left_out),
        folder_test(malformed_lines_are_refused),
        folder_test(arrays_become_samples),
        folder_test(one_axis_becomes_windows),
        folder_test(other_layouts_are_read),
        folder_test(other_arrays_are_refused),
        folder_test(arrays_in_memory),
        folder_test(arrays_of_other_ids_are_refused),
        folder_test(truncated_arrays_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
