/* SPDX-License-Identifier: MIT */
#include "table/table.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

const char *mgk_column_level_name(mgk_column_level level)
{
    static const char *const names[] = {"matrix", "pair", "layer", "model"};
    return names[level];
}

bool mgk_column_is_text(const mgk_column *column)
{
    return column->type == MGK_COLUMN_WORD || column->type == MGK_COLUMN_NAME;
}

bool mgk_column_has_gaps(const mgk_column *column)
{
    return column->type == MGK_COLUMN_REAL || column->type == MGK_COLUMN_INTEGER_OR_NONE;
}

mgk_status mgk_table_add_column(mgk_table *table, size_t column)
{
    mgk_values *values = &table->values[column];
    const size_t room = table->row_count + 1; /* so that a column without rows is not NULL */
    return table->schema->columns[column].type == MGK_COLUMN_REAL
               ? mgk_alloc(room, sizeof(double), &values->reals)
               : mgk_alloc(room, sizeof(int32_t), &values->integers);
}

mgk_status mgk_table_make(const mgk_schema *schema, size_t row_count, mgk_table *out)
{
    mgk_status status;
    *out = (mgk_table){.schema = schema, .row_count = row_count};
    CHECK(mgk_alloc(schema->column_count, sizeof(*out->values), &out->values));
    for (size_t c = 0; c < schema->column_count; c++)
        CHECK(mgk_table_add_column(out, c));
    return STATUS_OK;
out:
    mgk_table_free(out);
    return status;
}

void mgk_table_free(mgk_table *table)
{
    for (size_t c = 0; table->values && c < table->schema->column_count; c++)
        if (table->schema->columns[c].type == MGK_COLUMN_REAL)
            mgk_free(table->values[c].reals);
        else
            mgk_free(table->values[c].integers);
    mgk_free(table->values);
    mgk_names_free(&table->names);
    mgk_free(table->settings);
    *table = (mgk_table){0};
}

size_t mgk_schema_find(const mgk_schema *schema, const char *name)
{
    size_t c = 0;
    while (c < schema->column_count && strcmp(schema->columns[c].name, name) != 0)
        c++;
    return c;
}

mgk_status mgk_table_name(mgk_table *table, const char *text, int32_t *index)
{
    return mgk_names_put(&table->names, text, index);
}

const char *mgk_table_text(const mgk_table *table, size_t column, size_t r)
{
    const mgk_column *c = &table->schema->columns[column];
    const int32_t index = table->values[column].integers[r];
    return c->type == MGK_COLUMN_NAME ? table->names.texts[index] : c->words[index];
}

void mgk_table_set_none(mgk_table *table, size_t column, size_t r)
{
    if (table->schema->columns[column].type == MGK_COLUMN_REAL)
        table->values[column].reals[r] = NAN;
    else
        table->values[column].integers[r] = -1;
}

bool mgk_table_is_none(const mgk_table *table, size_t column, size_t r)
{
    if (table->schema->columns[column].type == MGK_COLUMN_REAL)
        return isnan(table->values[column].reals[r]);
    return table->values[column].integers[r] < 0;
}

/* The greatest integer in a column. */
static double most_of(const mgk_table *table, const mgk_column *column)
{
    switch (column->type) {
    case MGK_COLUMN_FLAG:
        return 1;
    case MGK_COLUMN_WORD:
        return (double)column->word_count - 1;
    case MGK_COLUMN_NAME:
        return (double)table->names.count - 1;
    default:
        return INT32_MAX;
    }
}

mgk_status mgk_table_set_integer(mgk_table *table, size_t column, size_t r, double value)
{
    const mgk_column *c = &table->schema->columns[column];
    const double least = mgk_column_has_gaps(c) ? -1 : 0, most = most_of(table, c);
    if (!(value >= least && value <= most) || value != floor(value))
        return mgk_fail(STATUS_FORMAT, "\"%s\" is %g, expected a whole number from %.0f to %.0f",
                        c->name, value, least, most);
    table->values[column].integers[r] = (int32_t)value;
    return STATUS_OK;
}

