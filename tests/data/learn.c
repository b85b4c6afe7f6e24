/* SPDX-License-Identifier: MIT */
/* Learnt tokenizers: against the trainers of Hugging Face's `tokenizers`, whose results for a small
 * text tests/golden/learnt.py writes, and against a plain transcription of the rules. */
#include "data/tokenizers/learn.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/datasets/lines.h"
#include "data/tokenizer_case.h"

static char *learn(mgk_learnt kind, const char *text, size_t size, size_t vocabulary)
{
    mgk_learner *learner;
    char *out;
    assert_ok(mgk_learner_open(kind, &learner));
    assert_ok(mgk_learner_add(learner, text, size));
    assert_ok(mgk_learner_finish(learner, vocabulary, &out));
    mgk_learner_close(learner);
    return out;
}

static const cJSON *member(const cJSON *tree, const char *name)
{
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(tree, "model");
    return cJSON_GetObjectItemCaseSensitive(model, name);
}

/* Each line of the file is the next token of the vocabulary. */
static void assert_tokens(const cJSON *tree, const char *name)
{
    char path[512];
    mgk_mapping file;
    mgk_span line;
    snprintf(path, sizeof(path), "%s/learnt/%s", MGK_TEST_GOLDEN, name);
    assert_ok(mgk_map_file(path, &file));
    mgk_lines lines = {.rest = {(const char *)file.data, file.size}};
    const cJSON *token = member(tree, "vocab")->child;
    int id = 0;
    for (; mgk_next_line(&lines, &line); token = token->next) {
        assert_non_null(token);
        assert_true(mgk_span_equals(line, token->string));
        assert_int_equal(token->valueint, id++);
    }
    assert_null(token);
    assert_true(id > 50);
    mgk_unmap_file(&file);
}

static void assert_merges(const cJSON *tree)
{
    mgk_mapping file;
    mgk_span line;
    assert_ok(mgk_map_file(MGK_TEST_GOLDEN "/learnt/merges.txt", &file));
    mgk_lines lines = {.rest = {(const char *)file.data, file.size}};
    const cJSON *merge = member(tree, "merges")->child;
    for (; mgk_next_line(&lines, &line); merge = merge->next) {
        assert_non_null(merge);
        assert_true(mgk_span_equals(line, merge->valuestring));
    }
    assert_null(merge);
    mgk_unmap_file(&file);
}

static void the_trainers_of_tokenizers_learn_the_same(void **state)
{
    (void)state;
    mgk_mapping file;
    assert_ok(mgk_map_file(MGK_TEST_GOLDEN "/learnt/text.txt", &file));
    const char *text = (const char *)file.data;
    char *bpe = learn(MGK_LEARN_BPE, text, file.size, 400);
    char *words = learn(MGK_LEARN_WORDS, text, file.size, 60);
    cJSON *tree = cJSON_Parse(bpe);
    assert_tokens(tree, "tokens.txt");
    assert_merges(tree);
    cJSON_Delete(tree);
    tree = cJSON_Parse(words);
    assert_tokens(tree, "words.txt");
    cJSON_Delete(tree);
    mgk_free(bpe);
    mgk_free(words);
    mgk_unmap_file(&file);
}

/* Cutting a text where that is allowed changes no counts. */
static void texts_may_be_cut(void **state)
{
    (void)state;
    static const mgk_learnt kinds[] = {MGK_LEARN_BPE, MGK_LEARN_WORDS, MGK_LEARN_SPLIT_WORDS};
    static const size_t sizes[] = {300, 70, 60};
    mgk_mapping file;
    assert_ok(mgk_map_file(MGK_TEST_GOLDEN "/learnt/text.txt", &file));
    for (int k = 0; k < 3; k++) {
        mgk_learner *learner;
        char *whole = learn(kinds[k], (const char *)file.data, file.size, sizes[k]), *parts;
        size_t cuts = 0;
        assert_ok(mgk_learner_open(kinds[k], &learner));
        for (size_t at = 0, size; at < file.size; at += size, cuts++) {
            const char *text = (const char *)file.data + at;
            const size_t left = file.size - at, wanted = left < 200 ? left : 200;
            size = wanted < left ? mgk_tokenizer_cut(mgk_learner_cutter(learner), text, wanted) : 0;
            size = size > 0 ? size : left;
            assert_ok(mgk_learner_add(learner, text, size));
        }
        assert_true(cuts > 5);
        assert_ok(mgk_learner_finish(learner, sizes[k], &parts));
        assert_string_equal(whole, parts);
        mgk_learner_close(learner);
        mgk_free(whole);
        mgk_free(parts);
    }
    mgk_unmap_file(&file);
}

