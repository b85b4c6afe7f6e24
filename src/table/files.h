/* SPDX-License-Identifier: MIT */
/*
 * The files of a result table. All three formats contain every column, and are written whole or not
 * at all.
 *
 * CSV. A line with the names of the columns in order, then one line per row. A value that was not
 * computed, or that the row does not have, is an empty cell. A text with a comma, quote or line end
 * is put between quotes (RFC 4180). CSV has no settings.
 * JSON. One object: "settings", then an array of rows under the schema's name for them. A row is an
 * object with one member per column; null: not computed, or not there.
 * HDF5. Root attributes `format`, `format_version`, `settings` (JSON), and `warnings`, lines of
 * text, if the settings have warnings. One dataset per column, f64 or int32, with the attributes
 * `formula`, `unit`, `source` and `level`; its axis "row" has the dimension scale /row. NaN: not
 * computed; -1: not there. Words and names are integers; the dataset's attribute `codes` lists
 * their texts, quoted as in CSV, with ", " between them.
 *
 * Numbers have enough digits to be read back unchanged, and a decimal point in every locale.
 * Readers accept columns in any order and ignore unknown ones.
 */
#ifndef MGK_TABLE_FILES_H
#define MGK_TABLE_FILES_H

#include <stdio.h>

#include "table/table.h"

struct mgk_h5_file;

typedef enum mgk_table_format { MGK_TABLE_CSV, MGK_TABLE_JSON, MGK_TABLE_HDF5 } mgk_table_format;

/* The format of a file with this ending: .csv, .json, .h5 or .hdf5. STATUS_USAGE: another one. */
mgk_status mgk_table_format_of(const char *path, mgk_table_format *out);

/* Write or read the parts of a file after the columns: members of JSON, objects of HDF5. */
typedef mgk_status (*mgk_table_text_tail)(FILE *file, const void *state);
typedef mgk_status (*mgk_table_h5_tail)(const struct mgk_h5_file *file, const void *state);
typedef mgk_status (*mgk_table_h5_reader)(const struct mgk_h5_file *file, const mgk_table *table,
                                          void *state);

/* Write a table that has all columns. STATUS_EXISTS: `path` exists and `force` is not set;
 * STATUS_IO. A tail may be NULL. */
mgk_status mgk_table_write_csv(const mgk_table *table, const char *path, bool force);
mgk_status mgk_table_write_json(const mgk_table *table, const char *path, bool force,
                                mgk_table_text_tail tail, const void *state);
mgk_status mgk_table_write_h5(const mgk_table *table, const char *path, bool force,
                              mgk_table_h5_tail tail, const void *state);

/*
 * A table in pieces, so that memory need not hold all its rows. `next` sets *chunk to the next
 * piece, a table of this schema with all columns, which the callee owns and keeps until the next
 * call; NULL after the last one. A piece has its own names, and its settings are not read.
 */
typedef struct mgk_table_chunks {
    const mgk_schema *schema;
    const char *settings; /* as in mgk_table */
    mgk_status (*next)(void *state, const mgk_table **chunk);
    void *state;
} mgk_table_chunks;

/* Write the rows of all chunks to one file, as above. A failure of `next` is returned, and leaves
 * no file. */
mgk_status mgk_table_write_csv_chunks(const mgk_table_chunks *chunks, const char *path, bool force);
mgk_status mgk_table_write_json_chunks(const mgk_table_chunks *chunks, const char *path, bool force,
                                       mgk_table_text_tail tail, const void *state);

/*
 * Read a file of CSV or JSON, recognised by content, or of HDF5. The file is not trusted. Release
 * the table with mgk_table_free; after a failure it is empty. STATUS_FORMAT: the message names the
 * file, and the line, row or column. STATUS_SHAPE: columns of HDF5 with different lengths.
 */
mgk_status mgk_table_read_text(const mgk_schema *schema, const char *path, mgk_table *out);
mgk_status mgk_table_read_h5(const mgk_schema *schema, const char *path, mgk_table_h5_reader reader,
                             void *state, mgk_table *out);

#endif
