/* SPDX-License-Identifier: MIT */
/* Lines and fields of a text in memory, without copies. */
#ifndef MGK_DATA_LINES_H
#define MGK_DATA_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* A part of a text; not terminated, may hold any byte. */
typedef struct mgk_span {
    const char *data;
    size_t size;
} mgk_span;

/* A reader of lines: start with {.rest = the text}. */
typedef struct mgk_lines {
    mgk_span rest;
    size_t number; /* of the line read last, from 1 */
} mgk_lines;

/* The rows of a file: its text without the byte order mark of UTF-8 before it, and without the
 * blank lines after it, unless it has no others. */
mgk_span mgk_rows_of(const void *text, size_t size);

/* Reads the next line without its end (LF, CR LF or the end of the text); false: no more lines. */
bool mgk_next_line(mgk_lines *lines, mgk_span *line);

/* Cuts the field before the next `separator` (or the end) off *rest. After the last field *rest has
 * data = NULL; the next call returns false. */
bool mgk_next_field(mgk_span *rest, char separator, mgk_span *field);

/* Cuts the next run of bytes other than space and tab off *rest; false: no more words. */
bool mgk_next_word(mgk_span *rest, mgk_span *word);

bool mgk_span_equals(mgk_span span, const char *text);

enum { MGK_QUOTE_SIZE = 32 };

/* Writes the beginning of the span as printable text for a message; returns `out`. */
const char *mgk_quote(mgk_span span, char out[MGK_QUOTE_SIZE]);

/* Puts "path: line number: " in front of this thread's message; returns `status`. */
mgk_status mgk_fail_line(mgk_status status, const char *path, size_t number);

#endif
