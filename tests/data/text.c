/* SPDX-License-Identifier: MIT */
/* The text task on folders of reviews. */
#include "data/fixture.h"

#include <sys/stat.h>
#include <unistd.h>

enum { N = 4 };

static void make_subfolder(void **state, const char *name)
{
    assert_int_equal(mkdir(path_of(state, name), 0700), 0);
}

static void files_become_samples_in_order(void **state)
{
    make_subfolder(state, "neg");
    make_subfolder(state, "pos");
    write_text(state, "neg/1_2.txt", "bad");
    write_text(state, "neg/10_1.txt", "awful");
    write_bytes(state, "pos/0_9.txt", "\0\xc3", 2);
    write_text(state, "pos/urls.csv", "ignored");
    const char *path = path_of(state, "");
    mgk_dataset_options options = options_for(MGK_TASK_TEXT, &path, N);
    mgk_dataset *texts = open_ok(&options);
    assert_true(mgk_dataset_size(texts) == 3);
    assert_int_equal(mgk_dataset_shape_of(texts).classes, 2);
    int32_t tokens[N], length, label;
    assert_ok(mgk_dataset_sample(texts, 0, tokens, &length, &label));
    assert_memory_equal(tokens, ((int32_t[]){'a', 'w', 'f', 'u'}), sizeof(tokens));
    assert_int_equal(label, 0);
    assert_ok(mgk_dataset_sample(texts, 1, tokens, &length, &label));
    assert_memory_equal(tokens, ((int32_t[]){'b', 'a', 'd', -1}), sizeof(tokens));
    assert_int_equal(length, 3);
    assert_ok(mgk_dataset_sample(texts, 2, tokens, &length, &label));
    assert_memory_equal(tokens, ((int32_t[]){0, 0xc3, -1, -1}), sizeof(tokens));
    assert_int_equal(label, 1);
    mgk_dataset_close(texts);

    const char *twice[] = {path, path};
    options.paths = twice;
    options.path_count = 2;
    assert_refused(&options, STATUS_USAGE, "expected one folder, got 2");
}

/* An evaluation on the first samples contains both classes. */
static void classes_take_turns_in_evaluation(void **state)
{
    static const char expected[] = {'a', 'x', 'b', 'y', 'z'};
    make_subfolder(state, "neg");
    make_subfolder(state, "pos");
    write_text(state, "neg/1.txt", "a");
    write_text(state, "neg/2.txt", "b");
    write_text(state, "pos/1.txt", "x");
    write_text(state, "pos/2.txt", "y");
    write_text(state, "pos/3.txt", "z");
    const char *path = path_of(state, "");
    mgk_dataset_options options = options_for(MGK_TASK_TEXT, &path, N);
    for (int split = MGK_SPLIT_EVAL; split <= MGK_SPLIT_TEST; split++) {
        options.split = (mgk_split)split;
        mgk_dataset *texts = open_ok(&options);
        assert_true(mgk_dataset_size(texts) == 5);
        for (uint64_t i = 0; i < 5; i++) {
            int32_t tokens[N], length, label;
            assert_ok(mgk_dataset_sample(texts, i, tokens, &length, &label));
            assert_int_equal(tokens[0], expected[i]);
            assert_int_equal(label, expected[i] >= 'x');
        }
        mgk_dataset_close(texts);
    }
}

static uint64_t hash_of(const mgk_dataset_options *options)
{
    mgk_dataset *data = open_ok(options);
    uint64_t hash;
    assert_ok(mgk_dataset_hash(data, &hash));
    mgk_dataset_close(data);
    return hash;
}

static void hash_is_that_of_the_content(void **state)
{
    make_subfolder(state, "neg");
    make_subfolder(state, "pos");
    write_text(state, "neg/1.txt", "a");
    write_text(state, "neg/2.txt", "bc");
    write_text(state, "pos/1.txt", "x");
    const char *path = path_of(state, "");
    mgk_dataset_options options = options_for(MGK_TASK_TEXT, &path, N);
    uint64_t hash = hash_of(&options);
    assert_true(hash_of(&options) == hash);
    /* The hash ignores names but depends on bytes, boundaries and labels. */
    write_text(state, "pos/2.txt", "x");
    assert_int_equal(unlink(path_of(state, "pos/1.txt")), 0);
    assert_true(hash_of(&options) == hash);
    write_text(state, "pos/2.txt", "y");
    assert_true(hash_of(&options) != hash);
    write_text(state, "pos/2.txt", "x");
    write_text(state, "neg/1.txt", "ab");
    write_text(state, "neg/2.txt", "c");
    assert_true(hash_of(&options) != hash);
    write_text(state, "neg/2.txt", "x");
    write_text(state, "pos/2.txt", "c");
    assert_true(hash_of(&options) != hash);

    path = write_text(state, "text", "text of a language model");
    options = options_for(MGK_TASK_LM, &path, N);
    hash = hash_of(&options);
    write_text(state, "text", "Text of a language model");
    assert_true(hash_of(&options) != hash);
    write_text(state, "text", "text of a language model");
    assert_true(hash_of(&options) == hash);
    options.length++;
    assert_true(hash_of(&options) != hash);
}

static void bad_folders_are_refused(void **state)
{
    const char *path = path_of(state, "absent");
    mgk_dataset_options options = options_for(MGK_TASK_TEXT, &path, N);
    assert_refused(&options, STATUS_IO, "absent/neg: No such file");
    path = write_text(state, "file", "text");
    assert_refused(&options, STATUS_IO, "file/neg: Not a directory");
    path = path_of(state, ".");
    make_subfolder(state, "neg");
    assert_refused(&options, STATUS_SHAPE, "neg: no .txt files");
    write_text(state, "neg/1.txt", "bad");
    assert_refused(&options, STATUS_IO, "pos: No such file");
    make_subfolder(state, "pos");
    write_text(state, "pos/1.txt", "");
    assert_refused(&options, STATUS_SHAPE, "pos/1.txt: empty");
    make_subfolder(state, "neg/2.txt");
    assert_refused(&options, STATUS_IO, "neg/2.txt: not a regular file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(files_become_samples_in_order),
        folder_test(classes_take_turns_in_evaluation),
        folder_test(hash_is_that_of_the_content),
        folder_test(bad_folders_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