mgk_status mgk_table_set_real(mgk_table *table, size_t column, size_t r, double value)
{
    if (isinf(value))
        return mgk_fail(STATUS_FORMAT, "\"%s\" is infinite", table->schema->columns[column].name);
    table->values[column].reals[r] = value;
    return STATUS_OK;
}

mgk_status mgk_table_set_text(mgk_table *table, size_t column, size_t r, const char *text)
{
    const mgk_column *c = &table->schema->columns[column];
    int32_t *index = &table->values[column].integers[r];
    if (c->type == MGK_COLUMN_NAME) {
        mgk_status status = mgk_table_name(table, text, index);
        return status == STATUS_FORMAT ? mgk_fail(status, "\"%s\": %s", c->name, mgk_fail_message())
                                       : status;
    }
    for (size_t i = 0; i < c->word_count; i++)
        if (strcmp(text, c->words[i]) == 0) {
            *index = (int32_t)i;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_FORMAT, "\"%s\" is \"%.40s\", which is not known", c->name, text);
}

mgk_status mgk_table_check(const mgk_table *table)
{
    for (size_t c = 0; c < table->schema->column_count; c++)
        if (!table->schema->columns[c].optional && !table->values[c].integers)
            return mgk_fail(STATUS_FORMAT, "not a %s: no column \"%s\"", table->schema->title,
                            table->schema->columns[c].name);
    return STATUS_OK;
}

/* Reads a record's member of one of the integer types. */
static double read_member(const mgk_column *column, const char *member)
{
    size_t integer;
    bool flag;
    int word;
    int32_t narrow;
    switch (column->type) {
    case MGK_COLUMN_FLAG:
        memcpy(&flag, member, sizeof(flag));
        return flag;
    case MGK_COLUMN_WORD:
        memcpy(&word, member, sizeof(word));
        return word;
    case MGK_COLUMN_INTEGER_OR_NONE:
    case MGK_COLUMN_NAME:
        memcpy(&narrow, member, sizeof(narrow));
        return narrow;
    default:
        memcpy(&integer, member, sizeof(integer));
        return (double)integer;
    }
}

static void write_member(const mgk_column *column, int32_t value, char *member)
{
    const size_t integer = (size_t)value;
    const bool flag = value != 0;
    const int word = value;
    switch (column->type) {
    case MGK_COLUMN_FLAG:
        memcpy(member, &flag, sizeof(flag));
        break;
    case MGK_COLUMN_WORD:
        memcpy(member, &word, sizeof(word));
        break;
    case MGK_COLUMN_INTEGER_OR_NONE:
    case MGK_COLUMN_NAME:
        memcpy(member, &value, sizeof(value));
        break;
    default:
        memcpy(member, &integer, sizeof(integer));
    }
}

mgk_status mgk_table_put(mgk_table *table, size_t r, const void *record)
{
    for (size_t c = 0; c < table->schema->column_count; c++) {
        const mgk_column *column = &table->schema->columns[c];
        const char *member = (const char *)record + column->offset;
        double value;
        if (column->type == MGK_COLUMN_REAL) {
            memcpy(&value, member, sizeof(value));
            TRY(mgk_table_set_real(table, c, r, value));
        } else {
            TRY(mgk_table_set_integer(table, c, r, read_member(column, member)));
        }
    }
    return STATUS_OK;
}

void mgk_table_get(const mgk_table *table, size_t r, void *record)
{
    for (size_t c = 0; c < table->schema->column_count; c++) {
        const mgk_column *column = &table->schema->columns[c];
        char *member = (char *)record + column->offset;
        if (!table->values[c].integers)
            continue;
        if (column->type == MGK_COLUMN_REAL)
            memcpy(member, &table->values[c].reals[r], sizeof(double));
        else
            write_member(column, table->values[c].integers[r], member);
    }
}
