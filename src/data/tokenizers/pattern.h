/* SPDX-License-Identifier: MIT */
/* Matches regular expressions of tokenizer files at bounded cost. */
#ifndef MGK_DATA_PATTERN_H
#define MGK_DATA_PATTERN_H

#include "data/datasets/lines.h"

typedef struct mgk_pattern mgk_pattern;

/* Compiles a regular expression, or literal text; any thread may use it. Release it with
 * mgk_pattern_free. STATUS_UNSUPPORTED describes the problem. */
mgk_status mgk_pattern_compile(mgk_span text, bool literal, mgk_pattern **out);

void mgk_pattern_free(mgk_pattern *pattern); /* NULL is accepted */

/* The memory of one matching thread. Release it with mgk_matcher_free. */
typedef struct mgk_matcher mgk_matcher;

mgk_status mgk_matcher_create(mgk_matcher **out);
void mgk_matcher_free(mgk_matcher *matcher); /* NULL is accepted */

typedef struct mgk_match {
    size_t start, end; /* bytes of the text; end = start: an empty match */
    bool found;
} mgk_match;

/* Finds the first match that begins at byte `from` or later in valid UTF-8. STATUS_UNSUPPORTED: it
 * takes too many steps. */
mgk_status mgk_pattern_find(const mgk_pattern *pattern, mgk_matcher *matcher, mgk_span text,
                            size_t from, mgk_match *match);

/* A search for all matches: start with {.pattern, .text}. */
typedef struct mgk_matches {
    const mgk_pattern *pattern;
    mgk_span text;
    size_t from; /* where the search goes on */
    size_t end;  /* of the last match */
    bool any;    /* there was one */
} mgk_matches;

/* Finds the next match, which is not empty right behind another one; match->found is false after
 * the last one. STATUS_UNSUPPORTED as above. */
mgk_status mgk_matches_next(mgk_matches *matches, mgk_matcher *matcher, mgk_match *match);

#endif
