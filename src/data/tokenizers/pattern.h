/* Regular expressions of tokenizer files, matched with bounds on what they may cost. */
#ifndef MGK_DATA_PATTERN_H
#define MGK_DATA_PATTERN_H

#include "data/datasets/lines.h"

typedef struct mgk_pattern mgk_pattern;

/*
 * Compiles a regular expression, or text that stands for itself; any thread may use it. Released
 * with mgk_pattern_free. STATUS_UNSUPPORTED says what is wrong with it.
 */
mgk_status mgk_pattern_compile(mgk_span text, bool literal, mgk_pattern **out);

void mgk_pattern_free(mgk_pattern *pattern); /* NULL is accepted */

/* The memory of one thread that matches. Released with mgk_matcher_free. */
typedef struct mgk_matcher mgk_matcher;

mgk_status mgk_matcher_create(mgk_matcher **out);
void mgk_matcher_free(mgk_matcher *matcher); /* NULL is accepted */

typedef struct mgk_match {
    size_t start, end; /* bytes of the text; end = start: matched nothing there */
    bool found;
} mgk_match;

/*
 * Finds the first match in valid UTF-8 that begins at byte `from` or behind. STATUS_UNSUPPORTED: it
 * takes too many steps.
 */
mgk_status mgk_pattern_find(const mgk_pattern *pattern, mgk_matcher *matcher, mgk_span text,
                            size_t from, mgk_match *match);

#endif
