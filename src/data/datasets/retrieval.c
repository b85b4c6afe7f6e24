/* SPDX-License-Identifier: MIT */
/*
 * Pairs of passages of N bytes (V = 256) or tokens, from one article (label 1) or from two (label
 * 0), drawn from (seed, index); EVAL and TEST draw a fixed number of pairs.
 *
 * Nothing but the content may distinguish the classes. Therefore, for both classes, only articles
 * with room for two passages (2N) count, every passage has exactly N, and two places
 * that do not overlap are drawn in each article: a pair of label 1 takes both places of one
 * article, a pair of label 0 the first place of one and the second place of another. So a single
 * passage has the same distribution in both classes: a uniform article, and the same place in it.
 * One of the samples 2k and 2k + 1, chosen by (seed, k), has label 1.
 *
 * The tokens of articles with room for two passages are kept in memory, the bytes of texts as
 * texts.h says. Tokens that a tokenizer puts around a sequence belong to the N of a passage.
 */
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "data/datasets/articles.h"
#include "data/datasets/pair_list.h"
#include "data/datasets/pairs_tsv.h"
#include "data/datasets/sequencer.h"
#include "data/datasets/text_pieces.h"

enum {
    DEFAULT_PAIRS = 2000,
    DRAWS = 8, /* random numbers per sample */
};

