/* SPDX-License-Identifier: MIT */
/* Texts in pieces that can be encoded separately. */
#ifndef MGK_DATA_TEXT_PIECES_H
#define MGK_DATA_TEXT_PIECES_H

#include "data/datasets/texts.h"
#include "data/tokenizers/learn.h"
#include "data/tokenizers/tokenizer.h"

/*
 * Finds a piece of a text from byte `start` on, of *size bytes, 64 KB or more, that can be encoded
 * separately; the text ends at `end`. `bytes` is scratch. Fails as mgk_texts_read.
 */
mgk_status mgk_texts_cut(const mgk_texts *texts, const mgk_tokenizer *tokenizer, size_t start,
                         size_t end, mgk_buffer *bytes, size_t *size);

/* Gives the bytes first ... end - 1 of a text to `take`, cut as the tokenizer allows. */
mgk_status mgk_texts_walk(const mgk_texts *texts, const mgk_tokenizer *tokenizer, size_t first,
                          size_t end,
                          mgk_status (*take)(void *context, const char *text, size_t size),
                          void *context);

/* Counts texts for a tokenizer that is learnt from them, each file separately. */
mgk_status mgk_texts_learn(const char *const *paths, size_t path_count, mgk_learner *learner);

#endif
