/* SPDX-License-Identifier: MIT */
#include "data/fixture.h"

#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "data/datasets/articles.h"

enum { N = 8, ARTICLES = 5 };

static void title_cases(void **state)
{
    static const char text[] = "lost \n"
                               "\n"
                               " = One = \n"
                               "\n"
                               " = = Section = = \n"
                               "\n"
                               " body \n"
                               " = formula = \n" /* within a paragraph */
                               " body \n"
                               " \n"
                               " = Two = 2 = \n"
                               " \n"
                               "body\n"
                               "\n"
                               " = No end =\n"
                               "\n"
                               "= No space = \n"
                               "\n"
                               " = = Half = \n"
                               "\n"
                               " =  = \n"
                               "\n"
                               " = Three = \n";
    mgk_texts whole = {0};
    mgk_buffer articles = {0};
    write_text(state, "articles.txt", text);
    assert_ok(mgk_texts_add(&whole, path_of(state, "articles.txt")));
    assert_ok(mgk_split_articles(&whole, 0, 1, &articles));
    assert_int_equal(articles.size, 3 * sizeof(mgk_article));
    const mgk_article *found = (const mgk_article *)(const void *)articles.data;
    size_t one = (size_t)(strstr(text, " = One") - text);
    size_t two = (size_t)(strstr(text, " = Two") - text);
    size_t three = (size_t)(strstr(text, " = Three") - text);
    assert_int_equal(found[0].start, one);
    assert_int_equal(found[0].size, two - one);
    assert_int_equal(found[1].start, two);
    assert_int_equal(found[1].size, three - two);
    assert_int_equal(found[2].start, three);
    assert_int_equal(found[2].size, sizeof(text) - 1 - three);

    /* Shorter articles are left out; a text may begin anywhere. */
    articles.size = 0;
    assert_ok(mgk_split_articles(&whole, 0, sizeof(text), &articles));
    assert_int_equal(articles.size, 0);
    assert_ok(mgk_split_articles(&whole, two, 1, &articles));
    assert_int_equal(articles.size, 2 * sizeof(mgk_article));
    mgk_texts_free(&whole);
    mgk_buffer_free(&articles);
}

/* Five files, article a with 16 + 5a different bytes: byte i is 48 a + i. The smallest is exactly
 * two passages long; one more file is one byte too short. */
static mgk_dataset_options article_files(void **state, const char *paths[ARTICLES + 1])
{
    static const char *const names[] = {"0", "1", "2", "3", "4", "short"};
    for (size_t a = 0; a <= ARTICLES; a++) {
        unsigned char bytes[48];
        size_t size = a < ARTICLES ? 2 * N + 5 * a : 2 * N - 1;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)(48 * a + i);
        paths[a] = write_bytes(state, names[a], bytes, size);
    }
    mgk_dataset_options options = options_for(MGK_TASK_RETRIEVAL, paths, N);
    options.path_count = ARTICLES + 1;
    options.article_per_file = true;
    return options;
}

/* Finds article and place of a passage; its bytes must be consecutive. */
static void locate(const int32_t *tokens, int *article, int *place)
{
    *article = tokens[0] / 48;
    *place = tokens[0] % 48;
    for (int i = 1; i < N; i++)
        assert_int_equal(tokens[i], tokens[0] + i);
    assert_in_range(*article, 0, ARTICLES - 1);
    assert_in_range(*place, 0, N + 5 * *article);
}

static void pairs_are_balanced_and_do_not_overlap(void **state)
{
    const char *paths[ARTICLES + 1];
    mgk_dataset_options options = article_files(state, paths);
    mgk_dataset *pairs = open_ok(&options);
    mgk_dataset_shape shape = mgk_dataset_shape_of(pairs);
    assert_int_equal(shape.sequences, 2);
    assert_int_equal(shape.classes, 2);
    assert_true(mgk_dataset_size(pairs) == 0);
    int first_is_positive = 0;
    for (uint64_t k = 0; k < 2000; k++) {
        int positives = 0;
        for (uint64_t i = 0; i < 2; i++) {
            int32_t tokens[2 * N], lengths[2], label;
            int article[2], place[2];
            assert_ok(mgk_dataset_sample(pairs, 2 * k + i, tokens, lengths, &label));
            for (int s = 0; s < 2; s++) {
                assert_int_equal(lengths[s], N);
                locate(tokens + s * N, &article[s], &place[s]);
            }
            assert_int_equal(label, article[0] == article[1]);
            if (label)
                assert_true(place[0] + N <= place[1] || place[1] + N <= place[0]);
            positives += label;
            first_is_positive += i == 0 && label;
        }
        assert_int_equal(positives, 1);
    }
    assert_close(first_is_positive, 1000, 112, 0);
    mgk_dataset_close(pairs);
}

