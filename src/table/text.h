/* SPDX-License-Identifier: MIT */
/* Shared by the text formats, CSV and JSON. */
#ifndef MGK_TABLE_TEXT_H
#define MGK_TABLE_TEXT_H

#include "table/files.h"

/* Parse the text of a file, [size] and a terminating NUL, into an empty table. */
mgk_status mgk_table_parse_csv(char *text, size_t size, mgk_table *table);
mgk_status mgk_table_parse_json(char *text, size_t size, mgk_table *table);

/* How a format writes what precedes the rows, a row, and what follows them; end may be NULL. */
typedef struct mgk_table_text_format {
    void (*begin)(FILE *file, const mgk_table_chunks *chunks);
    void (*row)(FILE *file, const mgk_table *table, size_t r, bool first);
    mgk_status (*end)(FILE *file, const void *state);
} mgk_table_text_format;

/* Writes a text file in a locale with a decimal point, whole or not at all; `state` is for `end`.
 */
mgk_status mgk_table_write_text(const mgk_table_text_format *format, const mgk_table_chunks *chunks,
                                const char *path, bool force, const void *state);

/* The chunks of one table, *left, which becomes NULL. */
mgk_table_chunks mgk_table_only_chunk(const mgk_table **left);

#endif
