#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "table/text.h"

static void write_cell(FILE *file, const mgk_table *table, size_t c, size_t r)
{
    const mgk_column *column = &table->schema->columns[c];
    if (column->type == MGK_COLUMN_WORD)
        fputs(column->words[table->values[c].integers[r]], file);
    else if (column->type != MGK_COLUMN_REAL)
        fprintf(file, "%d", (int)table->values[c].integers[r]);
    else if (!isnan(table->values[c].reals[r]))
        mgk_print_real(file, table->values[c].reals[r]);
}

static mgk_status write_table(FILE *file, const void *state)
{
    const mgk_table *table = state;
    const mgk_schema *schema = table->schema;
    for (size_t c = 0; c < schema->column_count; c++)
        fprintf(file, "%s%s", c > 0 ? "," : "", schema->columns[c].name);
    fputc('\n', file);
    for (size_t r = 0; r < table->row_count; r++) {
        for (size_t c = 0; c < schema->column_count; c++) {
            if (c > 0)
                fputc(',', file);
            write_cell(file, table, c, r);
        }
        fputc('\n', file);
    }
    return STATUS_OK;
}

mgk_status mgk_table_write_csv(const mgk_table *table, const char *path, bool force)
{
    return mgk_table_write_text(path, force, write_table, table);
}

/* Cuts the next line off *text; NULL: no more lines. A line ends in \n or \r\n. */
static char *take_line(char **text)
{
    char *line = *text, *end = line ? strchr(line, '\n') : NULL;
    if (!line || *line == '\0')
        return NULL;
    *text = end ? end + 1 : NULL;
    if (!end)
        end = line + strlen(line);
    *end = '\0';
    if (end > line && end[-1] == '\r')
        end[-1] = '\0';
    return line;
}

/* Cuts the next cell off *line; NULL: no more cells. */
static char *take_cell(char **line)
{
    char *cell = *line, *comma = cell ? strchr(cell, ',') : NULL;
    *line = comma ? comma + 1 : NULL;
    if (comma)
        *comma = '\0';
    return cell;
}

/* The columns of the cells of a line; column_count: an unknown column. */
typedef struct layout {
    size_t *columns; /* [count] */
    size_t count;
} layout;

static size_t count_cells(const char *line)
{
    size_t count = 1;
    for (; *line; line++)
        count += *line == ',';
    return count;
}

static mgk_status parse_header(char *line, mgk_table *table, layout *out)
{
    const mgk_schema *schema = table->schema;
    const char *cell;
    out->count = 0;
    TRY(mgk_alloc(count_cells(line), sizeof(*out->columns), &out->columns));
    while ((cell = take_cell(&line))) {
        size_t c = out->columns[out->count++] = mgk_schema_find(schema, cell);
        if (c == schema->column_count)
            continue;
        if (table->values[c].integers)
            return mgk_fail(STATUS_FORMAT, "two columns \"%s\"", cell);
        TRY(mgk_table_add_column(table, c));
    }
    return mgk_table_check(table);
}

static mgk_status parse_cell(const char *cell, mgk_table *table, size_t c, size_t r)
{
    const mgk_column *column = &table->schema->columns[c];
    const bool real = column->type == MGK_COLUMN_REAL;
    const char *end;
    double value;
    if (column->type == MGK_COLUMN_WORD)
        return mgk_table_set_word(table, c, r, cell);
    if (real && *cell == '\0')
        return mgk_table_set_real(table, c, r, NAN);
    if (!mgk_read_real(cell, &end, &value) || *end != '\0')
        return mgk_fail(STATUS_FORMAT, "\"%s\" is \"%.40s\", expected a %s", column->name, cell,
                        real ? "finite number" : "whole number");
    return real ? mgk_table_set_real(table, c, r, value)
                : mgk_table_set_integer(table, c, r, value);
}

static mgk_status parse_line(char *line, const layout *cells, mgk_table *table, size_t r)
{
    for (size_t i = 0; i < cells->count; i++) {
        const char *cell = take_cell(&line);
        if (!cell)
            return mgk_fail(STATUS_FORMAT, "too few columns");
        if (cells->columns[i] < table->schema->column_count)
            TRY(parse_cell(cell, table, cells->columns[i], r));
    }
    return line ? mgk_fail(STATUS_FORMAT, "too many columns") : STATUS_OK;
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (const char *line = text; line && *line; lines++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return lines;
}

mgk_status mgk_table_parse_csv(char *text, size_t size, mgk_table *table)
{
    mgk_status status = STATUS_OK;
    layout cells = {0};
    char *line, where[48];
    if (strlen(text) != size)
        return mgk_fail(STATUS_FORMAT, "a zero byte in a table of text");
    line = take_line(&text);
    table->row_count = count_lines(text);
    CHECK(line ? parse_header(line, table, &cells) : mgk_fail(STATUS_FORMAT, "an empty file"));
    for (size_t r = 0; (line = take_line(&text)); r++) {
        status = parse_line(line, &cells, table, r);
        if (status != STATUS_OK) {
            snprintf(where, sizeof(where), "line %zu", r + 2);
            mgk_fail_prefix(status, where);
            break;
        }
    }
out:
    mgk_free(cells.columns);
    return status;
}
