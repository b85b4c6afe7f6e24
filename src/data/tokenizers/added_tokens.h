/* SPDX-License-Identifier: MIT */
/* Added tokens such as <|endoftext|>: they are found in the text before any other step. */
#ifndef MGK_DATA_ADDED_TOKENS_H
#define MGK_DATA_ADDED_TOKENS_H

#include <stdint.h>

#include "data/buffer.h"
#include "data/datasets/lines.h"

/* A search takes at most this many times the length of the text. */
enum { MGK_ADDED_TOKEN_MOST = 1024 /* bytes of one */ };

typedef struct mgk_added_token {
    int32_t id;
    bool single_word; /* only where no letter or digit touches it */
    bool left, right; /* the match includes the white space on that side */
} mgk_added_token;

/* A set of added tokens, as a tree by bytes. A zeroed one is empty. */
typedef struct mgk_added_tokens {
    mgk_buffer tokens; /* mgk_added_token */
    mgk_buffer nodes;
    uint32_t first[256]; /* nodes of the first byte, counted from 1 */
    bool takes_space;    /* a token contains a space, or includes the space on its right */
} mgk_added_tokens;

/* Adds a token. If the set has its content already, the content now means the new token.
 * STATUS_FORMAT: it is too long. An empty one is ignored. */
mgk_status mgk_added_tokens_add(mgk_added_tokens *set, mgk_span content, mgk_added_token token);

void mgk_added_tokens_free(mgk_added_tokens *set);

typedef struct mgk_added_match {
    size_t start, end; /* bytes of the text, including white space */
    int32_t id;
} mgk_added_match;

/* State of a search; zeroed it starts at the beginning. */
typedef struct mgk_added_search {
    size_t next; /* where the search continues */
    size_t done; /* end of the last match */
} mgk_added_search;

/* Finds the next match in the text, valid UTF-8: the leftmost, and of these the longest. White
 * space that a match includes can also be a token's own: such a token begins, and may end, before
 * the end of the match before it. false: no more. */
bool mgk_added_tokens_next(const mgk_added_tokens *set, mgk_span text, mgk_added_search *search,
                           mgk_added_match *match);

#endif
