/* SPDX-License-Identifier: MIT */
/* Tokenizers against the reference: every id of every string in tests/golden/tokenizers, which
 * tests/golden/tokenizer.py and tokenizer_families.py make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/datasets/lines.h"
#include "data/tokenizers/tokenizer.h"
#include "test.h"

enum { MOST_STRINGS = 1000, LEAST_STRINGS = 300 };

static const char top[] = MGK_TEST_GOLDEN "/tokenizers";

/* A tokenizer: the folder with its ids.txt, and the file to open; "": the folder itself. */
static const struct {
    const char *kind, *file;
    bool cut; /* texts can be cut */
} rows[] = {
    {"wordpiece-uncased", "", true},
    {"wordpiece-uncased", "vocab.txt", true},
    {"wordpiece-cased", "tokenizer.json", true},
    {"wordpiece-cased", "vocab.txt", true},
    {"mpnet", "tokenizer.json", true},
    {"mpnet", "vocab.txt", true},
    {"gpt2", "tokenizer.json", true},
    {"gpt2", "vocab.json", true},
    {"gpt2", "merges.txt", true},
    {"opt", "tokenizer.json", true},
    {"opt", "vocab.json", true},
    {"roberta", "tokenizer.json", true},
    {"roberta", "vocab.json", true},
    {"llama3", "tokenizer.json", true},
    {"qwen", "tokenizer.json", true},
    {"word-level", "tokenizer.json", true},
    {"added", "tokenizer.json", false},
    {"steps", "tokenizer.json", false},
    {"steps-llama", "tokenizer.json", false},
    {"steps-t5", "tokenizer.json", false},
    {"phi", "tokenizer.json", false},
    {"gpt-neox", "tokenizer.json", false},
    {"bloom", "tokenizer.json", false},
    {"falcon", "tokenizer.json", false},
    {"modernbert", "tokenizer.json", false},
    {"whisper", "tokenizer.json", true},
    {"clip", "tokenizer.json", false},
    {"llama", "tokenizer.json", true},
    {"llama", "tokenizer.model", true},
    {"llama-legacy", "tokenizer.json", false},
    {"gemma", "tokenizer.json", true},
    {"gemma", "tokenizer.model", true},
    {"t5", "tokenizer.json", true},
    {"t5", "spiece.model", true},
    {"flan-t5", "tokenizer.json", true},
    {"albert", "tokenizer.json", true},
    {"albert", "spiece.model", true},
    {"xlm-roberta", "tokenizer.json", true},
    {"xlm-roberta", "sentencepiece.bpe.model", true},
    {"camembert", "tokenizer.json", true},
    {"camembert", "sentencepiece.bpe.model", true},
    {"deberta-v2", "tokenizer.json", false},
    {"deberta-v2", "spm.model", false},
    {"pieces-unigram", "", false},
    {"pieces-bpe", "", false},
    {"marian", "", false},
    {"llama2c", "tokenizer.bin", false},
    {"esm", "", true},
    {"esm", "vocab.txt", true},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static mgk_buffer strings[MOST_STRINGS];
static size_t string_count;

static mgk_mapping map(const char *name)
{
    char path[512];
    mgk_mapping file;
    snprintf(path, sizeof(path), "%s/%s", top, name);
    assert_ok(mgk_map_file(path, &file));
    return file;
}

/* Undoes \xHH. */
static void append_unescaped(mgk_span line, mgk_buffer *out)
{
    for (size_t i = 0; i < line.size; i++) {
        unsigned char byte = (unsigned char)line.data[i];
        if (byte == '\\') {
            char digits[3] = {line.data[i + 2], line.data[i + 3], '\0'};
            byte = (unsigned char)strtoul(digits, NULL, 16);
            i += 3;
        }
        assert_ok(mgk_buffer_append(out, &byte, 1));
    }
}

static int read_strings(void **state)
{
    (void)state;
    mgk_mapping file = map("strings.txt");
    mgk_lines lines = {.rest = {(const char *)file.data, file.size}};
    mgk_span line;
    while (mgk_next_line(&lines, &line)) {
        assert_true(string_count < MOST_STRINGS);
        append_unescaped(line, &strings[string_count++]);
    }
    mgk_unmap_file(&file);
    return string_count < LEAST_STRINGS;
}

static int free_strings(void **state)
{
    (void)state;
    for (size_t i = 0; i < string_count; i++)
        mgk_buffer_free(&strings[i]);
    return 0;
}

/* Reads the numbers of a line up to "|". */
static size_t read_ids(mgk_span *line, int32_t *ids, size_t most)
{
    mgk_span word;
    size_t count = 0;
    while (mgk_next_word(line, &word) && !mgk_span_equals(word, "|")) {
        assert_true(count < most);
        ids[count++] = (int32_t)strtol(word.data, NULL, 10);
    }
    return count;
}

static void assert_frame(const mgk_tokenizer *tokenizer, mgk_span line)
{
    int32_t ids[8];
    mgk_token_frame frame = mgk_tokenizer_frame(tokenizer);
    assert_int_equal(read_ids(&line, ids, 8), frame.before_count);
    if (frame.before_count > 0)
        assert_memory_equal(ids, frame.before, frame.before_count * sizeof(*ids));
    assert_int_equal(read_ids(&line, ids, 8), frame.after_count);
    if (frame.after_count > 0)
        assert_memory_equal(ids, frame.after, frame.after_count * sizeof(*ids));
}

static int differs(size_t number, mgk_token_encoder *encoder, mgk_span line)
{
    static int32_t expected[8192];
    mgk_buffer ids = {0};
    const mgk_buffer *string = &strings[number];
    size_t count = read_ids(&line, expected, 8192);
    assert_ok(mgk_token_encode(encoder, (const char *)string->data, string->size, &ids));
    const int32_t *found = (const int32_t *)(const void *)ids.data;
    int same = ids.size == count * sizeof(*expected) &&
               (count == 0 || memcmp(found, expected, ids.size) == 0);
    if (!same) {
        print_error("string %zu: %.40s:", number + 1, (const char *)string->data);
        for (size_t i = 0; i < ids.size / sizeof(*found) && i < 16; i++)
            print_error(" %d", found[i]);
        print_error("; expected");
        for (size_t i = 0; i < count && i < 16; i++)
            print_error(" %d", expected[i]);
        print_error("\n");
    }
    mgk_buffer_free(&ids);
    return !same;
}

/* A string has the same ids if it is cut at any allowed position; returns the number of
 * positions. */
static size_t cut_everywhere(const mgk_tokenizer *tokenizer, mgk_token_encoder *encoder,
                             const mgk_buffer *string)
{
    const char *text = (const char *)string->data;
    mgk_buffer whole = {0}, parts = {0};
    size_t cuts = 0;
    assert_ok(mgk_token_encode(encoder, text, string->size, &whole));
    size_t size = string->size, at;
    for (; (at = mgk_tokenizer_cut(tokenizer, text, size)) > 0; cuts++) {
        parts.size = 0;
        assert_ok(mgk_token_encode(encoder, text, at, &parts));
        assert_ok(mgk_token_encode(encoder, text + at, string->size - at, &parts));
        assert_int_equal(parts.size, whole.size);
        if (whole.size > 0)
            assert_memory_equal(parts.data, whole.data, whole.size);
        size = at == size ? at - 1 : at; /* a line may end the text */
    }
    mgk_buffer_free(&whole);
    mgk_buffer_free(&parts);
    return cuts;
}

static mgk_tokenizer *open_row(size_t row)
{
    char path[512];
    mgk_tokenizer *tokenizer;
    snprintf(path, sizeof(path), "%s/%s/%s", top, rows[row].kind, rows[row].file);
    assert_ok(mgk_tokenizer_open(path, &tokenizer));
    return tokenizer;
}

/* Opens what a model would carry. */
static mgk_tokenizer *open_carried(size_t row)
{
    char path[512], *text;
    mgk_tokenizer *tokenizer;
    snprintf(path, sizeof(path), "%s/%s/%s", top, rows[row].kind, rows[row].file);
    assert_ok(mgk_tokenizer_text_of(path, &text));
    assert_ok(mgk_tokenizer_open_text(text, &tokenizer));
    mgk_free(text);
    return tokenizer;
}

static void texts_are_cut_without_a_trace(void **state)
{
    (void)state;
    for (size_t row = 0; row < ROWS; row++) {
        size_t cuts = 0;
        mgk_token_encoder *encoder;
        mgk_tokenizer *tokenizer = open_row(row);
        assert_ok(mgk_token_encoder_open(tokenizer, &encoder));
        for (size_t i = 0; i < string_count; i++)
            cuts += cut_everywhere(tokenizer, encoder, &strings[i]);
        print_message("%s/%s: %zu cuts\n", rows[row].kind, rows[row].file, cuts);
        if (rows[row].cut ? cuts < 100 : cuts > 0)
            fail_msg("expected %s", rows[row].cut ? "more" : "none");
        mgk_token_encoder_close(encoder);
        mgk_tokenizer_close(tokenizer);
    }
}

/* Whether the tokenizer reads the string as the reference does. */
static bool is_comparable(const mgk_tokenizer *tokenizer, const mgk_buffer *string)
{
    return !mgk_tokenizer_keeps_bytes(tokenizer) ||
           mgk_utf8_valid((const char *)string->data, string->size) == string->size;
}

/* Compares the ids with KIND/ids.txt; returns the number of strings that differ. */
static int compare(size_t row, mgk_tokenizer *(*open)(size_t row))
{
    char name[128];
    int differences = 0;
    mgk_token_encoder *encoder;
    mgk_span line;
    snprintf(name, sizeof(name), "%s/ids.txt", rows[row].kind);
    mgk_mapping reference = map(name);
    mgk_lines lines = {.rest = {(const char *)reference.data, reference.size}};
    mgk_tokenizer *tokenizer = open(row);
    assert_ok(mgk_token_encoder_open(tokenizer, &encoder));
    assert_true(mgk_next_line(&lines, &line));
    assert_frame(tokenizer, line);
    for (size_t i = 0; i < string_count; i++) {
        assert_true(mgk_next_line(&lines, &line));
        if (is_comparable(tokenizer, &strings[i]))
            differences += differs(i, encoder, line);
    }
    assert_false(mgk_next_line(&lines, &line));
    mgk_token_encoder_close(encoder);
    mgk_tokenizer_close(tokenizer);
    mgk_unmap_file(&reference);
    return differences;
}

static void compare_all(mgk_tokenizer *(*open)(size_t row))
{
    int differences = 0;
    for (size_t row = 0; row < ROWS; row++) {
        int found = compare(row, open);
        if (found > 0)
            print_error("%s/%s: %d of %zu strings differ\n", rows[row].kind, rows[row].file, found,
                        string_count);
        differences += found;
    }
    assert_int_equal(differences, 0);
}

static void ids_are_those_of_the_reference(void **state)
{
    (void)state;
    compare_all(open_row);
}

static void carried_tokenizers_are_the_same(void **state)
{
    (void)state;
    compare_all(open_carried);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_those_of_the_reference),
        cmocka_unit_test(carried_tokenizers_are_the_same),
        cmocka_unit_test(texts_are_cut_without_a_trace),
    };
    return cmocka_run_group_tests(tests, read_strings, free_strings);
}