/* Leak test: articles and places have the same distribution in each class and in both passages. */
static void a_passage_alone_does_not_tell_the_label(void **state)
{
    enum { PAIRS = 40000, PLACES = N + 5 * (ARTICLES - 1) + 1 };
    const char *paths[ARTICLES + 1];
    mgk_dataset_options options = article_files(state, paths);
    mgk_dataset *pairs = open_ok(&options);
    static int counts[2][2][ARTICLES][PLACES];
    for (uint64_t index = 0; index < PAIRS; index++) {
        int32_t tokens[2 * N], lengths[2], label;
        assert_ok(mgk_dataset_sample(pairs, index, tokens, lengths, &label));
        for (int s = 0; s < 2; s++) {
            int article, place;
            locate(tokens + s * N, &article, &place);
            counts[label][s][article][place]++;
        }
    }
    for (int article = 0; article < ARTICLES; article++) {
        for (int place = 0; place < PLACES; place++) {
            double a = counts[0][0][article][place];
            for (int other = 1; other < 4; other++) {
                double b = counts[other / 2][other % 2][article][place];
                /* A difference of two Poisson counts: five standard deviations. */
                assert_close(a, b, 5 * sqrt(a + b) + 1, 0);
            }
        }
    }
    mgk_dataset_close(pairs);
}

static void evaluation_is_fixed_and_differs_from_training(void **state)
{
    const char *paths[ARTICLES + 1];
    mgk_dataset_options options = article_files(state, paths);
    mgk_dataset *train = open_ok(&options), *again = open_ok(&options);
    assert_same_samples(train, again, 100);
    mgk_dataset_close(again);
    options.split = MGK_SPLIT_EVAL;
    mgk_dataset *eval = open_ok(&options);
    assert_true(mgk_dataset_size(eval) == 2000);
    mgk_dataset_close(eval);
    options.samples = 100;
    eval = open_ok(&options);
    assert_true(mgk_dataset_size(eval) == 100);
    int same = 0;
    for (uint64_t i = 0; i < 100; i++) {
        int32_t a[2 * N], b[2 * N], lengths[2], label;
        assert_ok(mgk_dataset_sample(train, i, a, lengths, &label));
        assert_ok(mgk_dataset_sample(eval, i, b, lengths, &label));
        same += memcmp(a, b, sizeof(a)) == 0;
    }
    assert_true(same < 15);
    mgk_dataset_close(train);
    mgk_dataset_close(eval);
}

static void articles_begin_at_titles(void **state)
{
    const char *path = write_text(state, "wiki",
                                  " \n = A = \n \n aaaaaaaaaaaaaaaa \n \n = B = \n \n "
                                  "bbbbbbbbbbbbbbbb \n");
    mgk_dataset_options options = options_for(MGK_TASK_RETRIEVAL, &path, 4);
    mgk_dataset *pairs = open_ok(&options);
    mgk_dataset_close(pairs);
    options.article_per_file = true;
    assert_refused(&options, STATUS_SHAPE, "wiki: 1 article of at least 8 bytes");
    /* The mark of a byte order is not part of the first title. */
    path = write_text(
        state, "wiki",
        "\xEF\xBB\xBF = A = \n \n aaaaaaaaaaaaaaaa \n \n = B = \n \n bbbbbbbbbbbbbbbb \n");
    options.article_per_file = false;
    mgk_dataset_close(open_ok(&options));
}

static void too_little_text_is_refused(void **state)
{
    const char *paths[ARTICLES + 1];
    mgk_dataset_options options = article_files(state, paths);
    options.article_per_file = false;
    assert_refused(&options, STATUS_SHAPE, "and others: 0 articles");
    options.article_per_file = true;
    options.length = 100;
    assert_refused(&options, STATUS_SHAPE, "0 articles of at least 200 bytes");
    options = options_for(MGK_TASK_RETRIEVAL, paths, N);
    paths[0] = write_text(state, "empty", "");
    assert_refused(&options, STATUS_SHAPE, "empty: empty");
    paths[0] = write_text(state, "byte", "x");
    assert_refused(&options, STATUS_SHAPE, "byte: 0 articles");
    paths[0] = path_of(state, "absent");
    assert_refused(&options, STATUS_IO, "absent: ");
    assert_int_equal(mkdir(path_of(state, "folder"), 0700), 0);
    paths[0] = path_of(state, "folder");
    assert_refused(&options, STATUS_SHAPE, "folder: no .txt files");
    write_text(state, "folder/a.txt", "0123456789abcdef");
    options.article_per_file = true;
    assert_refused(&options, STATUS_SHAPE, "a.txt: 1 article ");
    write_text(state, "folder/b.txt", "0123456789abcdef");
    mgk_dataset_close(open_ok(&options));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(title_cases),
        folder_test(pairs_are_balanced_and_do_not_overlap),
        folder_test(a_passage_alone_does_not_tell_the_label),
        folder_test(evaluation_is_fixed_and_differs_from_training),
        folder_test(articles_begin_at_titles),
        folder_test(too_little_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