/* ---- merges by recounting all pairs at each step ---- */

enum { WORDS = 200, LONGEST = 12, LETTERS = 8, MERGES = 120 };

typedef struct plain {
    int symbols[WORDS][LONGEST], length[WORDS];
    char tokens[256 + MERGES][LONGEST + 1];
    int token_count;
} plain;

/* The id of a letter among the 256 bytes: printable ones come first, from '!' on. */
static int id_of_letter(char letter)
{
    return letter - '!';
}

static int count_pair(const plain *p, int left, int right)
{
    int count = 0;
    for (int w = 0; w < WORDS; w++)
        for (int i = 0; i + 1 < p->length[w]; i++)
            count += p->symbols[w][i] == left && p->symbols[w][i + 1] == right;
    return count;
}

/* Finds the most frequent pair, the first in order of equal ones; returns its count. */
static int best_pair(const plain *p, int pair[2])
{
    int best = 0;
    for (int w = 0; w < WORDS; w++)
        for (int i = 0; i + 1 < p->length[w]; i++) {
            const int left = p->symbols[w][i], right = p->symbols[w][i + 1];
            const int count = count_pair(p, left, right);
            if (count > best ||
                (count == best && (left < pair[0] || (left == pair[0] && right < pair[1])))) {
                best = count;
                pair[0] = left;
                pair[1] = right;
            }
        }
    return best;
}

static void merge_pair(plain *p, const int pair[2])
{
    const int id = p->token_count++;
    char joined[2 * sizeof(p->tokens[0])];
    snprintf(joined, sizeof(joined), "%s%s", p->tokens[pair[0]], p->tokens[pair[1]]);
    memcpy(p->tokens[id], joined, sizeof(p->tokens[id]));
    for (int w = 0; w < WORDS; w++) {
        int length = 0;
        for (int i = 0; i < p->length[w]; i++, length++) {
            const bool both = i + 1 < p->length[w] && p->symbols[w][i] == pair[0] &&
                              p->symbols[w][i + 1] == pair[1];
            p->symbols[w][length] = both ? id : p->symbols[w][i];
            i += both;
        }
        p->length[w] = length;
    }
}

/* Random words, each a text of its own, so that no space belongs to them. */
static void draw_words(plain *p, uint64_t seed, mgk_learner *learner)
{
    mgk_random random = {seed, 1, 0};
    p->token_count = 256;
    for (char letter = 'a'; letter < 'a' + LETTERS; letter++)
        snprintf(p->tokens[id_of_letter(letter)], 2, "%c", letter);
    for (int w = 0; w < WORDS; w++) {
        char word[LONGEST];
        p->length[w] = 1 + (int)mgk_random_next_below(&random, LONGEST);
        for (int i = 0; i < p->length[w]; i++) {
            word[i] = (char)('a' + (int)mgk_random_next_below(&random, LETTERS));
            p->symbols[w][i] = id_of_letter(word[i]);
        }
        assert_ok(mgk_learner_add(learner, word, (size_t)p->length[w]));
    }
}

