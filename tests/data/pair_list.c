/* SPDX-License-Identifier: MIT */
/* Retrieval from a list of pairs and a folder of texts. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "data/fixture.h"

enum { N = 4, TEXTS = 60, LISTED = 150, MOST = 1000 };

/* Text i is one byte, '0' + i, so that a row shows it; each of its rows has length 1. */
static void write_texts(void **state, int count)
{
    assert_int_equal(mkdir(path_of(state, "texts"), 0700), 0);
    for (int i = 0; i < count; i++) {
        char name[40];
        const char byte = (char)('0' + i);
        snprintf(name, sizeof(name), "texts/P-%d.txt", i);
        write_bytes(state, name, &byte, 1);
    }
}

/* Pairs that are listed, [first][second]. */
typedef bool matrix[TEXTS][TEXTS];

static const char *write_list(void **state, matrix listed)
{
    static char text[LISTED * 20];
    size_t used = (size_t)snprintf(text, sizeof(text), "citing\tcited\n");
    memset(listed, 0, sizeof(matrix));
    for (int i = 0; i < LISTED; i++) {
        const int first = i * i % 23, second = (i * 7 + i / 11) % TEXTS;
        if (first == second)
            continue;
        listed[first][second] = true;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "P-%d\tP-%d\r\n", first, second);
    }
    return write_text(state, "list.tsv", text);
}

static mgk_dataset_options list_options(const char *const paths[2], mgk_split split)
{
    mgk_dataset_options options = options_for(MGK_TASK_RETRIEVAL, paths, N);
    options.path_count = options.other_count = 2;
    options.other_paths = paths;
    options.split = split;
    options.seed = 3;
    return options;
}

/* Reads sample `index` as two texts; returns its label. */
static int read_pair(const mgk_dataset *set, uint64_t index, int text[2])
{
    int32_t row[2 * N], lengths[2], label;
    assert_ok(mgk_dataset_sample(set, index, row, lengths, &label));
    for (int s = 0; s < 2; s++) {
        assert_int_equal(lengths[s], 1);
        assert_int_equal(row[s * N + 1], -1);
        text[s] = row[s * N] - '0';
        assert_in_range(text[s], 0, TEXTS - 1);
    }
    return label;
}

/* Checks all pairs of a part, and marks their texts; returns how many are listed. */
static int check_part(const mgk_dataset *set, matrix listed, bool texts[TEXTS])
{
    const uint64_t size = mgk_dataset_size(set);
    static matrix seen;
    memset(seen, 0, sizeof(seen));
    for (uint64_t k = 0; k < size / 2; k++) {
        int text[2][2], labels[2];
        for (int i = 0; i < 2; i++) {
            labels[i] = read_pair(set, 2 * k + (uint64_t)i, text[i]);
            const int first = text[i][0], second = text[i][1];
            texts[first] = texts[second] = true;
            assert_int_not_equal(first, second);
            assert_int_equal(labels[i], listed[first][second] || listed[second][first]);
            if (labels[i]) {
                assert_false(seen[first][second] || seen[second][first]);
                seen[first][second] = true;
            }
        }
        assert_int_equal(labels[0] + labels[1], 1);
        assert_int_equal(text[0][0], text[1][0]); /* the same first text, in both classes */
    }
    assert_true(size % 2 == 0);
    return (int)(size / 2);
}

static void parts_share_no_text(void **state)
{
    static matrix listed;
    bool texts[2][TEXTS] = {{false}};
    write_texts(state, TEXTS);
    const char *paths[] = {write_list(state, listed), path_of(state, "texts")};
    int pairs[2];
    for (int part = 0; part < 2; part++) {
        mgk_dataset_options options = list_options(paths, part ? MGK_SPLIT_EVAL : MGK_SPLIT_TRAIN);
        mgk_dataset *set = open_ok(&options);
        pairs[part] = check_part(set, listed, texts[part]);
        mgk_dataset_close(set);
    }
    assert_in_range(pairs[1], 3, pairs[0] / 2);
    for (int i = 0; i < TEXTS; i++)
        assert_false(texts[0][i] && texts[1][i]);
    /* Without held-out data all pairs are for training; a run of a model reads what is held out. */
    mgk_dataset_options options = list_options(paths, MGK_SPLIT_TRAIN);
    options.other_count = 0;
    mgk_dataset *set = open_ok(&options);
    int all = 0;
    for (int i = 0; i < TEXTS; i++)
        for (int j = 0; j < i; j++)
            all += listed[i][j] || listed[j][i];
    assert_int_equal(check_part(set, listed, texts[0]), all);
    mgk_dataset_close(set);
    options.split = MGK_SPLIT_EVAL;
    set = open_ok(&options);
    assert_int_equal(check_part(set, listed, texts[0]), pairs[1]);
    mgk_dataset_close(set);
}

/* A text is the second of pairs of either class about as often. */
static void classes_have_the_same_second_texts(void **state)
{
    static matrix listed;
    int count[2][TEXTS] = {{0}};
    write_texts(state, TEXTS);
    const char *paths[] = {write_list(state, listed), path_of(state, "texts")};
    mgk_dataset_options options = list_options(paths, MGK_SPLIT_TRAIN);
    options.other_count = 0;
    for (options.seed = 0; options.seed < 30; options.seed++) {
        mgk_dataset *set = open_ok(&options);
        for (uint64_t i = 0; i < mgk_dataset_size(set); i++) {
            int text[2];
            const int label = read_pair(set, i, text);
            count[label][text[1]]++;
        }
        mgk_dataset_close(set);
    }
    for (int i = 0; i < TEXTS; i++) /* of 30 to 120; 3 standard deviations, and rejected pairs */
        assert_in_range(count[0][i] + 60, count[1][i], count[1][i] + 120);
}

