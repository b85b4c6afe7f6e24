/* SPDX-License-Identifier: MIT */
/* Tasks of texts with classes, read through a tokenizer that puts [CLS] and [SEP] around each
 * sequence. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "data/datasets/documents.h"
#include "data/fixture.h"

enum { N = 8, ROOM = N - 2 };

static const char *const words[] = {"walk",  "talk",   "open", "build",  "count", "layer",
                                    "token", "matrix", "rank", "weight", "river", "stone"};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

static mgk_tokenizer *open_framed(void)
{
    mgk_tokenizer *tokenizer;
    assert_ok(mgk_tokenizer_open(MGK_TEST_GOLDEN "/tokenizers/wordpiece-uncased", &tokenizer));
    const mgk_token_frame frame = mgk_tokenizer_frame(tokenizer);
    assert_int_equal(frame.before_count, 1);
    assert_int_equal(frame.after_count, 1);
    return tokenizer;
}

static void encode(const mgk_tokenizer *tokenizer, const char *text, mgk_buffer *ids)
{
    mgk_token_encoder *encoder;
    ids->size = 0;
    assert_ok(mgk_token_encoder_open(tokenizer, &encoder));
    assert_ok(mgk_token_encode(encoder, text, strlen(text), ids));
    mgk_token_encoder_close(encoder);
}

/* A row is [CLS], the first tokens of the text, [SEP] and padding. */
static void assert_row(const mgk_tokenizer *tokenizer, const char *text, const int32_t *row,
                       int32_t length)
{
    const mgk_token_frame frame = mgk_tokenizer_frame(tokenizer);
    mgk_buffer ids = {0};
    encode(tokenizer, text, &ids);
    size_t count = ids.size / sizeof(int32_t);
    count = count < ROOM ? count : ROOM;
    assert_int_equal(length, count + 2);
    assert_int_equal(row[0], frame.before[0]);
    assert_memory_equal(row + 1, ids.data, count * sizeof(*row));
    assert_int_equal(row[count + 1], frame.after[0]);
    for (size_t i = count + 2; i < N; i++)
        assert_int_equal(row[i], -1);
    mgk_buffer_free(&ids);
}

static void reviews_are_cut_within_their_frame(void **state)
{
    static const char *const texts[] = {"walk", "open the layer and count the ranks of the matrix"};
    const char *folder = path_of(state, "reviews");
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(path_of(state, "reviews/neg"), 0700), 0);
    assert_int_equal(mkdir(path_of(state, "reviews/pos"), 0700), 0);
    write_text(state, "reviews/neg/a.txt", texts[0]);
    write_text(state, "reviews/pos/b.txt", texts[1]);
    mgk_tokenizer *tokenizer = open_framed();
    mgk_dataset_options options = options_for(MGK_TASK_TEXT, &folder, N);
    options.tokenizer = tokenizer;
    mgk_dataset *set = open_ok(&options);
    int32_t row[N], length, label;
    assert_true(mgk_dataset_size(set) == 2);
    assert_int_equal(mgk_dataset_shape_of(set).vocabulary, mgk_tokenizer_vocabulary(tokenizer));
    for (int i = 0; i < 2; i++) {
        assert_ok(mgk_dataset_sample(set, (uint64_t)i, row, &length, &label));
        assert_int_equal(label, i);
        assert_row(tokenizer, texts[i], row, length);
    }
    mgk_dataset_close(set);
    options.length = 2;
    assert_refused(&options, STATUS_SHAPE, "length 2 leaves no room for text: 2 special tokens");
    options.length = N;
    write_text(state, "reviews/pos/c.txt", " \n ");
    assert_refused(&options, STATUS_SHAPE, "c.txt: no tokens");
    mgk_tokenizer_close(tokenizer);
}

static void pairs_of_a_table_are_tokens(void **state)
{
    static const char *const texts[] = {"rank and weight", "walk or talk, count or build"};
    char table[200];
    snprintf(table, sizeof(table), "1\ta\tb\t%s\t%s\n0.0\tb\ta\t%s\t%s\n", texts[0], texts[1],
             texts[1], texts[0]);
    const char *path = write_text(state, "pairs.tsv", table);
    mgk_tokenizer *tokenizer = open_framed();
    mgk_dataset_options options = options_for(MGK_TASK_RETRIEVAL, &path, N);
    options.tokenizer = tokenizer;
    mgk_dataset *set = open_ok(&options);
    int32_t row[2 * N], lengths[2], label;
    assert_true(mgk_dataset_size(set) == 2);
    for (int i = 0; i < 2; i++) {
        assert_ok(mgk_dataset_sample(set, (uint64_t)i, row, lengths, &label));
        assert_int_equal(label, i == 0);
        assert_row(tokenizer, texts[i], row, lengths[0]);
        assert_row(tokenizer, texts[!i], row + N, lengths[1]);
    }
    mgk_dataset_close(set);
    write_text(state, "pairs.tsv", "1\ta\tb\tx\t \n");
    assert_refused(&options, STATUS_SHAPE, "pairs.tsv: line 1: no tokens");
    mgk_tokenizer_close(tokenizer);
}

/* Article a has the words a, a + 1 ... of a cycle in turn, so that a passage shows its place. */
static void write_article(void **state, int article, int count, const char **path)
{
    char text[2000] = "", name[8];
    for (int i = 0; i < count; i++) {
        strcat(text, words[article == 0 ? i % 7 : 7 + i % 5]);
        strcat(text, i % 9 == 8 ? "\n" : " ");
    }
    snprintf(name, sizeof(name), "%d", article);
    *path = write_text(state, name, text);
}

