#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table/results_private.h"
#include "base/memory.h"

#define HEADER "sample,layer,head,n,rank,undecided,sigma_max,sigma_min,effective_rank,stable_rank"
#define THRESHOLD_COLUMN ",threshold"
#define INPUT_COLUMN ",input"
#define RELATIVE_COLUMN ",relative"

/* The threshold that a file without a column for it has. */
static const double usual_threshold = 1e-6;

/* Which of the columns that are not always there a file has. */
typedef struct optional_columns {
    bool threshold, input, relative;
} optional_columns;

/* A cell that was not computed is empty. */
static void write_cell(FILE *file, double value)
{
    fputc(',', file);
    if (!isnan(value))
        mgk_rank_print_number(file, value);
}

static mgk_status write_lines(FILE *file, const mgk_rank_table *table)
{
    size_t thresholds = table->threshold_count;
    const bool usual = thresholds == 1 && table->thresholds[0] == usual_threshold;
    const optional_columns has = {!usual, mgk_rank_table_inputs(table) > 1,
                                  table->settings.relative};
    fprintf(file, "%s%s%s%s\n", HEADER, has.threshold ? THRESHOLD_COLUMN : "",
            has.input ? INPUT_COLUMN : "", has.relative ? RELATIVE_COLUMN : "");
    for (size_t i = 0; i < table->row_count * thresholds; i++) {
        const mgk_rank_row *row = &table->rows[i / thresholds];
        const mgk_rank_count *count = &table->counts[i];
        fprintf(file, "%zu,%zu,%zu,%zu,%zu,%d", row->sample, row->layer, row->head, row->n,
                count->rank, count->undecided);
        write_cell(file, row->sigma_max);
        write_cell(file, row->sigma_min);
        write_cell(file, row->effective_rank);
        write_cell(file, row->stable_rank);
        if (has.threshold)
            write_cell(file, table->thresholds[i % thresholds]);
        if (has.input)
            fprintf(file, ",%zu", row->input);
        if (has.relative)
            fputs(",1", file);
        fputc('\n', file);
    }
    return STATUS_OK;
}

mgk_status mgk_rank_table_write_csv(const mgk_rank_table *table, const char *path, bool force)
{
    return mgk_rank_table_write(table, path, force, write_lines);
}

/* Takes the next cell off *cursor: everything up to a comma or the end. */
static mgk_status take_cell(char **cursor, char **cell)
{
    if (!*cursor)
        return mgk_fail(STATUS_FORMAT, "too few columns");
    *cell = *cursor;
    char *comma = strchr(*cursor, ',');
    *cursor = comma ? comma + 1 : NULL;
    if (comma)
        *comma = '\0';
    return STATUS_OK;
}

static mgk_status take_integer(char **cursor, size_t *out)
{
    char *cell = NULL;
    TRY(take_cell(cursor, &cell));
    size_t digits = strspn(cell, "0123456789");
    if (digits == 0 || digits > 10 || cell[digits] != '\0')
        return mgk_fail(STATUS_FORMAT, "\"%.40s\", expected a whole number", cell);
    *out = strtoull(cell, NULL, 10);
    return STATUS_OK;
}

/* An empty cell reads as NaN. */
static mgk_status take_number(char **cursor, double *out)
{
    char *cell = NULL, *end;
    TRY(take_cell(cursor, &cell));
    *out = NAN;
    if (*cell == '\0')
        return STATUS_OK;
    *out = strtod(cell, &end);
    if (*end != '\0' || !isfinite(*out))
        return mgk_fail(STATUS_FORMAT, "\"%.40s\", expected a finite number", cell);
    return STATUS_OK;
}

