/* SPDX-License-Identifier: MIT */
/*
 * Language modelling on the concatenated bytes of the files (V = 256), or on their tokens.
 *
 *   Training:   sample `index` is a window of N + 1 tokens at a place drawn from (seed, index);
 *               token i is its token i, target i its token i + 1.
 *   Streams:    with S of them in place of drawn windows, stream b is the b-th of S equal parts of
 *               the text, and sample `index` is window index / S of stream index % S; windows of a
 *               stream follow each other as in evaluation, and begin again after the last whole
 *               one. So row b of every batch of S samples reads on where it was (as in
 *               Transformer-XL, Dai et al. 2019).
 *   Evaluation: window w has the tokens wN ... wN + N - 1 and the next token of each as targets;
 *               the last window may be shorter. So every token but the first is predicted exactly
 *               once, also by windows that slide, see windows.h.
 *
 * The tokens that a tokenizer puts around a sequence are not there.
 */
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "data/datasets/implementation.h"
#include "data/datasets/text_pieces.h"
#include "data/datasets/token_stream.h"
#include "data/datasets/windows.h"

typedef struct lm_dataset {
    mgk_dataset base;
    mgk_texts text;           /* bytes, unless there are tokens */
    mgk_token_stream *tokens; /* or NULL */
    size_t count;             /* of bytes or tokens */
    mgk_windows windows;      /* of evaluation, of N when it was opened */
    uint64_t seed;
    size_t streams; /* of training; 0: windows are drawn */
} lm_dataset;

/* The tokens of window `index` that have a next one. */
static size_t length(const mgk_dataset *dataset, uint64_t index)
{
    const lm_dataset *lm = (const lm_dataset *)dataset;
    return dataset->size == 0 ? lm->windows.room : mgk_windows_length(&lm->windows, index);
}

/* Where the window of a training sample begins. */
static size_t training_start(const lm_dataset *lm, uint64_t index)
{
    const size_t n = lm->base.shape.length;
    if (lm->streams == 0)
        return mgk_random_below(lm->seed, mgk_data_stream(MGK_PURPOSE_WINDOW, 0), index,
                                lm->count - n);
    const size_t part = lm->count / lm->streams, windows = (part - 1) / n;
    return index % lm->streams * part + index / lm->streams % windows * n;
}

static mgk_status read_tokens(const lm_dataset *lm, size_t start, size_t count, int32_t *ids)
{
    unsigned char *bytes;
    if (lm->tokens)
        return mgk_token_stream_read(lm->tokens, start, count, ids);
    TRY(mgk_alloc(count, 1, &bytes));
    mgk_status status = mgk_texts_read(&lm->text, start, count, bytes);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        ids[i] = bytes[i];
    mgk_free(bytes);
    return status;
}

static mgk_status sample(const mgk_dataset *dataset, uint64_t index, int32_t *tokens,
                         int32_t *lengths, int32_t *targets)
{
    const lm_dataset *lm = (const lm_dataset *)dataset;
    const size_t n = dataset->shape.length;
    size_t start, count = n, known = 0;
    if (dataset->size == 0) {
        start = training_start(lm, index);
    } else {
        start = index * lm->windows.stride;
        count = length(dataset, index);
        known = mgk_windows_known(&lm->windows, index);
    }
    int32_t *ids;
    TRY(mgk_alloc(count + 1, sizeof(*ids), &ids));
    mgk_status status = read_tokens(lm, start, count + 1, ids);
    for (size_t i = 0; status == STATUS_OK && i < n; i++) {
        tokens[i] = i < count ? ids[i] : -1;
        targets[i] = i < count && i >= known ? ids[i + 1] : -1;
    }
    lengths[0] = (int32_t)count;
    mgk_free(ids);
    return status;
}