static void the_seed_draws_other_pairs(void **state)
{
    static matrix listed;
    write_texts(state, TEXTS);
    const char *paths[] = {write_list(state, listed), path_of(state, "texts")};
    mgk_dataset_options options = list_options(paths, MGK_SPLIT_TRAIN);
    mgk_dataset *a = open_ok(&options), *b = open_ok(&options);
    assert_same_samples(a, b, mgk_dataset_size(a));
    mgk_dataset_close(b);
    options.seed = 4;
    b = open_ok(&options);
    assert_true(mgk_dataset_size(a) == mgk_dataset_size(b));
    int same = 0, size = (int)mgk_dataset_size(a);
    for (int i = 0; i < size; i++) {
        int text[2], other[2];
        read_pair(a, (uint64_t)i, text);
        read_pair(b, (uint64_t)i, other);
        same += memcmp(text, other, sizeof(text)) == 0;
    }
    assert_in_range(same, 0, size / 2);
    mgk_dataset_close(a);
    mgk_dataset_close(b);
}

static void what_does_not_count_is_told(void **state)
{
    write_texts(state, 4);
    const char *paths[] = {
        write_text(state, "list.tsv",
                   "P-0\tP-1\nP-1\tP-0\nP-2\tP-2\nP-0\tgone\nP-2\tP-3\nP-0\tP-1\n"),
        path_of(state, "texts")};
    mgk_dataset_options options = list_options(paths, MGK_SPLIT_TRAIN);
    options.other_count = 0;
    mgk_dataset *set = open_ok(&options);
    assert_true(mgk_dataset_size(set) == 4);
    assert_string_equal(mgk_dataset_remark(set), "2 pairs of 4 texts, and as many that are not "
                                                 "listed; 1 names a text that is not there");
    mgk_dataset_close(set);
    /* Another list for training has one of the texts. */
    const char *training[] = {write_text(state, "training.tsv", "P-3\tP-0\n"),
                              path_of(state, "texts")};
    options.other_paths = training;
    options.other_count = 2;
    options.split = MGK_SPLIT_EVAL;
    assert_refused(&options, STATUS_SHAPE, "no pairs: 6 listed, 1 without a text in");
    write_text(state, "training.tsv", "P-8\tP-9\n");
    set = open_ok(&options);
    assert_true(mgk_dataset_size(set) == 4);
    mgk_dataset_close(set);
}

static void bad_lists_are_refused(void **state)
{
    static const struct {
        const char *list, *message;
        mgk_status status;
    } cases[] = {
        {"P-0\n", "list.tsv: line 1: expected two ids", STATUS_FORMAT},
        {"P-0\tP-1\n\nP-1\tP-2\n", "list.tsv: line 2: expected two ids", STATUS_FORMAT},
        {"P-0\tP-1\tP-2\n", "list.tsv: line 1: expected two ids", STATUS_FORMAT},
        {"P-0\t\n", "is not the id", STATUS_FORMAT},
        {"P-0\t../P-1\n", "\"../P-1\" is not the id", STATUS_FORMAT},
        {"P-0\ta/P-1\n", "\"a/P-1\" is not the id", STATUS_FORMAT},
        {"", "no pairs: 0 listed", STATUS_SHAPE},
        {"citing\tcited\n", "no pairs: 0 listed", STATUS_SHAPE},
        {"P-0\tP-1\n", "1 beside which no other can be made", STATUS_SHAPE},
        {"P-0\tempty\nP-1\tP-2\n", "empty.txt: empty", STATUS_SHAPE},
    };
    write_texts(state, 3);
    write_text(state, "texts/empty.txt", "");
    const char *paths[] = {path_of(state, "list.tsv"), path_of(state, "texts")};
    mgk_dataset_options options = list_options(paths, MGK_SPLIT_TRAIN);
    options.other_count = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_text(state, "list.tsv", cases[i].list);
        assert_refused(&options, cases[i].status, cases[i].message);
    }
    char longest[700] = "P-0\t";
    memset(longest + 4, 'x', 600);
    write_text(state, "list.tsv", longest);
    assert_refused(&options, STATUS_FORMAT, "is not the id");
    write_bytes(state, "list.tsv", "P-0\tP\0-1\n", 9);
    assert_refused(&options, STATUS_FORMAT, "is not the id");
}

/* Texts that are held out say nothing to the tokenizer. */
static void tokenizers_are_learnt_from_training_texts(void **state)
{
    static matrix listed;
    bool texts[TEXTS] = {false};
    char *list;
    write_texts(state, TEXTS);
    const char *paths[] = {write_list(state, listed), path_of(state, "texts")};
    mgk_dataset_options options = list_options(paths, MGK_SPLIT_TRAIN);
    mgk_dataset *set = open_ok(&options);
    check_part(set, listed, texts);
    mgk_dataset_close(set);
    assert_ok(mgk_dataset_learn(&options, MGK_LEARN_SPLIT_WORDS, MOST, &list));
    for (int i = 0; i < TEXTS; i++) {
        const char line[] = {'\n', (char)('0' + i), '\n', '\0'};
        assert_int_equal(strstr(list, line) != NULL, texts[i]);
    }
    mgk_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(parts_share_no_text),
        folder_test(classes_have_the_same_second_texts),
        folder_test(the_seed_draws_other_pairs),
        folder_test(what_does_not_count_is_told),
        folder_test(bad_lists_are_refused),
        folder_test(tokenizers_are_learnt_from_training_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
