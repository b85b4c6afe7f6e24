/* SPDX-License-Identifier: MIT */
/*
 * The tokens of concatenated texts, readable at any place. Small streams are kept in memory. Larger
 * ones keep only marks, places where cutting the text does not change its tokens
 * (mgk_tokenizer_cut), and encode the text between two marks again for each read.
 */
#ifndef MGK_DATA_TOKEN_STREAM_H
#define MGK_DATA_TOKEN_STREAM_H

#include <pthread.h>

#include "data/datasets/texts.h"
#include "data/tokenizers/tokenizer.h"

typedef struct mgk_token_stream {
    size_t count;     /* total number of tokens */
    size_t unknown;   /* of these, words that are not in the vocabulary */
    size_t text_size; /* bytes of the texts */
    mgk_texts texts;  /* closed if all tokens are kept */
    mgk_buffer marks; /* private to token_stream.c */
    mgk_buffer ids;   /* int32_t: all tokens if they are kept, else the tokens between two marks */
    bool kept;
    size_t most_kept; /* bytes of ids */
    const mgk_tokenizer *tokenizer;
    mgk_token_encoder *encoder;
    pthread_mutex_t lock; /* protects encoder, ids and bytes while the stream is read */
    mgk_buffer bytes;
} mgk_token_stream;

/*
 * Encodes each file separately and counts the tokens; release *out with mgk_token_stream_close,
 * also after a failure. The tokenizer must outlive it. Fails as mgk_texts_add and mgk_token_encode,
 * naming the path. STATUS_FORMAT: a file is not UTF-8, and the tokenizer does not keep all bytes.
 * At most `most_kept` bytes of tokens are kept in memory, 0: the usual number.
 */
mgk_status mgk_token_stream_open(const mgk_tokenizer *tokenizer, const char *const *paths,
                                 size_t path_count, size_t most_kept, mgk_token_stream *out);
void mgk_token_stream_close(mgk_token_stream *stream); /* a zeroed one is accepted */

/* Reads tokens first ... first + count - 1, all below the count, into `ids`. Any number of threads
 * may read. Fails as mgk_texts_read and mgk_token_encode. */
mgk_status mgk_token_stream_read(mgk_token_stream *stream, size_t first, size_t count,
                                 int32_t *ids);

/* Continues *hash over all tokens. Fails as mgk_token_stream_read. */
mgk_status mgk_token_stream_hash(mgk_token_stream *stream, uint64_t *hash);

#endif
