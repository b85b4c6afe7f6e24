/* SPDX-License-Identifier: MIT */
/* Rows of a table in JSON. */
#ifndef MGK_TABLE_JSON_ROW_H
#define MGK_TABLE_JSON_ROW_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "table/table.h"

/* Prints the value of a column in row r: a number, a string, or null if it was not computed. */
void mgk_table_print_value(FILE *file, const mgk_table *table, size_t column, size_t r);

/* Parses such a value. STATUS_FORMAT: another type, or out of range; the message names the
 * column. */
mgk_status mgk_table_parse_value(const cJSON *item, mgk_table *table, size_t column, size_t r);

#endif