static mgk_status hash_lm(const mgk_dataset *dataset, uint64_t *hash)
{
    const lm_dataset *lm = (const lm_dataset *)dataset;
    if (lm->streams > 0)
        *hash = mgk_hash(*hash, &lm->streams, sizeof(lm->streams));
    return lm->tokens ? mgk_token_stream_hash(lm->tokens, hash) : mgk_texts_hash(&lm->text, hash);
}

static void close_lm(mgk_dataset *dataset)
{
    lm_dataset *lm = (lm_dataset *)dataset;
    mgk_texts_free(&lm->text);
    if (lm->tokens)
        mgk_token_stream_close(lm->tokens);
    mgk_free(lm->tokens);
    mgk_free(lm);
}

static const mgk_dataset_functions functions = {sample, length, hash_lm, close_lm};

static mgk_status read_data(const mgk_dataset_options *options, lm_dataset *lm)
{
    if (!options->tokenizer) {
        for (size_t i = 0; i < options->path_count; i++)
            TRY(mgk_texts_add(&lm->text, options->paths[i]));
        lm->count = lm->text.size;
        return STATUS_OK;
    }
    TRY(mgk_alloc(1, sizeof(*lm->tokens), &lm->tokens));
    TRY(mgk_token_stream_open(options->tokenizer, options->paths, options->path_count, SIZE_MAX,
                              lm->tokens));
    lm->base.shape.vocabulary = (size_t)mgk_tokenizer_vocabulary(options->tokenizer);
    lm->count = lm->tokens->count;
    mgk_dataset_tell_unknown(&lm->base, lm->tokens->unknown, lm->count);
    return STATUS_OK;
}

static mgk_status refuse(const mgk_dataset_options *options, const lm_dataset *lm, size_t needed)
{
    const char *noun =
        lm->tokens ? MGK_NOUN(lm->count, "token", "tokens") : MGK_NOUN(lm->count, "byte", "bytes");
    return mgk_fail(STATUS_SHAPE, "%s%s: %zu %s of text, expected at least %zu", options->paths[0],
                    options->path_count > 1 ? " and others" : "", lm->count, noun, needed);
}

static mgk_status refuse_streams(const mgk_dataset_options *options, const lm_dataset *lm,
                                 size_t needed)
{
    return mgk_fail(STATUS_SHAPE, "%s%s: %zu %s of text, expected at least %zu for each of %zu %s",
                    options->paths[0], options->path_count > 1 ? " and others" : "", lm->count,
                    lm->tokens ? "tokens" : "bytes", needed, lm->streams,
                    MGK_NOUN(lm->streams, "stream", "streams"));
}

mgk_status mgk_lm_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    const bool train = options->split == MGK_SPLIT_TRAIN;
    const size_t needed = train ? options->length + 1 : 2;
    mgk_status status;
    lm_dataset *lm;
    TRY(mgk_alloc(1, sizeof(*lm), &lm));
    lm->base.functions = &functions;
    lm->base.shape = (mgk_dataset_shape){1, options->length, MGK_BYTE_VALUES, 0};
    lm->seed = options->seed;
    lm->streams = train ? options->streams : 0;
    CHECK(read_data(options, lm));
    if (lm->count < needed)
        CHECK(refuse(options, lm, needed));
    if (lm->streams > 0 && lm->count / lm->streams < needed)
        CHECK(refuse_streams(options, lm, needed));
    lm->windows = (mgk_windows){lm->count - 1, options->length,
                                mgk_windows_stride(options->stride, options->length)};
    if (!train) {
        lm->base.size = mgk_windows_count(&lm->windows);
        lm->base.bytes = lm->tokens ? lm->tokens->text_size : lm->windows.total;
        lm->base.tokens = lm->windows.total;
    }
    *out = &lm->base;
out:
    if (status != STATUS_OK)
        close_lm(&lm->base);
    return status;
}

mgk_status mgk_lm_learn(const mgk_dataset_options *options, mgk_learner *learner)
{
    return mgk_texts_learn(options->paths, options->path_count, learner);
}
