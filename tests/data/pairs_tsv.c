/* SPDX-License-Identifier: MIT */
/* The retrieval task on the TSV files of Long Range Arena. */
#include "data/fixture.h"

#include <stdio.h>
#include <string.h>

enum { N = 5 };

static void rows_become_samples(void **state)
{
    static const char rows[] = "1.0\ta\tb\tshort\tx\n"
                               "0\ta\tb\t\xff\xfe quite long\tanother long\r\n"
                               "1\t\t\tq\tr";
    const char *path = write_bytes(state, "pairs.tsv", rows, sizeof(rows) - 1);
    mgk_dataset_options options = options_for(MGK_TASK_RETRIEVAL, &path, N);
    mgk_dataset *pairs = open_ok(&options);
    assert_true(mgk_dataset_size(pairs) == 3);
    int32_t tokens[2 * N], lengths[2], label;
    assert_ok(mgk_dataset_sample(pairs, 0, tokens, lengths, &label));
    assert_memory_equal(tokens, ((int32_t[]){'s', 'h', 'o', 'r', 't', 'x', -1, -1, -1, -1}),
                        sizeof(tokens));
    assert_int_equal(lengths[0], 5);
    assert_int_equal(lengths[1], 1);
    assert_int_equal(label, 1);
    assert_ok(mgk_dataset_sample(pairs, 1, tokens, lengths, &label));
    assert_memory_equal(tokens, ((int32_t[]){0xff, 0xfe, ' ', 'q', 'u', 'a', 'n', 'o', 't', 'h'}),
                        sizeof(tokens));
    assert_int_equal(lengths[0], N);
    assert_int_equal(lengths[1], N);
    assert_int_equal(label, 0);
    assert_ok(mgk_dataset_sample(pairs, 2, tokens, lengths, &label));
    assert_int_equal(tokens[N], 'r');
    mgk_dataset_close(pairs);

    const char *twice[] = {path, path};
    options.paths = twice;
    options.path_count = 2;
    assert_refused(&options, STATUS_USAGE, "read alone");
}

/* The mark of a byte order, and blank lines at the end, are not part of the rows. */
static void marks_and_blank_ends_do_not_count(void **state)
{
    const char *path = write_text(state, "pairs.tsv",
                                  "\xEF\xBB\xBF"
                                  "0\ta\tb\tq\tr\n1\ta\tb\ts\tt \r\n\n \t\n");
    mgk_dataset_options options = options_for(MGK_TASK_RETRIEVAL, &path, N);
    mgk_dataset *pairs = open_ok(&options);
    int32_t tokens[2 * N], lengths[2], label;
    assert_true(mgk_dataset_size(pairs) == 2);
    assert_ok(mgk_dataset_sample(pairs, 1, tokens, lengths, &label));
    assert_int_equal(label, 1);
    assert_int_equal(lengths[1], 2);
    assert_int_equal(tokens[N + 1], ' ');
    mgk_dataset_close(pairs);
}

static void malformed_rows_are_refused(void **state)
{
    static const struct {
        const char *row, *message;
    } cases[] = {
        {"1\ta\tb\ttext", "line 2: fewer than the columns"},
        {"\n1\ta\tb\ttext\ttext", "line 2: fewer than the columns"},
        {"1\ta\tb\ttext\ttext\tmore", "line 2: more than the columns"},
        {"2\ta\tb\ttext\ttext", "line 2: label is \"2\""},
        {"\x01\ta\tb\ttext\ttext", "line 2: label is \"?\""},
        {"1\ta\tb\t\ttext", "line 2: text 1 is empty"},
        {"1\ta\tb\ttext\t", "line 2: text 2 is empty"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "1\ta\tb\tgood\tgood\n%s\n", cases[i].row);
        const char *path = write_text(state, "pairs.tsv", text);
        mgk_dataset_options options = options_for(MGK_TASK_RETRIEVAL, &path, N);
        assert_refused(&options, STATUS_FORMAT, cases[i].message);
        assert_refused(&options, STATUS_FORMAT, "pairs.tsv: ");
    }
    /* A first row without all columns is still recognised as such a file. */
    const char *path = write_text(state, "cut.tsv", "0.0\ta");
    mgk_dataset_options options = options_for(MGK_TASK_RETRIEVAL, &path, N);
    assert_refused(&options, STATUS_FORMAT, "cut.tsv: line 1: fewer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(rows_become_samples),
        folder_test(marks_and_blank_ends_do_not_count),
        folder_test(malformed_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
