/* SPDX-License-Identifier: MIT */
#include "data/fixture.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { N = 7 };

/* Bytes that include NUL, 0xFF and invalid UTF-8, each different from its neighbours. */
static void fill_text(unsigned char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        text[i] = (unsigned char)(i * 37);
}

static void evaluation_predicts_every_byte_but_the_first_once(void **state)
{
    /* Sizes around one window, a multiple of windows, and one more or less. */
    static const size_t sizes[] = {2, 3, N, N + 1, N + 2, 3 * N, 3 * N + 1, 3 * N + 2, 100};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        unsigned char text[100];
        int predicted[100] = {0};
        size_t size = sizes[s], next = 0;
        fill_text(text, size);
        const char *path = write_bytes(state, "text", text, size);
        mgk_dataset_options options = options_for(MGK_TASK_LM, &path, N);
        options.split = MGK_SPLIT_EVAL;
        mgk_dataset *lm = open_ok(&options);
        int32_t tokens[N], targets[N], length;
        for (uint64_t w = 0; w < mgk_dataset_size(lm); w++) {
            assert_ok(mgk_dataset_sample(lm, w, tokens, &length, targets));
            assert_in_range(length, 1, N);
            for (int i = 0; i < N; i++) {
                if (i >= length) {
                    assert_int_equal(tokens[i], -1);
                    assert_int_equal(targets[i], -1);
                    continue;
                }
                assert_int_equal(tokens[i], text[next]);
                assert_int_equal(targets[i], text[++next]);
                predicted[next]++;
            }
        }
        assert_int_equal(next, size - 1);
        assert_int_equal(predicted[0], 0);
        for (size_t i = 1; i < size; i++)
            assert_int_equal(predicted[i], 1);
        assert_fails(mgk_dataset_sample(lm, mgk_dataset_size(lm), tokens, &length, targets),
                     STATUS_USAGE);
        mgk_dataset_close(lm);
    }
}

/* The last window, if it is chosen alone, has its own length, and is where it was. */
static void the_longest_window_decides_the_length(void **state)
{
    unsigned char text[2 * N + 4];
    fill_text(text, sizeof(text));
    const char *path = write_bytes(state, "text", text, sizeof(text));
    mgk_dataset_options options = options_for(MGK_TASK_LM, &path, N);
    options.split = MGK_SPLIT_EVAL;
    mgk_dataset *lm = open_ok(&options);
    mgk_dataset_fit(lm, (const uint64_t[]){2, 0}, 2);
    assert_int_equal(mgk_dataset_shape_of(lm).length, N);
    mgk_dataset_fit(lm, (const uint64_t[]){2}, 1);
    assert_int_equal(mgk_dataset_shape_of(lm).length, 3);
    int32_t tokens[3], targets[3], length;
    assert_ok(mgk_dataset_sample(lm, 2, tokens, &length, targets));
    assert_int_equal(length, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tokens[i], text[2 * N + i]);
        assert_int_equal(targets[i], text[2 * N + i + 1]);
    }
    mgk_dataset_close(lm);
}

static void training_draws_windows_of_the_text(void **state)
{
    unsigned char text[3 * N];
    int started[3 * N] = {0};
    fill_text(text, sizeof(text));
    const char *path = write_bytes(state, "text", text, sizeof(text));
    mgk_dataset_options options = options_for(MGK_TASK_LM, &path, N);
    mgk_dataset *lm = open_ok(&options);
    mgk_dataset_shape shape = mgk_dataset_shape_of(lm);
    assert_int_equal(shape.sequences, 1);
    assert_int_equal(shape.length, N);
    assert_int_equal(shape.vocabulary, 256);
    assert_int_equal(shape.classes, 0);
    assert_true(mgk_dataset_size(lm) == 0);
    int32_t tokens[N], targets[N], length;
    for (uint64_t index = 0; index < 1000; index++) {
        assert_ok(mgk_dataset_sample(lm, index, tokens, &length, targets));
        assert_int_equal(length, N);
        const unsigned char *at = memchr(text, tokens[0], sizeof(text));
        assert_non_null(at);
        size_t start = (size_t)(at - text);
        assert_in_range(start, 0, sizeof(text) - N - 1);
        started[start]++;
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(tokens[i], text[start + i]);
            assert_int_equal(targets[i], text[start + i + 1]);
        }
    }
    /* 14 starts: 71 of 1000 each, standard deviation 8. */
    for (size_t start = 0; start + N < sizeof(text); start++)
        assert_in_range(started[start], 30, 115);
    mgk_dataset_close(lm);
}

