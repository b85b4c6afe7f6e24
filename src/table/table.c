#include "table/table.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

const char *mgk_column_level_name(mgk_column_level level)
{
    static const char *const names[] = {"matrix", "pair", "layer", "model"};
    return names[level];
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

mgk_status mgk_table_set_integer(mgk_table *table, size_t column, size_t r, double value)
{
    const mgk_column *c = &table->schema->columns[column];
    const double most = c->type == MGK_COLUMN_FLAG   ? 1
                        : c->type == MGK_COLUMN_WORD ? (double)c->word_count - 1
                                                     : INT32_MAX;
    if (!(value >= 0 && value <= most) || value != floor(value))
        return mgk_fail(STATUS_FORMAT, "\"%s\" is %g, expected a whole number from 0 to %.0f",
                        c->name, value, most);
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

mgk_status mgk_table_set_word(mgk_table *table, size_t column, size_t r, const char *word)
{
    const mgk_column *c = &table->schema->columns[column];
    for (size_t i = 0; i < c->word_count; i++)
        if (strcmp(word, c->words[i]) == 0) {
            table->values[column].integers[r] = (int32_t)i;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_FORMAT, "\"%s\" is \"%.40s\", which is not known", c->name, word);
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
static size_t read_member(const mgk_column *column, const char *member)
{
    size_t integer;
    bool flag;
    int word;
    switch (column->type) {
    case MGK_COLUMN_FLAG:
        memcpy(&flag, member, sizeof(flag));
        return flag;
    case MGK_COLUMN_WORD:
        memcpy(&word, member, sizeof(word));
        return (size_t)word;
    default:
        memcpy(&integer, member, sizeof(integer));
        return integer;
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
            TRY(mgk_table_set_integer(table, c, r, (double)read_member(column, member)));
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
