/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "table/cell.h"
#include "table/text.h"

static void begin(FILE *file, const mgk_table_chunks *chunks)
{
    const mgk_schema *schema = chunks->schema;
    for (size_t c = 0; c < schema->column_count; c++)
        fprintf(file, "%s%s", c > 0 ? "," : "", schema->columns[c].name);
    fputc('\n', file);
}

static void write_cell(FILE *file, const mgk_table *table, size_t c, size_t r)
{
    const mgk_column *column = &table->schema->columns[c];
    if (mgk_table_is_none(table, c, r))
        return;
    if (mgk_column_is_text(column))
        mgk_cell_write(file, mgk_table_text(table, c, r));
    else if (column->type == MGK_COLUMN_REAL)
        mgk_print_real(file, table->values[c].reals[r]);
    else
        fprintf(file, "%d", (int)table->values[c].integers[r]);
}

static void write_row(FILE *file, const mgk_table *table, size_t r, bool first)
{
    (void)first;
    for (size_t c = 0; c < table->schema->column_count; c++) {
        if (c > 0)
            fputc(',', file);
        write_cell(file, table, c, r);
    }
    fputc('\n', file);
}

mgk_status mgk_table_write_csv_chunks(const mgk_table_chunks *chunks, const char *path, bool force)
{
    static const mgk_table_text_format csv = {begin, write_row, NULL};
    return mgk_table_write_text(&csv, chunks, path, force, NULL);
}

mgk_status mgk_table_write_csv(const mgk_table *table, const char *path, bool force)
{
    const mgk_table_chunks chunks = mgk_table_only_chunk(&table);
    return mgk_table_write_csv_chunks(&chunks, path, force);
}

/* A text in which cells are read. */
typedef struct reader {
    char *text;  /* the rest */
    size_t line; /* where the rest begins, from 1 */
} reader;

static mgk_status take_cell(reader *in, const char **cell, char *end)
{
    TRY(mgk_cell_take(&in->text, cell, end));
    for (const char *c = *cell; (c = strchr(c, '\n')); c++)
        in->line++;
    in->line += *end == '\n';
    return STATUS_OK;
}

/* The columns of the cells of a row; column_count: an unknown column. */
typedef struct layout {
    size_t *columns; /* [count] */
    size_t count, room;
} layout;

static mgk_status parse_header(reader *in, const mgk_schema *schema, layout *out)
{
    const char *cell;
    char end;
    do {
        TRY(take_cell(in, &cell, &end));
        TRY(mgk_grow(out->count, sizeof(*out->columns), &out->room, &out->columns));
        const size_t c = mgk_schema_find(schema, cell);
        for (size_t i = 0; i < out->count && c < schema->column_count; i++)
            if (out->columns[i] == c)
                return mgk_fail(STATUS_FORMAT, "two columns \"%s\"", cell);
        out->columns[out->count++] = c;
    } while (end == ',');
    return STATUS_OK;
}

/* At least the rows of the text: each is a line or several, and has a byte for each cell. */
static size_t count_rows(const char *text, const layout *cells)
{
    const size_t most = strlen(text) / cells->count + 1;
    size_t lines = 1;
    for (; (text = strchr(text, '\n')); text++)
        lines++;
    return lines < most ? lines : most;
}

static mgk_status add_columns(const layout *cells, mgk_table *table)
{
    for (size_t i = 0; i < cells->count; i++)
        if (cells->columns[i] < table->schema->column_count)
            TRY(mgk_table_add_column(table, cells->columns[i]));
    return mgk_table_check(table);
}

static mgk_status parse_cell(const char *cell, mgk_table *table, size_t c, size_t r)
{
    const mgk_column *column = &table->schema->columns[c];
    const bool real = column->type == MGK_COLUMN_REAL;
    const char *end;
    double value;
    if (mgk_column_is_text(column))
        return mgk_table_set_text(table, c, r, cell);
    if (*cell == '\0' && mgk_column_has_gaps(column)) {
        mgk_table_set_none(table, c, r);
        return STATUS_OK;
    }
    if (!mgk_read_real(cell, &end, &value) || *end != '\0')
        return mgk_fail(STATUS_FORMAT, "\"%s\" is \"%.40s\", expected a %s", column->name, cell,
                        real ? "finite number" : "whole number");
    return real ? mgk_table_set_real(table, c, r, value)
                : mgk_table_set_integer(table, c, r, value);
}

static mgk_status parse_row(reader *in, const layout *cells, mgk_table *table, size_t r)
{
    const char *cell;
    char end = ',';
    for (size_t i = 0; i < cells->count; i++) {
        if (end != ',')
            return mgk_fail(STATUS_FORMAT, "too few columns");
        TRY(take_cell(in, &cell, &end));
        if (cells->columns[i] < table->schema->column_count)
            TRY(parse_cell(cell, table, cells->columns[i], r));
    }
    return end == ',' ? mgk_fail(STATUS_FORMAT, "too many columns") : STATUS_OK;
}

/* Names the line of a failure. */
static mgk_status at_line(size_t line, mgk_status status)
{
    char where[48];
    if (status == STATUS_OK)
        return status;
    snprintf(where, sizeof(where), "line %zu", line);
    return mgk_fail_prefix(status, where);
}

/* Whether only empty lines are left, as editors and spreadsheets put them behind the last row. */
static bool is_blank(const char *text)
{
    return text[strspn(text, "\r\n")] == '\0';
}

static mgk_status parse_lines(reader *in, mgk_table *table, layout *cells)
{
    size_t r = 0;
    TRY(at_line(1, parse_header(in, table->schema, cells)));
    table->row_count = count_rows(in->text, cells);
    TRY(add_columns(cells, table));
    while (*in->text && !(r > 0 && is_blank(in->text))) {
        const size_t line = in->line; /* where the row begins */
        TRY(at_line(line, parse_row(in, cells, table, r++)));
    }
    table->row_count = r;
    return STATUS_OK;
}

mgk_status mgk_table_parse_csv(char *text, size_t size, mgk_table *table)
{
    reader in = {text, 1};
    layout cells = {0};
    if (strlen(text) != size)
        return mgk_fail(STATUS_FORMAT, "no table: it has a zero byte, and no text has one");
    if (size == 0)
        return mgk_fail(STATUS_FORMAT, "an empty file");
    mgk_status status = parse_lines(&in, table, &cells);
    mgk_free(cells.columns);
    return status;
}