/* Streams of 3 N + 4 bytes have three windows each; the last three bytes of the text are in none.
 */
static void streams_read_on(void **state)
{
    enum { STREAMS = 4, PART = 3 * N + 4 };
    unsigned char text[STREAMS * PART + 3];
    fill_text(text, sizeof(text));
    const char *path = write_bytes(state, "text", text, sizeof(text));
    mgk_dataset_options options = options_for(MGK_TASK_LM, &path, N);
    options.streams = STREAMS;
    mgk_dataset *lm = open_ok(&options);
    int32_t tokens[N], targets[N], length;
    assert_true(mgk_dataset_size(lm) == 0);
    for (uint64_t index = 0; index < 7 * STREAMS; index++) {
        const size_t start = index % STREAMS * PART + index / STREAMS % 3 * N;
        assert_ok(mgk_dataset_sample(lm, index, tokens, &length, targets));
        assert_int_equal(length, N);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(tokens[i], text[start + i]);
            assert_int_equal(targets[i], text[start + i + 1]);
        }
    }
    uint64_t hash, other;
    assert_ok(mgk_dataset_hash(lm, &hash));
    mgk_dataset_close(lm);
    options.streams = 0; /* a run is not resumed with other samples */
    lm = open_ok(&options);
    assert_ok(mgk_dataset_hash(lm, &other));
    assert_true(hash != other);
    mgk_dataset_close(lm);
    options.streams = sizeof(text) / (N + 1); /* each has a window and its last target */
    lm = open_ok(&options);
    assert_ok(mgk_dataset_sample(lm, UINT64_MAX, tokens, &length, targets));
    mgk_dataset_close(lm);
    options.streams++;
    assert_refused(&options, STATUS_SHAPE, "text: 103 bytes of text, expected at least 8 for each");
}

static void samples_depend_on_seed_and_index_alone(void **state)
{
    unsigned char text[1000];
    fill_text(text, sizeof(text));
    const char *path = write_bytes(state, "text", text, sizeof(text));
    mgk_dataset_options options = options_for(MGK_TASK_LM, &path, N);
    mgk_dataset *a = open_ok(&options), *b = open_ok(&options);
    int32_t tokens[N], other[N], targets[N], length;
    assert_ok(mgk_dataset_sample(b, 999, tokens, &length, targets));
    assert_same_samples(a, b, 50);
    mgk_dataset_close(b);
    options.seed = 1;
    b = open_ok(&options);
    int same = 0;
    for (uint64_t index = 0; index < 50; index++) {
        assert_ok(mgk_dataset_sample(a, index, tokens, &length, targets));
        assert_ok(mgk_dataset_sample(b, index, other, &length, targets));
        same += memcmp(tokens, other, sizeof(tokens)) == 0;
    }
    assert_true(same < 10);
    mgk_dataset_close(a);
    mgk_dataset_close(b);
}

static void files_are_put_end_to_end(void **state)
{
    const char *paths[] = {write_text(state, "a", "ab"), write_bytes(state, "b", "\0\xff", 2)};
    mgk_dataset_options options = options_for(MGK_TASK_LM, paths, 3);
    options.path_count = 2;
    options.split = MGK_SPLIT_TEST;
    mgk_dataset *lm = open_ok(&options);
    assert_true(mgk_dataset_size(lm) == 1);
    int32_t tokens[3], targets[3], length;
    assert_ok(mgk_dataset_sample(lm, 0, tokens, &length, targets));
    assert_memory_equal(tokens, ((int32_t[]){'a', 'b', 0}), sizeof(tokens));
    assert_memory_equal(targets, ((int32_t[]){'b', 0, 255}), sizeof(targets));
    mgk_dataset_close(lm);
}

