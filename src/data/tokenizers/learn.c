/* SPDX-License-Identifier: MIT */
/* Learns a tokenizer: a tokenizer without a vocabulary cuts the texts, and its model counts. */
#include "data/tokenizers/learn.h"

#include <string.h>

#include "base/memory.h"
#include "data/tokenizers/learn_private.h"

struct mgk_learner {
    mgk_learnt kind;
    mgk_tokenizer *cutter; /* its model counts `pieces` */
    mgk_pieces pieces;
    mgk_token_encoder *encoder;
    mgk_buffer found; /* int32_t, pieces of the text that is added */
};

static const char unknown[] = "<unk>", end_of_line[] = "<eos>";

/* The steps of the tokenizer to be learnt, before its model. */
static mgk_status set_steps(mgk_learnt kind, mgk_tokenizer *cutter)
{
    cutter->model = kind == MGK_LEARN_SPLIT_WORDS ? &mgk_counting_lines : &mgk_counting_model;
    if (kind == MGK_LEARN_BPE) {
        cutter->keeps_bytes = true;
        return mgk_tokenizer_add_byte_level(cutter, false, true);
    }
    if (kind == MGK_LEARN_SPLIT_WORDS)
        return STATUS_OK;
    TRY(mgk_normalizer_add(&cutter->normalizer, MGK_NORMAL_LOWER));
    return mgk_tokenizer_add_word_runs(cutter);
}

mgk_status mgk_learner_open(mgk_learnt kind, mgk_learner **out)
{
    mgk_status status;
    mgk_learner *learner;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*learner), &learner));
    learner->kind = kind;
    CHECK(mgk_tokenizer_create(&learner->cutter));
    learner->cutter->pieces = &learner->pieces;
    CHECK(set_steps(kind, learner->cutter));
    CHECK(mgk_token_encoder_open(learner->cutter, &learner->encoder));
    *out = learner;
out:
    if (status != STATUS_OK)
        mgk_learner_close(learner);
    return status;
}

void mgk_learner_close(mgk_learner *learner)
{
    if (!learner)
        return;
    mgk_token_encoder_close(learner->encoder);
    mgk_tokenizer_close(learner->cutter);
    mgk_pieces_free(&learner->pieces);
    mgk_buffer_free(&learner->found);
    mgk_free(learner);
}

const mgk_tokenizer *mgk_learner_cutter(const mgk_learner *learner)
{
    return learner->cutter;
}

mgk_status mgk_learner_add(mgk_learner *learner, const char *text, size_t size)
{
    learner->found.size = 0;
    TRY(mgk_token_encode(learner->encoder, text, size, &learner->found));
    const int32_t *piece = (const int32_t *)(const void *)learner->found.data;
    for (size_t i = 0; i < learner->found.size / sizeof(*piece); i++)
        mgk_counted_at(&learner->pieces, (size_t)piece[i])->count++;
    return STATUS_OK;
}

static mgk_status finish_bpe(const mgk_pieces *pieces, size_t vocabulary, char **text)
{
    mgk_buffer merges = {0};
    mgk_vocabulary tokens = {0};
    mgk_status status = mgk_learn_merges(pieces, vocabulary, &merges, &tokens);
    if (status == STATUS_OK)
        status = mgk_write_bpe(&tokens, &merges, text);
    mgk_buffer_free(&merges);
    mgk_vocabulary_free(&tokens);
    return status;
}

static mgk_status finish_words(const mgk_pieces *pieces, size_t vocabulary, char **text)
{
    static const char *const special[] = {unknown};
    int32_t *words;
    size_t count;
    TRY(mgk_learn_words(pieces, special, 1, vocabulary - 1, &words, &count));
    mgk_status status = mgk_write_words(pieces, words, count, text);
    mgk_free(words);
    return status;
}

static mgk_status append_line(mgk_buffer *list, mgk_span word)
{
    TRY(mgk_buffer_append(list, word.data, word.size));
    return mgk_buffer_append(list, "\n", 1);
}

static mgk_status write_list(const mgk_pieces *pieces, const int32_t *words, size_t count,
                             mgk_buffer *list)
{
    TRY(append_line(list, (mgk_span){end_of_line, strlen(end_of_line)}));
    TRY(append_line(list, (mgk_span){unknown, strlen(unknown)}));
    for (size_t i = 0; i < count; i++)
        TRY(append_line(list, mgk_counted_text(pieces, (size_t)words[i])));
    return mgk_buffer_append(list, "", 1);
}

static mgk_status finish_list(const mgk_pieces *pieces, size_t vocabulary, char **text)
{
    static const char *const special[] = {end_of_line, unknown};
    int32_t *words;
    size_t count;
    mgk_buffer list = {0};
    TRY(mgk_learn_words(pieces, special, 2, vocabulary - 2, &words, &count));
    mgk_status status = write_list(pieces, words, count, &list);
    if (status == STATUS_OK)
        status = mgk_copy_string((const char *)list.data, text);
    mgk_buffer_free(&list);
    mgk_free(words);
    return status;
}

mgk_status mgk_learner_finish(const mgk_learner *learner, size_t vocabulary, char **text)
{
    static const struct {
        size_t least;
        const char *why;
        mgk_status (*finish)(const mgk_pieces *pieces, size_t vocabulary, char **text);
    } kinds[] = {
        [MGK_LEARN_BPE] = {256, "the 256 bytes", finish_bpe},
        [MGK_LEARN_WORDS] = {2, "<unk> and a word", finish_words},
        [MGK_LEARN_SPLIT_WORDS] = {3, "<eos>, <unk> and a word", finish_list},
    };
    *text = NULL;
    if (vocabulary < kinds[learner->kind].least || vocabulary > MGK_VOCABULARY_MOST)
        return mgk_fail(STATUS_USAGE, "`vocabulary` %zu: expected %zu (%s) to %d", vocabulary,
                        kinds[learner->kind].least, kinds[learner->kind].why, MGK_VOCABULARY_MOST);
    return kinds[learner->kind].finish(&learner->pieces, vocabulary, text);
}
