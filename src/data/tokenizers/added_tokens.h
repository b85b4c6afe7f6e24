/* Tokens that are found in a text before anything else happens to it, such as <|endoftext|>. */
#ifndef MGK_DATA_ADDED_TOKENS_H
#define MGK_DATA_ADDED_TOKENS_H

#include <stdint.h>

#include "data/buffer.h"
#include "data/datasets/lines.h"

/* Searching takes this many times the text at worst. */
enum { MGK_ADDED_TOKEN_MOST = 1024 /* bytes of one */ };

typedef struct mgk_added_token {
    int32_t id;
    bool single_word; /* only where no letter or digit touches it */
    bool left, right; /* takes the white space on that side along */
} mgk_added_token;

/* A set of them, as a tree by their bytes. A zeroed one is empty. */
typedef struct mgk_added_tokens {
    mgk_buffer tokens; /* mgk_added_token */
    mgk_buffer nodes;
    uint32_t first[256]; /* nodes of the first byte, counted from 1 */
    bool takes_space;    /* one has a space within, or takes space behind it along */
} mgk_added_tokens;

/* Adds one. A content that is there already means the new token from now on. STATUS_FORMAT: it is
 * too long. An empty one is left out. */
mgk_status mgk_added_tokens_add(mgk_added_tokens *set, mgk_span content, mgk_added_token token);

void mgk_added_tokens_free(mgk_added_tokens *set);

typedef struct mgk_added_match {
    size_t start, end; /* bytes of the text, white space that was taken along included */
    int32_t id;
} mgk_added_match;

/* A search under way; a zeroed one is at the beginning. */
typedef struct mgk_added_search {
    size_t next; /* where the search goes on */
    size_t done; /* end of the last match */
} mgk_added_search;

/* The next match in the text, valid UTF-8: the leftmost, of those the longest. False: no more. */
bool mgk_added_tokens_next(const mgk_added_tokens *set, mgk_span text, mgk_added_search *search,
                           mgk_added_match *match);

#endif