/* Two files, each encoded separately, as tokens of one sequence; returns their number. */
static size_t encode_files(const mgk_tokenizer *tokenizer, const char *const text[2],
                           mgk_buffer *ids)
{
    mgk_token_encoder *encoder;
    assert_ok(mgk_token_encoder_open(tokenizer, &encoder));
    for (int i = 0; i < 2; i++)
        assert_ok(mgk_token_encode(encoder, text[i], strlen(text[i]), ids));
    mgk_token_encoder_close(encoder);
    return ids->size / sizeof(int32_t);
}

static void windows_of_tokens_are_as_those_of_bytes(void **state)
{
    static const char *const text[] = {"one two, two three three three; four ",
                                       "four four\xff five"};
    const char *paths[] = {write_text(state, "a", text[0]), write_text(state, "b", text[1])};
    mgk_dataset_options options = options_for(MGK_TASK_LM, paths, N);
    mgk_tokenizer *tokenizer;
    mgk_buffer ids = {0};
    char *learnt;
    options.path_count = 2;
    options.training_windows = true;
    assert_ok(mgk_dataset_learn(&options, MGK_LEARN_BPE, 262, &learnt));
    assert_ok(mgk_tokenizer_open_text(learnt, &tokenizer));
    const size_t count = encode_files(tokenizer, text, &ids),
                 bytes = strlen(text[0]) + strlen(text[1]);
    const int32_t *id = (const int32_t *)(const void *)ids.data;
    assert_in_range(count, 3 * N, bytes - 8);
    options.tokenizer = tokenizer;
    options.split = MGK_SPLIT_EVAL;
    mgk_dataset *lm = open_ok(&options);
    int32_t tokens[N], targets[N], length;
    size_t next = 0;
    assert_int_equal(mgk_dataset_shape_of(lm).vocabulary, 262);
    assert_true(mgk_dataset_token_bytes(lm) == (double)bytes / (double)(count - 1));
    for (uint64_t w = 0; w < mgk_dataset_size(lm); w++) {
        assert_ok(mgk_dataset_sample(lm, w, tokens, &length, targets));
        for (int i = 0; i < length; i++) {
            assert_int_equal(tokens[i], id[next]);
            assert_int_equal(targets[i], id[++next]);
        }
    }
    assert_int_equal(next, count - 1);
    mgk_dataset_close(lm);
    options.split = MGK_SPLIT_TRAIN;
    lm = open_ok(&options);
    assert_true(mgk_dataset_size(lm) == 0);
    bool first = false, last = false; /* windows are drawn */
    for (uint64_t index = 0; index < 500; index++) {
        size_t start = 0;
        assert_ok(mgk_dataset_sample(lm, index, tokens, &length, targets));
        while (start + N < count && (memcmp(tokens, id + start, sizeof(tokens)) != 0 ||
                                     memcmp(targets, id + start + 1, sizeof(targets)) != 0))
            start++;
        assert_true(start + N < count);
        first |= start == 0;
        last |= start + N + 1 == count;
    }
    assert_true(first && last);
    mgk_dataset_close(lm);
    mgk_tokenizer_close(tokenizer);
    mgk_buffer_free(&ids);
    mgk_free(learnt);
}

static void bad_files_are_refused(void **state)
{
    const char *path = path_of(state, "absent");
    mgk_dataset_options options = options_for(MGK_TASK_LM, &path, N);
    assert_refused(&options, STATUS_IO, "absent: No such file");
    path = write_text(state, "empty", "");
    assert_refused(&options, STATUS_SHAPE, "empty: empty");
    path = write_text(state, "short", "1234567");
    assert_refused(&options, STATUS_SHAPE, "short: 7 bytes of text, expected at least 8");
    options.split = MGK_SPLIT_EVAL;
    path = write_text(state, "byte", "x");
    assert_refused(&options, STATUS_SHAPE, "byte: 1 byte of text, expected at least 2");
    const char *paths[] = {write_text(state, "good", "0123456789"), path_of(state, "gone")};
    options.paths = paths;
    options.path_count = 2;
    assert_refused(&options, STATUS_IO, "gone: ");
}

