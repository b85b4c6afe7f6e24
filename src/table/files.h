/*
 * The files of a table of results. All three formats hold every column, and are written whole or
 * not at all.
 *
 * CSV. A line of the names of the columns in their order, then a line a row. What was not computed
 * is an empty cell. CSV has no settings.
 * JSON. One object: "settings", then an array of rows under the schema's name for them, in which a
 * row is an object with a member a column; null: not computed.
 * HDF5. Root attributes `format`, `format_version`, `settings` (JSON). A dataset a column, f64 or
 * int32, with attributes `formula`, `unit`, `source` and `level`; its axis "row" has the dimension
 * scale /row. NaN: not computed. Words are integers; the attribute `codes` of the dataset lists
 * them.
 *
 * Numbers are written in as many digits as they take to be read back as they are, with a point
 * whatever the locale. Readers take columns in any order and pass over those that they do not know.
 */
#ifndef MGK_TABLE_FILES_H
#define MGK_TABLE_FILES_H

#include <stdio.h>

#include "table/table.h"

struct mgk_h5_file;

/* Writes or reads what a file holds behind the columns: members of JSON, objects of HDF5. */
typedef mgk_status (*mgk_table_text_tail)(FILE *file, const void *state);
typedef mgk_status (*mgk_table_h5_tail)(const struct mgk_h5_file *file, const void *state);
typedef mgk_status (*mgk_table_h5_reader)(const struct mgk_h5_file *file, const mgk_table *table,
                                          void *state);

/* Of a table of all columns. STATUS_EXISTS: `path` exists, without `force`; STATUS_IO. A tail may
 * be NULL. */
mgk_status mgk_table_write_csv(const mgk_table *table, const char *path, bool force);
mgk_status mgk_table_write_json(const mgk_table *table, const char *path, bool force,
                                mgk_table_text_tail tail, const void *state);
mgk_status mgk_table_write_h5(const mgk_table *table, const char *path, bool force,
                              mgk_table_h5_tail tail, const void *state);

/*
 * Reads a file of CSV or JSON, told apart by content, or of HDF5. The file is not trusted. The
 * table is released with mgk_table_free, and empty after a failure. STATUS_FORMAT: the message
 * names the file, and the line, row or column. STATUS_SHAPE: columns of HDF5 that differ in length.
 */
mgk_status mgk_table_read_text(const mgk_schema *schema, const char *path, mgk_table *out);
mgk_status mgk_table_read_h5(const mgk_schema *schema, const char *path, mgk_table_h5_reader reader,
                             void *state, mgk_table *out);

#endif
