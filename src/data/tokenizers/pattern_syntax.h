/* Private to pattern.c: regular expressions of Oniguruma, as the tokenizers library has them, in
 * the syntax of PCRE2. */
#ifndef MGK_DATA_PATTERN_SYNTAX_H
#define MGK_DATA_PATTERN_SYNTAX_H

#include "data/buffer.h"
#include "data/datasets/lines.h"

/*
 * Appends what means the same to PCRE2 with UTF, UCP and MULTILINE and newlines that are LF.
 * STATUS_UNSUPPORTED names what is not known to mean the same. Errors that PCRE2 finds as well are
 * left to it.
 */
mgk_status mgk_pattern_translate(mgk_span text, mgk_buffer *out);

#endif
