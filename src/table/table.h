/* SPDX-License-Identifier: MIT */
/*
 * A table of results: rows, and columns that describe their values. A measure adds a column to a
 * schema; the writers and readers of CSV, JSON and HDF5 loop over the columns of a schema and
 * contain no names.
 */
#ifndef MGK_TABLE_H
#define MGK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "table/names.h"

/* Type of the values in a table, and of the member in a record: the C structure from which a row is
 * made. */
typedef enum mgk_column_type {
    MGK_COLUMN_INTEGER,         /* 0 to INT32_MAX; size_t in a record */
    MGK_COLUMN_INTEGER_OR_NONE, /* the same, or -1 if the row has none; int32_t in a record */
    MGK_COLUMN_FLAG,            /* 0 or 1; bool in a record */
    MGK_COLUMN_WORD,            /* index in `words`; an enumeration in a record */
    MGK_COLUMN_NAME,            /* index in the table's names; int32_t in a record */
    MGK_COLUMN_REAL             /* finite, or NaN if it was not computed; double in a record */
} mgk_column_type;

/* The level of a column: the object that a row measures. */
typedef enum mgk_column_level {
    MGK_LEVEL_MATRIX, /* one head of one layer on one sample */
    MGK_LEVEL_PAIR,   /* two heads of a layer */
    MGK_LEVEL_LAYER,
    MGK_LEVEL_MODEL
} mgk_column_level;

/* "matrix", "pair", "layer" or "model". */
const char *mgk_column_level_name(mgk_column_level level);

typedef struct mgk_column {
    const char *name; /* letters, digits and underscores */
    mgk_column_type type;
    mgk_column_level level;
    const char *unit;         /* "": no unit */
    const char *formula;      /* a formula or a few words */
    const char *source;       /* author and year; "": this toolkit's, or common knowledge */
    const char *const *words; /* for MGK_COLUMN_WORD, [word_count] */
    size_t word_count;
    size_t offset; /* of the value in a record */
    bool optional; /* files of earlier versions may lack it */
} mgk_column;

/* Whether a column holds words or names. */
bool mgk_column_is_text(const mgk_column *column);

/* Whether rows may have no value in a column. */
bool mgk_column_has_gaps(const mgk_column *column);

/* The columns of one kind of table, and the names in its files. */
typedef struct mgk_schema {
    const char *format;        /* HDF5: the root attribute `format` */
    int32_t version;           /* HDF5: the root attribute `format_version` */
    const char *title;         /* for messages: "rank table" */
    const char *rows;          /* JSON: name of the array of rows */
    const mgk_column *columns; /* [column_count] */
    size_t column_count;
} mgk_schema;

/* Values of one column; integers for all types except MGK_COLUMN_REAL. NULL: the table lacks it. */
typedef union mgk_values {
    int32_t *integers;
    double *reals;
} mgk_values;

/* A zeroed table is empty. */
typedef struct mgk_table {
    const mgk_schema *schema;
    size_t row_count;
    mgk_values *values; /* [schema->column_count], each [row_count] */
    mgk_names names;    /* the texts of all columns of names */
    char *settings;     /* the settings that made the table, a JSON object; NULL: not known */
} mgk_table;

/* Makes a table with all columns, zeroed. STATUS_MEMORY. */
mgk_status mgk_table_make(const mgk_schema *schema, size_t row_count, mgk_table *out);

/* The index of a text in the table's names, which it joins if it is new. STATUS_MEMORY;
 * STATUS_FORMAT: not valid UTF-8. */
mgk_status mgk_table_name(mgk_table *table, const char *text, int32_t *index);

/* The text of row r in a column of words or names. */
const char *mgk_table_text(const mgk_table *table, size_t column, size_t r);

/* Whether row r has no value. */
bool mgk_table_is_none(const mgk_table *table, size_t column, size_t r);

/* Releases the columns; a zeroed table is accepted. */
void mgk_table_free(mgk_table *table);

/* The position of a column in the schema; column_count: no column has this name. */
size_t mgk_schema_find(const mgk_schema *schema, const char *name);

/* Copies a record into row r; names are there already. STATUS_FORMAT: a member is out of the range
 * of its column. */
mgk_status mgk_table_put(mgk_table *table, size_t r, const void *record);

/* Copies row r into a record; members of columns that the table lacks stay unchanged. */
void mgk_table_get(const mgk_table *table, size_t r, void *record);

/* ---- for readers ----------------------------------------------------------------------------- */

/* Allocates the values [row_count] of a column that the table lacks. STATUS_MEMORY. */
mgk_status mgk_table_add_column(mgk_table *table, size_t column);

/* Stores one value that is not trusted. STATUS_FORMAT: out of the column's range; the message names
 * the column. */
mgk_status mgk_table_set_integer(mgk_table *table, size_t column, size_t r, double value);
mgk_status mgk_table_set_real(mgk_table *table, size_t column, size_t r, double value);
mgk_status mgk_table_set_text(mgk_table *table, size_t column, size_t r, const char *text);

/* Stores that row r has no value, in a column of a type that allows it. */
void mgk_table_set_none(mgk_table *table, size_t column, size_t r);

/* STATUS_FORMAT: a column that is not optional is missing. */
mgk_status mgk_table_check(const mgk_table *table);

#endif