static void passages_are_of_tokens(void **state)
{
    const char *paths[3];
    mgk_tokenizer *tokenizer = open_framed();
    const mgk_token_frame frame = mgk_tokenizer_frame(tokenizer);
    mgk_buffer ids = {0};
    int32_t id_of[WORDS], row[2 * N], lengths[2], label;
    for (int w = 0; w < WORDS; w++) {
        encode(tokenizer, words[w], &ids);
        assert_int_equal(ids.size, sizeof(int32_t));
        memcpy(&id_of[w], ids.data, sizeof(int32_t));
    }
    write_article(state, 0, 2 * ROOM, &paths[0]); /* just long enough */
    write_article(state, 1, 100, &paths[1]);
    paths[2] = write_text(state, "short", "walk talk walk talk");
    mgk_dataset_options options = options_for(MGK_TASK_RETRIEVAL, paths, N);
    options.path_count = 3;
    options.article_per_file = true;
    options.tokenizer = tokenizer;
    mgk_dataset *set = open_ok(&options);
    int alike = 0;
    for (uint64_t index = 0; index < 200; index++) {
        int article[2];
        assert_ok(mgk_dataset_sample(set, index, row, lengths, &label));
        for (int s = 0; s < 2; s++) {
            const int32_t *passage = row + s * N;
            int place = 0;
            assert_int_equal(lengths[s], N);
            assert_int_equal(passage[0], frame.before[0]);
            assert_int_equal(passage[N - 1], frame.after[0]);
            while (place < WORDS && id_of[place] != passage[1])
                place++;
            article[s] = place >= 7;
            for (int i = 0; i < ROOM; i++)
                assert_int_equal(passage[1 + i],
                                 id_of[article[s] ? 7 + (place - 7 + i) % 5 : (place + i) % 7]);
        }
        assert_int_equal(label, article[0] == article[1]);
        alike += label;
    }
    assert_int_equal(alike, 100);
    mgk_dataset_close(set);
    options.length = 40;
    assert_refused(&options, STATUS_SHAPE, "1 article of at least 76 tokens");
    mgk_buffer_free(&ids);
    mgk_tokenizer_close(tokenizer);
}

/* What is learnt of a table counts each text once. */
static void tokenizers_are_learnt_from_every_task(void **state)
{
    const char *table = write_text(state, "pairs.tsv",
                                   "1\ta\tb\tone one two\tthree three three\n"
                                   "0\tb\tb\tthree three three\tthree three three\n"
                                   "1\ta\tc\tone one two\tone four\n");
    mgk_dataset_options options = options_for(MGK_TASK_RETRIEVAL, &table, N);
    char *text;
    assert_ok(mgk_dataset_learn(&options, MGK_LEARN_SPLIT_WORDS, 6, &text));
    assert_string_equal(text, "<eos>\n<unk>\none\nthree\nfour\ntwo\n");
    mgk_free(text);
    const char *article = write_text(state, "article", "b a b");
    options.paths = &article;
    assert_ok(mgk_dataset_learn(&options, MGK_LEARN_SPLIT_WORDS, 6, &text));
    assert_string_equal(text, "<eos>\n<unk>\nb\na\n");
    mgk_free(text);
    mgk_dataset_options lists = options_for(MGK_TASK_LISTOPS, NULL, N);
    assert_fails(mgk_dataset_learn(&lists, MGK_LEARN_BPE, 300, &text), STATUS_USAGE);
}

/* Ids of one, two and four bytes, texts of no bytes, and texts that are there already. */
static void documents_keep_ids_of_any_width(void **state)
{
    static const int sizes[] = {200, 70000};
    (void)state;
    for (int k = 0; k < 3; k++) {
        char *list = NULL;
        mgk_tokenizer *tokenizer = NULL;
        mgk_documents documents;
        size_t index;
        int32_t row[3], length;
        const int last = k == 0 ? 'z' : sizes[k - 1] - 1;
        if (k > 0) {
            const size_t room = (size_t)sizes[k - 1] * 8 + 20;
            size_t used = 6;
            assert_ok(mgk_alloc(room, 1, &list));
            strcpy(list, "<unk>\n");
            for (int i = 1; i < sizes[k - 1]; i++)
                used += (size_t)snprintf(list + used, room - used, "w%d\n", i);
            assert_ok(mgk_tokenizer_open_text(list, &tokenizer));
        }
        char text[20];
        snprintf(text, sizeof(text), k == 0 ? "az" : "w97 w%d", last);
        assert_ok(mgk_documents_open(tokenizer, 3, &documents));
        assert_ok(mgk_documents_find(&documents, text, strlen(text), &index));
        assert_int_equal(index, 0);
        assert_ok(mgk_documents_find(&documents, "b", 1, &index));
        assert_int_equal(index, 1);
        assert_ok(mgk_documents_find(&documents, text, strlen(text), &index));
        assert_int_equal(index, 0);
        mgk_documents_row(&documents, 0, 3, row, &length);
        assert_int_equal(length, 2);
        assert_int_equal(row[0], 97);
        assert_int_equal(row[1], last);
        assert_int_equal(row[2], -1);
        mgk_documents_close(&documents);
        mgk_tokenizer_close(tokenizer);
        mgk_free(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(reviews_are_cut_within_their_frame),
        folder_test(pairs_of_a_table_are_tokens),
        folder_test(passages_are_of_tokens),
        folder_test(tokenizers_are_learnt_from_every_task),
        folder_test(documents_keep_ids_of_any_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
