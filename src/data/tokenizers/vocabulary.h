/* SPDX-License-Identifier: MIT */
/* A map between tokens and ids. */
#ifndef MGK_DATA_VOCABULARY_H
#define MGK_DATA_VOCABULARY_H

#include <stdint.h>

#include "base/hash.h"
#include "data/buffer.h"
#include "data/datasets/lines.h"

/* Ids are below this limit, which is the limit for models too. */
enum { MGK_VOCABULARY_MOST = 1 << 20 };

/* A zeroed one is empty; released with mgk_vocabulary_free. */
typedef struct mgk_vocabulary {
    mgk_buffer text;    /* of all tokens */
    mgk_buffer entries; /* by id; unused ids are empty */
    int32_t *table;     /* [slots] ids by hash, -1: empty */
    size_t slots, used;
    uint64_t seed;  /* of the hash, random, so that no file can make tokens collide */
    size_t longest; /* bytes of the longest token */
    int32_t most;   /* ids are below; 0: MGK_VOCABULARY_MOST */
} mgk_vocabulary;

/* Gives a token its id. STATUS_FORMAT: the id is negative or too large, or another token has it. A
 * token that exists already is found under its new id from now on. */
mgk_status mgk_vocabulary_set(mgk_vocabulary *vocabulary, int64_t id, mgk_span token);

/* The id of a token, -1: none. */
int32_t mgk_vocabulary_find(const mgk_vocabulary *vocabulary, mgk_span token);

/* The same for a token in two pieces; `hash` is mgk_hash_seeded of both, with the vocabulary's
 * seed. */
int32_t mgk_vocabulary_find_joined(const mgk_vocabulary *vocabulary, uint64_t hash, mgk_span first,
                                   mgk_span second);

/* The token of an id, data NULL: none. Valid until the next mgk_vocabulary_set. */
mgk_span mgk_vocabulary_token(const mgk_vocabulary *vocabulary, int32_t id);

/* The largest id plus one. */
int32_t mgk_vocabulary_size(const mgk_vocabulary *vocabulary);

void mgk_vocabulary_free(mgk_vocabulary *vocabulary);

#endif
