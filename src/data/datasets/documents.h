/* SPDX-License-Identifier: MIT */
/* The tokens of many texts, each at most N, in memory. */
#ifndef MGK_DATA_DOCUMENTS_H
#define MGK_DATA_DOCUMENTS_H

#include "data/datasets/sequencer.h"
#include "data/tokenizers/vocabulary.h"

typedef struct mgk_documents {
    size_t count;
    size_t unknown, all; /* tokens that are not in the vocabulary, of all */
    mgk_sequencer sequencer;
    size_t width;           /* bytes of an id in memory: 1, 2 or 4 */
    mgk_buffer ids;         /* uint8_t, uint16_t or int32_t */
    mgk_buffer starts;      /* size_t, [count + 1] */
    mgk_vocabulary digests; /* of texts that mgk_documents_find has added, by their index */
} mgk_documents;

/* Release *out with mgk_documents_close, also after a failure. Arguments as mgk_sequencer_open. */
mgk_status mgk_documents_open(const mgk_tokenizer *tokenizer, size_t length, mgk_documents *out);
void mgk_documents_close(mgk_documents *documents); /* a zeroed one is accepted */

/* Adds a text, whose index is documents->count before. Fails as mgk_sequencer_read. */
mgk_status mgk_documents_add(mgk_documents *documents, const char *text, size_t size);

/* The same for a text that may be there already, up to a million of them; its index. */
mgk_status mgk_documents_find(mgk_documents *documents, const char *text, size_t size,
                              size_t *index);

/* Writes a text as a row of tokens [N], the rest -1, and its length. */
void mgk_documents_row(const mgk_documents *documents, size_t index, size_t n, int32_t *tokens,
                       int32_t *length);

/* Continues *hash over all texts. */
void mgk_documents_hash(const mgk_documents *documents, uint64_t *hash);

#endif