static void merges_are_those_of_a_plain_transcription(void **state)
{
    (void)state;
    static plain p;
    for (uint64_t seed = 0; seed < 5; seed++) {
        mgk_learner *learner;
        char *text, expected[2 * sizeof(p.tokens[0])];
        int pair[2];
        assert_ok(mgk_learner_open(MGK_LEARN_BPE, &learner));
        draw_words(&p, seed, learner);
        assert_ok(mgk_learner_finish(learner, 256 + MERGES, &text));
        cJSON *tree = cJSON_Parse(text);
        const cJSON *merge = member(tree, "merges")->child;
        int merges = 0;
        for (; merges < MERGES && best_pair(&p, pair) >= 2; merges++, merge = merge->next) {
            assert_non_null(merge);
            snprintf(expected, sizeof(expected), "%s %s", p.tokens[pair[0]], p.tokens[pair[1]]);
            assert_string_equal(merge->valuestring, expected);
            merge_pair(&p, pair);
        }
        assert_null(merge);
        assert_true(merges > 50);
        cJSON_Delete(tree);
        mgk_free(text);
        mgk_learner_close(learner);
    }
}

static void lists_of_words_end_lines(void **state)
{
    (void)state;
    static const char text[] = "b a\tb\n\nc <unk> a b <eos>\r\nZ \xc3\xa9";
    char *list = learn(MGK_LEARN_SPLIT_WORDS, text, sizeof(text) - 1, 6);
    assert_string_equal(list, "<eos>\n<unk>\nb\na\nZ\nc\n");
    mgk_tokenizer *tokenizer;
    assert_ok(mgk_tokenizer_open_text(list, &tokenizer));
    assert_encoded(tokenizer, "b a c\n\nd <unk> Z", 2, 3, 5, 0, 0, 1, 1, 4, 0);
    mgk_tokenizer_close(tokenizer);
    mgk_free(list);
}

static void words_are_lower_case_and_without_signs(void **state)
{
    (void)state;
    static const char text[] = "The the THE, cat; a cat.";
    char *json = learn(MGK_LEARN_WORDS, text, sizeof(text) - 1, 5);
    mgk_tokenizer *tokenizer;
    assert_ok(mgk_tokenizer_open_text(json, &tokenizer));
    assert_int_equal(mgk_tokenizer_vocabulary(tokenizer), 5);
    /* <unk>, the, cat, and of those that occur once the smallest: "," and "." */
    assert_encoded(tokenizer, "the Cat, dog . <unk>;", 1, 2, 3, 0, 4, 0, 0);
    assert_string_equal(mgk_tokenizer_text(tokenizer, 2), "cat");
    mgk_tokenizer_close(tokenizer);
    mgk_free(json);
}

/* Without merges there is a token for each byte, and none that stands for all that is no text. */
static void bytes_that_are_not_text_stay(void **state)
{
    (void)state;
    unsigned char text[1024];
    int32_t id_of[256];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (unsigned char)(i * 37 + i / 256);
    char *json = learn(MGK_LEARN_BPE, (const char *)text, sizeof(text), 256);
    mgk_tokenizer *tokenizer;
    mgk_token_encoder *encoder;
    mgk_buffer ids = {0};
    assert_ok(mgk_tokenizer_open_text(json, &tokenizer));
    assert_true(mgk_tokenizer_keeps_bytes(tokenizer));
    assert_ok(mgk_token_encoder_open(tokenizer, &encoder));
    assert_ok(mgk_token_encode(encoder, (const char *)text, sizeof(text), &ids));
    const int32_t *id = (const int32_t *)(const void *)ids.data;
    assert_int_equal(ids.size / sizeof(*id), sizeof(text));
    for (int byte = 0; byte < 256; byte++)
        for (size_t i = 0; i < sizeof(text); i++)
            if (text[i] == byte)
                id_of[byte] = id[i];
    for (size_t i = 0; i < sizeof(text); i++)
        for (int byte = 0; byte < 256; byte++)
            assert_int_equal(id_of[byte] == id[i], text[i] == byte);
    mgk_buffer_free(&ids);
    mgk_token_encoder_close(encoder);
    mgk_tokenizer_close(tokenizer);
    mgk_free(json);
}

