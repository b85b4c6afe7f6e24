/* SPDX-License-Identifier: MIT */
/* Text read through a tokenizer: windows, lines, and the tokens around each sequence. */
#include <string.h>

#include "data/fixture.h"
#include "data/tokenizers/tokenizer.h"

enum { N = 4 };

/* Words: <eos> 0, <unk> 1, a 2, b 3, c 4. */
static mgk_tokenizer *words(void **state)
{
    mgk_tokenizer *tokenizer;
    const char *path = write_text(state, "words", "<eos>\n<unk>\na\nb\nc\n");
    assert_ok(mgk_tokenizer_open(path, &tokenizer));
    return tokenizer;
}

/* WordPiece of [UNK] 0, [CLS] 1, [SEP] 2, a 3, b 4, c 5. */
static mgk_tokenizer *framed(void **state)
{
    mgk_tokenizer *tokenizer;
    const char *path = write_text(state, "vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\nb\nc\n");
    assert_ok(mgk_tokenizer_open(path, &tokenizer));
    return tokenizer;
}

static mgk_dataset_options text_options(const mgk_tokenizer *tokenizer, const char *const *path)
{
    mgk_dataset_options options = options_for(MGK_TASK_LM, path, N);
    options.split = MGK_SPLIT_EVAL;
    options.tokenizer = tokenizer;
    return options;
}

static void assert_sample(const mgk_dataset *set, uint64_t index, const int32_t tokens[N],
                          const int32_t targets[N])
{
    int32_t row[N], next[N], length, expected = 0;
    while (expected < N && tokens[expected] >= 0)
        expected++;
    assert_ok(mgk_dataset_sample(set, index, row, &length, next));
    assert_int_equal(length, expected);
    assert_memory_equal(row, tokens, sizeof(row));
    assert_memory_equal(next, targets, sizeof(next));
}

#define SAMPLE(...) ((const int32_t[N]){__VA_ARGS__})

static void files_are_cut_into_windows(void **state)
{
    const char *paths[] = {write_text(state, "one", "a b\n\nc"),
                           write_text(state, "two", "c c x\n")};
    mgk_tokenizer *tokenizer = words(state);
    mgk_dataset_options options = text_options(tokenizer, paths);
    options.path_count = 2; /* a b eos eos c eos | c c unk eos: 10 tokens */
    mgk_dataset *set = open_ok(&options);
    assert_int_equal(mgk_dataset_size(set), 2);
    assert_int_equal(mgk_dataset_shape_of(set).vocabulary, 5);
    assert_int_equal(mgk_dataset_shape_of(set).classes, 0);
    assert_sample(set, 0, SAMPLE(2, 3, 0, 0), SAMPLE(3, 0, 0, 4));
    assert_sample(set, 1, SAMPLE(4, 0, 4, 4), SAMPLE(0, 4, 4, 1));
    mgk_dataset_close(set);
    mgk_tokenizer_close(tokenizer);
}

static void short_text_is_one_padded_sample(void **state)
{
    const char *path = write_text(state, "text", "a b");
    mgk_tokenizer *tokenizer = words(state);
    mgk_dataset_options options = text_options(tokenizer, &path);
    mgk_dataset *set = open_ok(&options);
    assert_int_equal(mgk_dataset_size(set), 1);
    assert_sample(set, 0, SAMPLE(2, 3, 0, -1), SAMPLE(3, 0, -1, -1));
    mgk_dataset_close(set);
    mgk_tokenizer_close(tokenizer);
}

static void windows_have_their_frame(void **state)
{
    const char *path = write_text(state, "text", "a b\nc a b\n");
    mgk_tokenizer *tokenizer = framed(state);
    mgk_dataset_options options = text_options(tokenizer, &path);
    mgk_dataset *set = open_ok(&options);
    assert_int_equal(mgk_dataset_size(set), 2);
    assert_sample(set, 0, SAMPLE(1, 3, 4, 2), SAMPLE(3, 4, 2, -1));
    assert_sample(set, 1, SAMPLE(1, 5, 3, 2), SAMPLE(5, 3, 2, -1));
    uint64_t hash, other;
    assert_ok(mgk_dataset_hash(set, &hash));
    mgk_dataset_close(set);
    write_text(state, "text", "a b\nc a b c\n");
    set = open_ok(&options);
    assert_ok(mgk_dataset_hash(set, &other));
    assert_true(other != hash);
    mgk_dataset_close(set);
    options.length = 2;
    assert_refused(&options, STATUS_SHAPE, "length 2 leaves no room for text: 2 special tokens");
    mgk_tokenizer_close(tokenizer);
}

static void lines_are_samples(void **state)
{
    const char *path = write_text(state, "text", "a\n\n \t\r\nb c a b\r\nc");
    mgk_tokenizer *tokenizer = framed(state);
    mgk_dataset_options options = text_options(tokenizer, &path);
    options.lines = true;
    mgk_dataset *set = open_ok(&options);
    assert_int_equal(mgk_dataset_size(set), 3);
    assert_sample(set, 0, SAMPLE(1, 3, 2, -1), SAMPLE(3, 2, -1, -1));
    assert_sample(set, 1, SAMPLE(1, 4, 5, 2), SAMPLE(4, 5, 2, -1));
    assert_sample(set, 2, SAMPLE(1, 5, 2, -1), SAMPLE(5, 2, -1, -1));
    mgk_dataset_close(set);
    mgk_tokenizer_close(tokenizer);
    options.tokenizer = NULL; /* bytes */
    set = open_ok(&options);
    assert_int_equal(mgk_dataset_size(set), 3);
    assert_int_equal(mgk_dataset_shape_of(set).vocabulary, 256);
    assert_sample(set, 1, SAMPLE('b', ' ', 'c', ' '), SAMPLE(' ', 'c', ' ', -1));
    mgk_dataset_close(set);
}