static mgk_status parse_line(char *line, optional_columns has, table_line *out)
{
    char *cursor = line;
    size_t undecided = 0, relative = 1;
    mgk_rank_row *row = &out->row;
    mgk_rank_count *count = &out->count;
    *out = (table_line){.row = {.noise_floor = NAN, .row_sum_error = NAN, .column_sum_max = NAN},
                        .count = {.nearest = NAN},
                        .threshold = usual_threshold};
    mgk_rank_forget_spectrum(row);
    TRY(take_integer(&cursor, &row->sample));
    TRY(take_integer(&cursor, &row->layer));
    TRY(take_integer(&cursor, &row->head));
    TRY(take_integer(&cursor, &row->n));
    TRY(take_integer(&cursor, &count->rank));
    TRY(take_integer(&cursor, &undecided));
    TRY(take_number(&cursor, &row->sigma_max));
    TRY(take_number(&cursor, &row->sigma_min));
    TRY(take_number(&cursor, &row->effective_rank));
    TRY(take_number(&cursor, &row->stable_rank));
    if (has.threshold)
        TRY(take_number(&cursor, &out->threshold));
    if (has.input)
        TRY(take_integer(&cursor, &row->input));
    if (has.relative)
        TRY(take_integer(&cursor, &relative));
    if (relative != 1)
        return mgk_fail(STATUS_FORMAT, "relative is %zu, expected 1 in all lines", relative);
    if (cursor)
        return mgk_fail(STATUS_FORMAT, "too many columns");
    if (undecided > 1)
        return mgk_fail(STATUS_FORMAT, "undecided is %zu, expected 0 or 1", undecided);
    count->undecided = undecided == 1;
    count->rank_low = count->undecided ? 0 : count->rank;
    count->rank_high = count->undecided ? row->n : count->rank;
    return mgk_rank_check_line(out);
}

/* Copies one line of text, without its end, and moves *text behind it. */
static mgk_status take_line(const char **text, const char *end, char *line, size_t room)
{
    const char *stop = memchr(*text, '\n', (size_t)(end - *text));
    size_t length = (size_t)((stop ? stop : end) - *text);
    if (length >= room || memchr(*text, '\0', length))
        return mgk_fail(STATUS_FORMAT, "not a line of a rank table");
    memcpy(line, *text, length);
    line[length] = '\0';
    if (length > 0 && line[length - 1] == '\r')
        line[length - 1] = '\0';
    *text = stop ? stop + 1 : end;
    return STATUS_OK;
}

/* Moves *rest behind a column if that comes next. */
static bool take_column(const char **rest, const char *column)
{
    size_t length = strlen(column);
    bool there = strncmp(*rest, column, length) == 0;
    *rest += there ? length : 0;
    return there;
}

/* The first line of a file tells its columns. */
static mgk_status parse_header(const char *line, optional_columns *has)
{
    const char *rest = line;
    *has = (optional_columns){0};
    if (take_column(&rest, HEADER)) {
        has->threshold = take_column(&rest, THRESHOLD_COLUMN);
        has->input = take_column(&rest, INPUT_COLUMN);
        has->relative = take_column(&rest, RELATIVE_COLUMN);
        if (*rest == '\0')
            return STATUS_OK;
    }
    return mgk_fail(STATUS_FORMAT, "not a rank table: the first line is \"%.100s\"", line);
}

static size_t count_lines(const char *text, const char *end)
{
    size_t lines = 1;
    for (; text < end; text++)
        lines += *text == '\n';
    return lines;
}

mgk_status mgk_rank_table_parse_csv(const char *text, size_t size, mgk_rank_table *out)
{
    mgk_status status = STATUS_OK;
    char line[1024], where[48];
    const char *end = text + size;
    table_line *lines = NULL;
    size_t count = 0;
    optional_columns has;
    TRY(take_line(&text, end, line, sizeof(line)));
    TRY(parse_header(line, &has));
    CHECK(mgk_alloc(count_lines(text, end), sizeof(*lines), &lines));
    while (text < end) {
        status = take_line(&text, end, line, sizeof(line));
        if (status == STATUS_OK)
            status = parse_line(line, has, &lines[count]);
        if (status != STATUS_OK) {
            snprintf(where, sizeof(where), "line %zu", count + 2);
            mgk_fail_prefix(status, where);
            goto out;
        }
        count++;
    }
    CHECK(mgk_rank_table_group(count, lines, out));
    out->settings.relative = has.relative;
out:
    mgk_free(lines);
    return status;
}
