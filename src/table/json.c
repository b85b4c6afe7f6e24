/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "table/json_row.h"
#include "table/text.h"

void mgk_table_print_value(FILE *file, const mgk_table *table, size_t column, size_t r)
{
    const mgk_column *c = &table->schema->columns[column];
    if (mgk_table_is_none(table, column, r))
        fputs("null", file);
    else if (mgk_column_is_text(c))
        mgk_print_string(file, mgk_table_text(table, column, r), "");
    else if (c->type == MGK_COLUMN_REAL)
        mgk_print_real(file, table->values[column].reals[r]);
    else
        fprintf(file, "%d", (int)table->values[column].integers[r]);
}

static void begin(FILE *file, const mgk_table_chunks *chunks)
{
    fprintf(file, "{\"settings\": %s,\n\"%s\": [", chunks->settings ? chunks->settings : "{}",
            chunks->schema->rows);
}

static void write_row(FILE *file, const mgk_table *table, size_t r, bool first)
{
    fputs(first ? "\n" : ",\n", file);
    for (size_t c = 0; c < table->schema->column_count; c++) {
        fprintf(file, "%s\"%s\": ", c > 0 ? ", " : "{", table->schema->columns[c].name);
        mgk_table_print_value(file, table, c, r);
    }
    fputc('}', file);
}

/* What follows the rows. */
typedef struct json_tail {
    mgk_table_text_tail write;
    const void *state;
} json_tail;

static mgk_status end(FILE *file, const void *state)
{
    const json_tail *tail = state;
    fputc(']', file);
    if (tail->write)
        TRY(tail->write(file, tail->state));
    fputs("}\n", file);
    return STATUS_OK;
}

mgk_status mgk_table_write_json_chunks(const mgk_table_chunks *chunks, const char *path, bool force,
                                       mgk_table_text_tail tail, const void *state)
{
    static const mgk_table_text_format json = {begin, write_row, end};
    return mgk_table_write_text(&json, chunks, path, force, &(json_tail){tail, state});
}

mgk_status mgk_table_write_json(const mgk_table *table, const char *path, bool force,
                                mgk_table_text_tail tail, const void *state)
{
    const mgk_table_chunks chunks = mgk_table_only_chunk(&table);
    return mgk_table_write_json_chunks(&chunks, path, force, tail, state);
}

mgk_status mgk_table_parse_value(const cJSON *item, mgk_table *table, size_t column, size_t r)
{
    const mgk_column *c = &table->schema->columns[column];
    const bool text = mgk_column_is_text(c);
    if (text && cJSON_IsString(item))
        return mgk_table_set_text(table, column, r, item->valuestring);
    if (cJSON_IsNull(item) && mgk_column_has_gaps(c)) {
        mgk_table_set_none(table, column, r);
        return STATUS_OK;
    }
    if (text || !cJSON_IsNumber(item))
        return mgk_fail(STATUS_FORMAT, "\"%s\" is not a %s", c->name, text ? "word" : "number");
    return c->type == MGK_COLUMN_REAL ? mgk_table_set_real(table, column, r, item->valuedouble)
                                      : mgk_table_set_integer(table, column, r, item->valuedouble);
}

/* Parses row r; the first row determines the columns of the table. seen [column_count] contains the
 * last row that had the column, plus one. */
static mgk_status parse_row(const cJSON *object, mgk_table *table, size_t r, size_t *seen)
{
    const mgk_schema *schema = table->schema;
    const cJSON *item;
    if (!cJSON_IsObject(object))
        return mgk_fail(STATUS_FORMAT, "not an object");
    cJSON_ArrayForEach(item, object)
    {
        size_t c = mgk_schema_find(schema, item->string);
        if (c == schema->column_count)
            continue;
        if (r == 0 && !table->values[c].integers)
            TRY(mgk_table_add_column(table, c));
        if (!table->values[c].integers || seen[c] == r + 1)
            return mgk_fail(STATUS_FORMAT, "\"%s\" is there twice, or not in the first row",
                            item->string);
        seen[c] = r + 1;
        TRY(mgk_table_parse_value(item, table, c, r));
    }
    for (size_t c = 0; c < schema->column_count; c++)
        if (table->values[c].integers && seen[c] != r + 1)
            return mgk_fail(STATUS_FORMAT, "no \"%s\"", schema->columns[c].name);
    return STATUS_OK;
}

static mgk_status parse_rows(const cJSON *rows, mgk_table *table)
{
    mgk_status status = STATUS_OK;
    const cJSON *object;
    size_t *seen, r = 0;
    char where[80];
    if (!cJSON_IsArray(rows))
        return mgk_fail(STATUS_FORMAT, "no array \"%s\"", table->schema->rows);
    table->row_count = (size_t)cJSON_GetArraySize(rows);
    TRY(mgk_alloc(table->schema->column_count, sizeof(*seen), &seen));
    for (object = rows->child; object && status == STATUS_OK; object = object->next, r++) {
        status = parse_row(object, table, r, seen);
        if (status != STATUS_OK) {
            snprintf(where, sizeof(where), "\"%s\"[%zu]", table->schema->rows, r);
            mgk_fail_prefix(status, where);
        }
    }
    mgk_free(seen);
    return status;
}

static mgk_status parse_settings(const cJSON *settings, mgk_table *table)
{
    if (!cJSON_IsObject(settings))
        return mgk_fail(STATUS_FORMAT, "no object \"settings\"");
    char *text = cJSON_PrintUnformatted(settings);
    mgk_status status = text ? mgk_copy_string(text, &table->settings)
                             : mgk_fail(STATUS_MEMORY, "no memory for the settings");
    cJSON_free(text);
    return status;
}

mgk_status mgk_table_parse_json(char *text, size_t size, mgk_table *table)
{
    mgk_status status;
    cJSON *root;
    TRY(mgk_json_parse(text, size, &root));
    CHECK(parse_rows(cJSON_GetObjectItemCaseSensitive(root, table->schema->rows), table));
    /* Without rows the table has all columns. */
    for (size_t c = 0; table->row_count == 0 && c < table->schema->column_count; c++)
        CHECK(mgk_table_add_column(table, c));
    CHECK(parse_settings(cJSON_GetObjectItemCaseSensitive(root, "settings"), table));
out:
    cJSON_Delete(root);
    return status;
}
