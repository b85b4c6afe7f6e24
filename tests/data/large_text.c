/* SPDX-License-Identifier: MIT */
/* Only the requested parts of a text too large for memory are read. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/hash.h"
#include "data/datasets/articles.h"
#include "data/datasets/texts.h"
#include "data/fixture.h"

enum { N = 32, MEGABYTE = 1 << 20 };

static const size_t LARGE = (size_t)300 * MEGABYTE;

/* Peak memory of this process, in KiB. */
static long peak(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* A sparse file of zeros with `text` at byte `at`. */
static const char *sparse(void **state, const char *name, size_t size, const char *text, size_t at)
{
    const char *path = write_text(state, name, "");
    int descriptor = open(path, O_WRONLY);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, (off_t)size), 0);
    assert_int_equal(pwrite(descriptor, text, strlen(text), (off_t)at), strlen(text));
    close(descriptor);
    return path;
}

static void windows_are_read_alone(void **state)
{
    static const char text[] = "the last words of a very long text";
    const char *path = sparse(state, "large", LARGE, text, LARGE - sizeof(text) + 1);
    int32_t tokens[N], targets[N], length;
    long before = peak();
    mgk_dataset_options options = options_for(MGK_TASK_LM, &path, N);
    mgk_dataset *train = open_ok(&options);
    options.split = MGK_SPLIT_EVAL;
    mgk_dataset *eval = open_ok(&options);
    assert_ok(mgk_dataset_sample(train, 3, tokens, &length, targets));
    uint64_t size = mgk_dataset_size(eval);
    assert_true(size == (LARGE - 2) / N + 1);
    assert_ok(mgk_dataset_sample(eval, size - 1, tokens, &length, targets));
    assert_int_equal(length, N - 1);
    assert_int_equal(tokens[0], text[sizeof(text) - 1 - N]);
    assert_int_equal(targets[N - 2], text[sizeof(text) - 2]);
    assert_true(peak() - before < 32 * 1024);

    /* A text that has changed gives an error, not another text and no crash. */
    assert_int_equal(truncate(path, MEGABYTE), 0);
    assert_fails(mgk_dataset_sample(eval, 0, tokens, &length, targets), STATUS_FORMAT);
    assert_int_equal(unlink(path), 0);
    assert_fails(mgk_dataset_sample(eval, 0, tokens, &length, targets), STATUS_IO);
    mgk_dataset_close(train);
    mgk_dataset_close(eval);
}

static void articles_are_found_in_pieces(void **state)
{
    static const char text[] = "\n\n = Title = \n\n";
    const char *path = sparse(state, "articles", LARGE, text, LARGE / 2 - 9);
    long before = peak();
    mgk_texts texts = {0};
    mgk_buffer articles = {0};
    assert_ok(mgk_texts_add(&texts, path));
    assert_ok(mgk_split_articles(&texts, 0, 1, &articles));
    const mgk_article *found = (const mgk_article *)(const void *)articles.data;
    assert_int_equal(articles.size, sizeof(*found));
    assert_true(found->start == LARGE / 2 - 7);
    assert_true(found->size == LARGE - found->start);
    assert_true(peak() - before < 32 * 1024);
    mgk_buffer_free(&articles);
    mgk_texts_free(&texts);
}

/* Files in memory and files on disk form one text. */
static void files_are_read_end_to_end(void **state)
{
    const size_t large = (size_t)80 * MEGABYTE;
    char bytes[16];
    static char piece[999983];
    mgk_texts texts = {0};
    assert_ok(mgk_texts_add(&texts, write_text(state, "a", "first")));
    assert_ok(mgk_texts_add(&texts, sparse(state, "b", large, "begins", 0)));
    assert_ok(mgk_texts_add(&texts, write_text(state, "c", "between")));
    assert_ok(mgk_texts_add(&texts, sparse(state, "d", large, "ends", large - 4)));
    assert_ok(mgk_texts_add(&texts, write_text(state, "e", "last")));
    assert_true(texts.size == 2 * large + 16);
    assert_ok(mgk_texts_read(&texts, 3, 9, bytes));
    assert_memory_equal(bytes, "stbegins", 9);
    assert_ok(mgk_texts_read(&texts, 3 + large, 11, bytes));
    assert_memory_equal(bytes, "\0\0between\0", 11);
    assert_ok(mgk_texts_read(&texts, texts.size - 8, 8, bytes));
    assert_memory_equal(bytes, "endslast", 8);
    uint64_t hash = MGK_HASH_START, other = MGK_HASH_START;
    assert_ok(mgk_texts_hash(&texts, &hash));
    for (size_t at = 0; at < texts.size; at += sizeof(piece)) {
        size_t left = texts.size - at, size = left < sizeof(piece) ? left : sizeof(piece);
        assert_ok(mgk_texts_read(&texts, at, size, piece));
        other = mgk_hash(other, piece, size);
    }
    assert_true(hash == other);
    mgk_texts_free(&texts);
}

/* Tokens are encoded again when they are read; windows do not depend on the pieces. */
static void tokens_are_made_again(void **state)
{
    static const char line[] = "a b x c a\n";
    static const char json[] =
        "{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"vocab\":"
        " {\"[UNK]\": 0, \"a\": 1, \"b\": 2, \"c\": 3}},"
        " \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}}";
    static const int32_t expected[] = {1, 2, 0, 3, 1};
    enum { LINES = 8000000, IDS = 5, BYTES = sizeof(line) - 1 };
    const char *path = path_of(state, "words");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < LINES; i++)
        assert_int_equal(fwrite(line, 1, BYTES, file), BYTES);
    assert_int_equal(fclose(file), 0);
    mgk_tokenizer *tokenizer;
    assert_ok(mgk_tokenizer_open(write_text(state, "tokenizer.json", json), &tokenizer));
    mgk_dataset_options options = options_for(MGK_TASK_LM, &path, N);
    options.tokenizer = tokenizer;
    long before = peak();
    mgk_dataset *set = open_ok(&options);
    uint64_t size = mgk_dataset_size(set);
    assert_true(size == (uint64_t)LINES * IDS / N);
    for (uint64_t index = 0; index < size; index += index < 600 ? 1 : 104729) {
        int32_t tokens[N], targets[N], length;
        assert_ok(mgk_dataset_sample(set, index, tokens, &length, targets));
        assert_int_equal(length, N);
        for (uint64_t i = 0; i < N; i++) {
            assert_int_equal(tokens[i], expected[(index * N + i) % IDS]);
            if (index + 1 < size || i + 1 < N)
                assert_int_equal(targets[i], expected[(index * N + i + 1) % IDS]);
        }
    }
    assert_true(peak() - before < 100 * 1024); /* all ids would take more */
    mgk_dataset_close(set);
    mgk_tokenizer_close(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(windows_are_read_alone),
        folder_test(articles_are_found_in_pieces),
        folder_test(files_are_read_end_to_end),
        folder_test(tokens_are_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
