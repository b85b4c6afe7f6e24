/* SPDX-License-Identifier: MIT */
/*
 * Pairs of passages of N bytes (V = 256), from one article (label 1) or from two (label 0), drawn
 * from (seed, index); EVAL and TEST draw a fixed number of pairs.
 *
 * Nothing but the content may distinguish the classes. Therefore, for both classes, only articles
 * with room for two passages (2N bytes) count, every passage has exactly N bytes, and two places
 * that do not overlap are drawn in each article: a pair of label 1 takes both places of one
 * article, a pair of label 0 the first place of one and the second place of another. So a single
 * passage has the same distribution in both classes: a uniform article, and the same place in it.
 * One of the samples 2k and 2k + 1, chosen by (seed, k), has label 1.
 */
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "data/datasets/articles.h"
#include "data/datasets/pairs_tsv.h"

enum {
    DEFAULT_PAIRS = 2000,
    DRAWS = 8, /* random numbers per sample */
};

typedef struct retrieval_dataset {
    mgk_dataset base;
    mgk_texts text;
    mgk_buffer articles; /* mgk_article */
    uint64_t seed;
    mgk_split split;
} retrieval_dataset;

static size_t article_count(const retrieval_dataset *pairs)
{
    return pairs->articles.size / sizeof(mgk_article);
}

/* Draws the starts of two passages of n bytes in the article that do not overlap. */
static void draw_places(mgk_random *random, const mgk_article *article, size_t n, size_t places[2])
{
    /* Draw two places in the article shortened by one passage, then shift the later one by a
     * passage. */
    size_t room = article->size - 2 * n + 1;
    size_t a = mgk_random_next_below(random, room);
    size_t b = mgk_random_next_below(random, room);
    size_t later = mgk_random_next_below(random, 2);
    places[!later] = article->start + (a < b ? a : b);
    places[later] = article->start + (a < b ? b : a) + n;
}

static mgk_status read_passage(const retrieval_dataset *pairs, size_t place, int32_t *tokens,
                               int32_t *length)
{
    unsigned char *bytes;
    size_t n = pairs->base.shape.length;
    TRY(mgk_alloc(n, 1, &bytes));
    mgk_status status = mgk_texts_read(&pairs->text, place, n, bytes);
    if (status == STATUS_OK)
        mgk_fill_row(bytes, n, n, tokens, length);
    mgk_free(bytes);
    return status;
}

static mgk_status sample(const mgk_dataset *dataset, uint64_t index, int32_t *tokens,
                         int32_t *lengths, int32_t *targets)
{
    const retrieval_dataset *pairs = (const retrieval_dataset *)dataset;
    const mgk_article *articles = (const mgk_article *)(const void *)pairs->articles.data;
    size_t n = dataset->shape.length, count = article_count(pairs);
    uint64_t label_stream = mgk_data_stream(MGK_PURPOSE_LABEL, pairs->split);
    uint64_t label = mgk_random_below(pairs->seed, label_stream, index / 2, 2) ^ (index & 1);

    mgk_random random = {pairs->seed, mgk_data_stream(MGK_PURPOSE_PAIR, pairs->split),
                         index * DRAWS};
    size_t first = mgk_random_next_below(&random, count);
    size_t other = mgk_random_next_below(&random, count - 1);
    other += other >= first;
    size_t places[2], other_places[2];
    draw_places(&random, &articles[first], n, places);
    draw_places(&random, &articles[other], n, other_places);
    size_t second_place = label ? places[1] : other_places[1];

    targets[0] = (int32_t)label;
    TRY(read_passage(pairs, places[0], tokens, &lengths[0]));
    return read_passage(pairs, second_place, tokens + n, &lengths[1]);
}

static mgk_status hash_pairs(const mgk_dataset *dataset, uint64_t *hash)
{
    const retrieval_dataset *pairs = (const retrieval_dataset *)dataset;
    TRY(mgk_texts_hash(&pairs->text, hash));
    *hash = mgk_hash(*hash, pairs->articles.data, pairs->articles.size);
    return STATUS_OK;
}

static void close_pairs(mgk_dataset *dataset)
{
    retrieval_dataset *pairs = (retrieval_dataset *)dataset;
    mgk_texts_free(&pairs->text);
    mgk_buffer_free(&pairs->articles);
    mgk_free(pairs);
}

static const mgk_dataset_functions functions = {sample, NULL, hash_pairs, close_pairs};

static mgk_status add_file(const mgk_dataset_options *options, const char *path,
                           retrieval_dataset *pairs)
{
    size_t start = pairs->text.size, least = 2 * options->length;
    TRY(mgk_texts_add(&pairs->text, path));
    if (!options->article_per_file)
        return mgk_split_articles(&pairs->text, start, least, &pairs->articles);
    mgk_article whole = {start, pairs->text.size - start};
    return mgk_add_article(whole, least, &pairs->articles);
}

static mgk_status open_pairs(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_status status = STATUS_OK;
    retrieval_dataset *pairs;
    TRY(mgk_alloc(1, sizeof(*pairs), &pairs));
    pairs->base.functions = &functions;
    pairs->base.shape = (mgk_dataset_shape){2, options->length, MGK_BYTE_VALUES, 2};
    pairs->seed = options->seed;
    pairs->split = options->split;
    if (options->split != MGK_SPLIT_TRAIN)
        pairs->base.size = options->samples ? options->samples : DEFAULT_PAIRS;
    for (size_t i = 0; i < options->path_count; i++)
        CHECK(add_file(options, options->paths[i], pairs));
    if (article_count(pairs) < 2) {
        status = mgk_fail(
            STATUS_SHAPE,
            "%s%s: %zu %s of at least %zu bytes (two passages), expected at least 2; an article is "
            "%s",
            options->paths[0], options->path_count > 1 ? " and others" : "", article_count(pairs),
            MGK_NOUN(article_count(pairs), "article", "articles"), 2 * options->length,
            options->article_per_file ? "a file" : "the text after a line \" = Title = \"");
        goto out;
    }
    *out = &pairs->base;
out:
    if (status != STATUS_OK)
        close_pairs(&pairs->base);
    return status;
}

mgk_status mgk_retrieval_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    bool is_tsv;
    TRY(mgk_is_pairs_tsv(options->paths[0], &is_tsv));
    return is_tsv ? mgk_pairs_tsv_open(options, out) : open_pairs(options, out);
}
