/* SPDX-License-Identifier: MIT */
/* Private to pattern.c: translates regular expressions of Oniguruma, the syntax of the tokenizers
 * library, to PCRE2. */
#ifndef MGK_DATA_PATTERN_SYNTAX_H
#define MGK_DATA_PATTERN_SYNTAX_H

#include "data/buffer.h"
#include "data/datasets/lines.h"

/*
 * Appends the expression with the same meaning for PCRE2 with UTF, UCP, MULTILINE and LF newlines.
 * STATUS_UNSUPPORTED names a construct whose meaning may differ. Errors that PCRE2 finds too are
 * left to PCRE2.
 */
mgk_status mgk_pattern_translate(mgk_span text, mgk_buffer *out);

#endif
