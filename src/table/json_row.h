/* Rows of a table as JSON. */
#ifndef MGK_TABLE_JSON_ROW_H
#define MGK_TABLE_JSON_ROW_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "table/table.h"

/* The value of a column in row r: a number, a string, or null where it was not computed. */
void mgk_table_print_value(FILE *file, const mgk_table *table, size_t column, size_t r);

/* Takes it back. STATUS_FORMAT: of another type, or out of range; the message names the column. */
mgk_status mgk_table_parse_value(const cJSON *item, mgk_table *table, size_t column, size_t r);

#endif