/* No file of words holds a zero byte: such a word is unknown. */
static void words_with_zeros_are_unknown(void **state)
{
    (void)state;
    static const char text[] = "a\0b \0 a\0b a\0c x x";
    for (mgk_learnt kind = MGK_LEARN_WORDS; kind <= MGK_LEARN_SPLIT_WORDS; kind++) {
        char *out = learn(kind, text, sizeof(text) - 1, 100);
        mgk_tokenizer *tokenizer;
        assert_ok(mgk_tokenizer_open_text(out, &tokenizer));
        assert_in_range(mgk_tokenizer_vocabulary(tokenizer), 2, 5);
        mgk_tokenizer_close(tokenizer);
        mgk_free(out);
    }
}

/* A run of one letter makes no tokens of its length, and a word of it none at all. */
static void long_runs_make_no_long_tokens(void **state)
{
    (void)state;
    enum { RUN = 100000, MOST_BYTES = 4096 };
    char *run, *text;
    assert_ok(mgk_alloc(RUN, 1, &run));
    memset(run, 'a', RUN);
    text = learn(MGK_LEARN_BPE, run, RUN, 1000);
    cJSON *tree = cJSON_Parse(text);
    size_t longest = 0;
    for (const cJSON *token = member(tree, "vocab")->child; token; token = token->next)
        longest = strlen(token->string) > longest ? strlen(token->string) : longest;
    assert_in_range(longest, MOST_BYTES / 2 + 1, MOST_BYTES);
    cJSON_Delete(tree);
    mgk_free(text);
    text = learn(MGK_LEARN_SPLIT_WORDS, run, RUN, 100);
    assert_string_equal(text, "<eos>\n<unk>\n");
    mgk_free(text);
    mgk_free(run);
}

static void odd_texts_and_sizes(void **state)
{
    (void)state;
    mgk_learner *learner;
    char *text;
    assert_ok(mgk_learner_open(MGK_LEARN_BPE, &learner));
    assert_fails(mgk_learner_finish(learner, 255, &text), STATUS_USAGE);
    assert_fails(mgk_learner_finish(learner, (1 << 20) + 1, &text), STATUS_USAGE);
    assert_ok(mgk_learner_finish(learner, 256, &text)); /* of no text */
    mgk_free(text);
    assert_ok(mgk_learner_add(learner, "word", 4)); /* whose pairs occur once */
    assert_ok(mgk_learner_finish(learner, 1000, &text));
    mgk_tokenizer *tokenizer;
    assert_ok(mgk_tokenizer_open_text(text, &tokenizer));
    assert_int_equal(mgk_tokenizer_vocabulary(tokenizer), 256);
    mgk_tokenizer_close(tokenizer);
    mgk_free(text);
    mgk_learner_close(learner);
    assert_ok(mgk_learner_open(MGK_LEARN_WORDS, &learner));
    assert_fails(mgk_learner_finish(learner, 1, &text), STATUS_USAGE);
    assert_ok(mgk_learner_finish(learner, 2, &text));
    mgk_free(text);
    mgk_learner_close(learner);
}

static void texts_of_no_tokenizer_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "{",
                                        "{\"model\":{}}",
                                        "[]",
                                        "a\nb\n",
                                        "a\n\n<unk>",
                                        "{\"files\":{}}",
                                        "{\"files\":{\"vocab.txt\":\"?\"}}",
                                        "{\"files\":{\"vocab.txt\":\"\"}}",
                                        "{\"files\":{\"vocab.txt\":7}}",
                                        "{\"files\":{\"vocab.json\":\"eyJhIjowfQ==\"}}",
                                        "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        mgk_tokenizer *tokenizer;
        assert_int_not_equal(mgk_tokenizer_open_text(texts[i], &tokenizer), STATUS_OK);
        assert_null(tokenizer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trainers_of_tokenizers_learn_the_same),
        cmocka_unit_test(texts_may_be_cut),
        cmocka_unit_test(merges_are_those_of_a_plain_transcription),
        cmocka_unit_test(lists_of_words_end_lines),
        cmocka_unit_test(words_are_lower_case_and_without_signs),
        cmocka_unit_test(bytes_that_are_not_text_stay),
        cmocka_unit_test(words_with_zeros_are_unknown),
        cmocka_unit_test(long_runs_make_no_long_tokens),
        cmocka_unit_test(odd_texts_and_sizes),
        cmocka_unit_test(texts_of_no_tokenizer_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