/* Reduces N to that of the samples first ... first + count - 1. */
static void fit(mgk_dataset *set, uint64_t first, size_t count)
{
    uint64_t samples[4];
    for (size_t i = 0; i < count; i++)
        samples[i] = first + i;
    mgk_dataset_fit(set, samples, count);
}

/* N is the length of the longest chosen line with its frame; lines longer than the initial N are
 * cut as before. */
static void lines_may_decide_the_length(void **state)
{
    const char *path = write_text(state, "text", "a\nb c\n");
    mgk_tokenizer *tokenizer = framed(state);
    mgk_dataset_options options = text_options(tokenizer, &path);
    options.lines = true;
    for (size_t length = 3; length < 9; length++) {
        int32_t row[N], next[N], count;
        options.length = length;
        mgk_dataset *set = open_ok(&options);
        assert_int_equal(mgk_dataset_shape_of(set).length, length);
        fit(set, 0, 2);
        assert_int_equal(mgk_dataset_shape_of(set).length, length < N ? length : N);
        if (length >= N)
            assert_sample(set, 1, SAMPLE(1, 4, 5, 2), SAMPLE(4, 5, 2, -1));
        assert_ok(mgk_dataset_sample(set, 0, row, &count, next));
        assert_int_equal(count, 3);
        fit(set, 0, 1);
        assert_int_equal(mgk_dataset_shape_of(set).length, 3);
        mgk_dataset_close(set);
    }
    options.tokenizer = NULL; /* bytes */
    mgk_dataset *set = open_ok(&options);
    fit(set, 0, 2);
    assert_int_equal(mgk_dataset_shape_of(set).length, 3);
    mgk_dataset_close(set);
    mgk_tokenizer_close(tokenizer);
}

/* A text shorter than a window has its own length; windows of longer ones have N tokens. */
static void a_short_text_decides_the_length(void **state)
{
    const char *path = write_text(state, "text", "a b c");
    mgk_tokenizer *tokenizer = framed(state);
    mgk_dataset_options options = text_options(tokenizer, &path);
    options.length = 20;
    mgk_dataset *set = open_ok(&options);
    fit(set, 0, 1);
    assert_int_equal(mgk_dataset_shape_of(set).length, 5);
    int32_t row[5], next[5], found;
    assert_ok(mgk_dataset_sample(set, 0, row, &found, next));
    assert_memory_equal(row, ((int32_t[]){1, 3, 4, 5, 2}), sizeof(row));
    assert_memory_equal(next, ((int32_t[]){3, 4, 5, 2, -1}), sizeof(next));
    mgk_dataset_close(set);
    options.length = 3;
    set = open_ok(&options);
    fit(set, 1, 2);
    assert_int_equal(mgk_dataset_shape_of(set).length, 3);
    mgk_dataset_close(set);
    mgk_tokenizer_close(tokenizer);
}

/* At the byte of its file that is the first wrong one; models of bytes read any. */
static void what_is_not_utf8_is_refused(void **state)
{
    enum { LONG = 200000, WRONG = 150001 };
    static char text[LONG];
    for (size_t i = 0; i < LONG; i++)
        text[i] = i % 2 ? ' ' : 'a';
    const char *good = write_text(state, "good", "a b c a b c\n");
    mgk_tokenizer *tokenizer = words(state);
    for (int lines = 0; lines < 2; lines++) {
        const char *paths[] = {good, write_bytes(state, "latin", "a b\nc \xe4 b\n", 10)};
        mgk_dataset_options options = text_options(tokenizer, paths);
        options.path_count = 2;
        options.lines = lines;
        assert_refused(&options, STATUS_FORMAT, "latin: byte 0xe4 at offset 6 is not UTF-8");
        text[WRONG] = (char)0xff;
        write_bytes(state, "latin", text, LONG);
        assert_refused(&options, STATUS_FORMAT, "latin: byte 0xff at offset 150001 is not UTF-8");
        text[WRONG] = ' ';
        write_bytes(state, "latin", "a b c \xe2\x82", 8); /* cut off */
        assert_refused(&options, STATUS_FORMAT, "latin: byte 0xe2 at offset 6");
        options.tokenizer = NULL;
        mgk_dataset_close(open_ok(&options));
    }
    mgk_tokenizer_close(tokenizer);
}

static void text_without_tokens_is_refused(void **state)
{
    const char *path = write_text(state, "text", " \n \n");
    mgk_tokenizer *tokenizer = framed(state);
    mgk_dataset_options options = text_options(tokenizer, &path);
    assert_refused(&options, STATUS_SHAPE, "text: no tokens");
    options.lines = true;
    assert_refused(&options, STATUS_SHAPE, "text: no tokens");
    write_text(state, "text", "");
    assert_refused(&options, STATUS_SHAPE, "text: empty");
    path = path_of(state, "absent");
    assert_refused(&options, STATUS_IO, "absent");
    mgk_tokenizer_close(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(files_are_cut_into_windows),  folder_test(short_text_is_one_padded_sample),
        folder_test(windows_have_their_frame),    folder_test(lines_are_samples),
        folder_test(lines_may_decide_the_length), folder_test(text_without_tokens_is_refused),
        folder_test(what_is_not_utf8_is_refused), folder_test(a_short_text_decides_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