typedef struct retrieval_dataset {
    mgk_dataset base;
    mgk_texts text;           /* unless there are tokens */
    mgk_buffer ids;           /* int32_t, of all articles, if there are */
    mgk_buffer before, after; /* int32_t, around the tokens of a passage */
    mgk_buffer articles;      /* mgk_article, of bytes or tokens */
    size_t room;              /* bytes or tokens of a passage, without those around it */
    bool tokens;
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

static void copy_passage(const retrieval_dataset *pairs, size_t place, int32_t *tokens,
                         int32_t *length)
{
    const mgk_buffer *before = &pairs->before, *after = &pairs->after;
    size_t used = 0;
    mgk_put_ids(tokens, &used, before->data, before->size / sizeof(*tokens));
    mgk_put_ids(tokens, &used, pairs->ids.data + place * sizeof(*tokens), pairs->room);
    mgk_put_ids(tokens, &used, after->data, after->size / sizeof(*tokens));
    *length = (int32_t)used;
}

static mgk_status read_passage(const retrieval_dataset *pairs, size_t place, int32_t *tokens,
                               int32_t *length)
{
    unsigned char *bytes;
    size_t n = pairs->base.shape.length;
    if (pairs->tokens) {
        copy_passage(pairs, place, tokens, length);
        return STATUS_OK;
    }
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
    draw_places(&random, &articles[first], pairs->room, places);
    draw_places(&random, &articles[other], pairs->room, other_places);
    size_t second_place = label ? places[1] : other_places[1];

    targets[0] = (int32_t)label;
    TRY(read_passage(pairs, places[0], tokens, &lengths[0]));
    return read_passage(pairs, second_place, tokens + n, &lengths[1]);
}

static mgk_status hash_pairs(const mgk_dataset *dataset, uint64_t *hash)
{
    const retrieval_dataset *pairs = (const retrieval_dataset *)dataset;
    TRY(mgk_texts_hash(&pairs->text, hash));
    const mgk_buffer *tokens[] = {&pairs->before, &pairs->ids, &pairs->after};
    for (int i = 0; i < 3; i++)
        *hash = mgk_hash(*hash, tokens[i]->data, tokens[i]->size);
    *hash = mgk_hash(*hash, pairs->articles.data, pairs->articles.size);
    return STATUS_OK;
}

static void close_pairs(mgk_dataset *dataset)
{
    retrieval_dataset *pairs = (retrieval_dataset *)dataset;
    mgk_texts_free(&pairs->text);
    mgk_buffer_free(&pairs->ids);
    mgk_buffer_free(&pairs->before);
    mgk_buffer_free(&pairs->after);
    mgk_buffer_free(&pairs->articles);
    mgk_free(pairs);
}

static const mgk_dataset_functions functions = {sample, NULL, hash_pairs, close_pairs};

/* Appends the articles of a file that have at least `least` bytes. */
static mgk_status find_articles(const mgk_dataset_options *options, const char *path, size_t least,
                                mgk_texts *text, mgk_buffer *articles)
{
    const size_t start = text->size;
    TRY(mgk_texts_add(text, path));
    if (!options->article_per_file)
        return mgk_split_articles(text, start, least, articles);
    const mgk_article whole = {start, text->size - start};
    return mgk_add_article(whole, least, articles);
}

static mgk_status read_bytes(const mgk_dataset_options *options, retrieval_dataset *pairs)
{
    for (size_t i = 0; i < options->path_count; i++)
        TRY(find_articles(options, options->paths[i], 2 * pairs->room, &pairs->text,
                          &pairs->articles));
    return STATUS_OK;
}

/* Tokens on their way into the dataset. */
typedef struct reader {
    mgk_token_encoder *encoder;
    mgk_buffer *ids;
} reader;

static mgk_status encode(void *context, const char *text, size_t size)
{
    const reader *r = context;
    return mgk_token_encode(r->encoder, text, size, r->ids);
}

/* Keeps the tokens of an article, if they have room for two passages. */
static mgk_status add_article(const mgk_texts *text, mgk_article bytes,
                              const mgk_tokenizer *tokenizer, reader *r, retrieval_dataset *pairs)
{
    const size_t start = pairs->ids.size / sizeof(int32_t);
    TRY(mgk_texts_walk(text, tokenizer, bytes.start, bytes.start + bytes.size, encode, r));
    const mgk_article tokens = {start, pairs->ids.size / sizeof(int32_t) - start};
    if (tokens.size < 2 * pairs->room)
        pairs->ids.size = start * sizeof(int32_t);
    return mgk_add_article(tokens, 2 * pairs->room, &pairs->articles);
}

static mgk_status set_frame(const mgk_dataset_options *options, retrieval_dataset *pairs)
{
    const mgk_token_frame frame = mgk_tokenizer_frame(options->tokenizer);
    pairs->tokens = true;
    pairs->base.shape.vocabulary = (size_t)mgk_tokenizer_vocabulary(options->tokenizer);
    TRY(mgk_frame_room(&frame, options->length, &pairs->room));
    TRY(mgk_buffer_append(&pairs->before, frame.before, frame.before_count * sizeof(int32_t)));
    return mgk_buffer_append(&pairs->after, frame.after, frame.after_count * sizeof(int32_t));
}

static mgk_status read_tokens(const mgk_dataset_options *options, retrieval_dataset *pairs)
{
    mgk_status status;
    mgk_texts text = {0};
    mgk_buffer articles = {0};
    reader r = {.ids = &pairs->ids};
    CHECK(set_frame(options, pairs));
    CHECK(mgk_token_encoder_open(options->tokenizer, &r.encoder));
    for (size_t i = 0; i < options->path_count; i++)
        CHECK(find_articles(options, options->paths[i], 1, &text, &articles));
    const mgk_article *article = (const mgk_article *)(const void *)articles.data;
    for (size_t i = 0; i < articles.size / sizeof(*article); i++)
        CHECK(add_article(&text, article[i], options->tokenizer, &r, pairs));
    const int32_t *ids = (const int32_t *)(const void *)pairs->ids.data;
    const size_t all = pairs->ids.size / sizeof(*ids);
    mgk_dataset_tell_unknown(&pairs->base,
                             mgk_tokenizer_count_unknown(options->tokenizer, ids, all), all);
out:
    mgk_token_encoder_close(r.encoder);
    mgk_buffer_free(&articles);
    mgk_texts_free(&text);
    return status;
}

static mgk_status check_articles(const mgk_dataset_options *options, const retrieval_dataset *pairs)
{
    const size_t count = article_count(pairs);
    if (count >= 2)
        return STATUS_OK;
    if (options->path_count == 1 && mgk_begins_as_pair_list(options->paths[0]))
        return mgk_fail(STATUS_SHAPE,
                        "%s: a list of pairs needs the folder of its texts: name it after the list",
                        options->paths[0]);
    return mgk_fail(
        STATUS_SHAPE,
        "%s%s: %zu %s of at least %zu %s (two passages), expected at least 2; an article is %s",
        options->paths[0], options->path_count > 1 ? " and others" : "", count,
        MGK_NOUN(count, "article", "articles"), 2 * pairs->room, pairs->tokens ? "tokens" : "bytes",
        options->article_per_file ? "a file" : "the text after a line \" = Title = \"");
}

static mgk_status open_pairs(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_status status;
    retrieval_dataset *pairs;
    TRY(mgk_alloc(1, sizeof(*pairs), &pairs));
    pairs->base.functions = &functions;
    pairs->base.shape = (mgk_dataset_shape){2, options->length, MGK_BYTE_VALUES, 2};
    pairs->room = options->length;
    pairs->seed = options->seed;
    pairs->split = options->split;
    if (options->split != MGK_SPLIT_TRAIN)
        pairs->base.size = options->samples ? options->samples : DEFAULT_PAIRS;
    CHECK(options->tokenizer ? read_tokens(options, pairs) : read_bytes(options, pairs));
    CHECK(check_articles(options, pairs));
    *out = &pairs->base;
out:
    if (status != STATUS_OK)
        close_pairs(&pairs->base);
    return status;
}

mgk_status mgk_retrieval_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    bool is_tsv;
    if (mgk_is_pair_list(options->paths, options->path_count))
        return mgk_pair_list_open(options, out);
    TRY(mgk_is_pairs_tsv(options->paths[0], &is_tsv));
    return is_tsv ? mgk_pairs_tsv_open(options, out) : open_pairs(options, out);
}

mgk_status mgk_retrieval_learn(const mgk_dataset_options *options, mgk_learner *learner)
{
    bool is_tsv;
    if (mgk_is_pair_list(options->paths, options->path_count))
        return mgk_pair_list_learn(options, learner);
    TRY(mgk_is_pairs_tsv(options->paths[0], &is_tsv));
    return is_tsv ? mgk_pairs_tsv_learn(options, learner)
                  : mgk_texts_learn(options->paths, options->path_count, learner);
}