/* Writes a tree of texts and hostile entries; its texts end to end are "0123456789abcdefgh". */
static void write_tree(void **state)
{
    assert_int_equal(mkdir(path_of(state, "b"), 0700), 0);
    assert_int_equal(mkdir(path_of(state, "b/deep.txt"), 0700), 0);
    assert_int_equal(mkdir(path_of(state, "empty"), 0700), 0);
    write_text(state, "b.txt", "0123"); /* before b/, as '.' is before '/' */
    write_text(state, "b/a.txt", "456");
    write_text(state, "b/deep.txt/0.txt", "789a");
    write_text(state, "b/z.txt", "bcd");
    write_text(state, "c.TXT", "not this one");
    write_text(state, "c.md", "efgh");
    assert_int_equal(symlink("../..", path_of(state, "b/deep.txt/up")), 0);
    assert_int_equal(symlink(".", path_of(state, "b/self.txt")), 0);
    assert_int_equal(symlink("c.md", path_of(state, "link.txt")), 0);
}

static void a_folder_stands_for_its_texts(void **state)
{
    static const char text[] = "0123456789abcdefgh";
    const char *path = path_of(state, "");
    mgk_dataset_options options = options_for(MGK_TASK_LM, &path, 17);
    int32_t tokens[17], targets[17], length;
    write_tree(state);
    options.split = MGK_SPLIT_EVAL;
    mgk_dataset *lm = open_ok(&options);
    assert_int_equal(mgk_dataset_size(lm), 1);
    assert_ok(mgk_dataset_sample(lm, 0, tokens, &length, targets));
    for (int i = 0; i < 17; i++) {
        assert_int_equal(tokens[i], text[i]);
        assert_int_equal(targets[i], text[i + 1]);
    }
    mgk_dataset_close(lm);
    path = path_of(state, "b/self.txt"); /* a link that is named itself is followed */
    mgk_dataset_close(open_ok(&options));
}

static void bad_folders_are_refused(void **state)
{
    const char *path = path_of(state, "");
    mgk_dataset_options options = options_for(MGK_TASK_LM, &path, N);
    assert_refused(&options, STATUS_SHAPE, ": no .txt files");
    assert_int_equal(symlink("nowhere", path_of(state, "gone.txt")), 0);
    assert_refused(&options, STATUS_IO, "/gone.txt: No such file");
    assert_int_equal(unlink(path_of(state, "gone.txt")), 0);
    assert_int_equal(symlink("loop.txt", path_of(state, "loop.txt")), 0);
    assert_refused(&options, STATUS_IO, "/loop.txt: Too many levels");
    assert_int_equal(unlink(path_of(state, "loop.txt")), 0);
    assert_int_equal(mkfifo(path_of(state, "pipe.txt"), 0600), 0);
    assert_refused(&options, STATUS_IO, "/pipe.txt: not a regular file");
}

static void an_unreadable_file_is_refused(void **state)
{
    const char *path = write_text(state, "secret", "0123456789");
    assert_int_equal(chmod(path, 0), 0);
    /* The superuser can read everything, so the test changes its user for a moment. */
    uid_t self = geteuid();
    if (self == 0)
        assert_int_equal(seteuid(65534), 0);
    mgk_dataset_options options = options_for(MGK_TASK_LM, &path, N);
    assert_refused(&options, STATUS_IO, "secret: Permission denied");
    assert_int_equal(seteuid(self), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(evaluation_predicts_every_byte_but_the_first_once),
        folder_test(the_longest_window_decides_the_length),
        folder_test(training_draws_windows_of_the_text),
        folder_test(streams_read_on),
        folder_test(samples_depend_on_seed_and_index_alone),
        folder_test(files_are_put_end_to_end),
        folder_test(windows_of_tokens_are_as_those_of_bytes),
        folder_test(a_folder_stands_for_its_texts),
        folder_test(bad_files_are_refused),
        folder_test(bad_folders_are_refused),
        folder_test(an_unreadable_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
