/* SPDX-License-Identifier: MIT */
/* mgk_table_*: result tables in memory, by column. */
#include "table/table.h"

#include <string.h>

#include "api/api.h"
#include "base/memory.h"
#include "run/arguments.h"
#include "run/diversity_file.h"
#include "run/rank_file.h"
#include "run/recognise.h"

static mgk_status read_file(const char *path, mgk_table *out)
{
    mgk_file_kind kind;
    TRY(mgk_recognise(path, &kind));
    return mgk_file_is_diversity(kind) ? mgk_diversity_file_read_table(path, out)
                                       : mgk_rank_file_read_columns(path, out);
}

static mgk_status open_table(const char *path, mgk_table **out)
{
    mgk_table *table;
    TRY(mgk_check_place("place for the table", out));
    *out = NULL;
    TRY(mgk_check_place("path", path));
    TRY(mgk_alloc(1, sizeof(*table), &table));
    mgk_status status = read_file(path, table);
    if (status == STATUS_OK)
        *out = table;
    else
        mgk_free(table);
    return status;
}

mgk_result mgk_table_open(const char *path, mgk_table **out)
{
    return mgk_api_result(open_table(path, out));
}

void mgk_table_close(mgk_table *table)
{
    if (!table)
        return;
    mgk_table_free(table);
    mgk_free(table);
}

size_t mgk_table_rows(const mgk_table *table)
{
    return table ? table->row_count : 0;
}

/* Files of earlier versions lack columns of the schema. */
static bool is_there(const mgk_table *table, size_t c)
{
    return table->values[c].integers != NULL;
}

size_t mgk_table_columns(const mgk_table *table)
{
    size_t count = 0;
    for (size_t c = 0; table && c < table->schema->column_count; c++)
        count += is_there(table, c);
    return count;
}

const char *mgk_table_settings(const mgk_table *table)
{
    return table ? table->settings : NULL;
}

static void view_column(const mgk_table *table, size_t c, mgk_table_column *out)
{
    const mgk_column *column = &table->schema->columns[c];
    const bool real = column->type == MGK_COLUMN_REAL, names = column->type == MGK_COLUMN_NAME;
    *out = (mgk_table_column){.name = column->name,
                              .formula = column->formula,
                              .unit = column->unit,
                              .source = column->source,
                              .reals = real ? table->values[c].reals : NULL,
                              .integers = real ? NULL : table->values[c].integers,
                              .words = names ? table->names.texts : column->words,
                              .word_count = names ? table->names.count : column->word_count};
}

/* Finds a column by name, or by position if the name is NULL. */
static mgk_status get_column(const mgk_table *table, size_t index, const char *name,
                             mgk_table_column *out)
{
    TRY(mgk_check_place("table", table));
    TRY(mgk_check_place("place for the column", out));
    *out = (mgk_table_column){0};
    for (size_t c = 0, seen = 0; c < table->schema->column_count; c++) {
        if (!is_there(table, c))
            continue;
        if (name ? strcmp(table->schema->columns[c].name, name) == 0 : seen == index) {
            view_column(table, c, out);
            return STATUS_OK;
        }
        seen++;
    }
    return name ? mgk_fail(STATUS_USAGE, "the table has no column \"%s\"", name)
                : mgk_fail(STATUS_USAGE, "column %zu: the table has %zu", index,
                           mgk_table_columns(table));
}

mgk_result mgk_table_get_column(const mgk_table *table, size_t index, mgk_table_column *out)
{
    return mgk_api_result(get_column(table, index, NULL, out));
}

mgk_result mgk_table_find_column(const mgk_table *table, const char *name, mgk_table_column *out)
{
    mgk_status status = mgk_check_place("name", name);
    return mgk_api_result(status == STATUS_OK ? get_column(table, 0, name, out) : status);
}
