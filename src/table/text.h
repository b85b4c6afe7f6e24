/* Shared by the text formats, CSV and JSON. */
#ifndef MGK_TABLE_TEXT_H
#define MGK_TABLE_TEXT_H

#include "table/files.h"

/* Parse the text of a file, [size] and a terminating NUL, into an empty table. */
mgk_status mgk_table_parse_csv(char *text, size_t size, mgk_table *table);
mgk_status mgk_table_parse_json(char *text, size_t size, mgk_table *table);

/* Writes a text file by `body`, in a locale with a decimal point, whole or not at all. */
mgk_status mgk_table_write_text(const char *path, bool force,
                                mgk_status (*body)(FILE *file, const void *state),
                                const void *state);

#endif
