/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "store/hdf5/h5_box.h"
#include "table/cell.h"
#include "table/files.h"

static hid_t type_of(const mgk_column *column)
{
    return column->type == MGK_COLUMN_REAL ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT32;
}

/* Lists texts [count] as "none, bound, measured"; release *out with free. */
static mgk_status list_texts(const char *const *texts, size_t count, char **out)
{
    size_t size;
    *out = NULL;
    FILE *stream = open_memstream(out, &size);
    if (!stream)
        return mgk_fail(STATUS_MEMORY, "no memory for a list of texts");
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", stream);
        mgk_cell_write(stream, texts[i]);
    }
    if (mgk_close_text(stream))
        return STATUS_OK;
    free(*out);
    return mgk_fail(STATUS_MEMORY, "no memory for a list of %zu texts", count);
}

static mgk_status describe_column(const mgk_h5_file *file, const mgk_table *table, size_t c,
                                  hid_t dataset)
{
    const mgk_column *column = &table->schema->columns[c];
    char *codes;
    TRY(mgk_h5_put_string(file, dataset, "formula", column->formula));
    TRY(mgk_h5_put_string(file, dataset, "unit", column->unit));
    TRY(mgk_h5_put_string(file, dataset, "source", column->source));
    TRY(mgk_h5_put_string(file, dataset, "level", mgk_column_level_name(column->level)));
    if (!mgk_column_is_text(column))
        return STATUS_OK;
    if (column->type == MGK_COLUMN_NAME)
        TRY(list_texts(table->names.texts, table->names.count, &codes));
    else
        TRY(list_texts(column->words, column->word_count, &codes));
    mgk_status status = mgk_h5_put_string(file, dataset, "codes", codes);
    free(codes);
    return status;
}

static mgk_status write_columns(const mgk_h5_file *file, const mgk_table *table)
{
    const hsize_t start = 0, count = table->row_count;
    hid_t scale, dataset;
    TRY(mgk_h5_create_scale(file, "row", "row", table->row_count, NULL, &scale));
    for (size_t c = 0; c < table->schema->column_count; c++) {
        const mgk_column *column = &table->schema->columns[c];
        hid_t type = type_of(column);
        TRY(mgk_h5_create_dataset(file, column->name, type, 1, &count, H5P_DEFAULT, &dataset));
        TRY(mgk_h5_write_box(file, column->name, dataset, 1, &start, &count, type,
                             table->values[c].integers));
        TRY(mgk_h5_set_axis(file, dataset, 0, "row", scale));
        TRY(describe_column(file, table, c, dataset));
    }
    return STATUS_OK;
}

static mgk_status fill(mgk_h5_file *file, const mgk_table *table, mgk_table_h5_tail tail,
                       const void *state)
{
    TRY(mgk_h5_put_string(file, file->id, "format", table->schema->format));
    TRY(mgk_h5_put_integer(file, file->id, "format_version", table->schema->version));
    TRY(mgk_h5_put_string(file, file->id, "settings", table->settings ? table->settings : "{}"));
    TRY(mgk_h5_put_warnings(file, table->settings));
    TRY(write_columns(file, table));
    if (tail)
        TRY(tail(file, state));
    return mgk_h5_finish(file);
}

mgk_status mgk_table_write_h5(const mgk_table *table, const char *path, bool force,
                              mgk_table_h5_tail tail, const void *state)
{
    mgk_output output;
    mgk_h5_file file;
    if (table->row_count == 0 || table->row_count > INT32_MAX)
        return mgk_fail(STATUS_USAGE, "%s: a table of %zu rows", path, table->row_count);
    TRY(mgk_output_open(path, force, &output));
    mgk_h5_enter();
    mgk_status status = mgk_h5_create(output.temporary, path, &file);
    if (status == STATUS_OK)
        status = fill(&file, table, tail, state);
    mgk_h5_abandon(&file);
    mgk_h5_leave();
    if (status == STATUS_OK)
        status = mgk_output_commit(&output);
    mgk_output_discard(&output);
    return status;
}

/* The texts of a column's codes, which may be those of another version. */
typedef struct code_list {
    const char **texts; /* [count] */
    int32_t *names;     /* [count], their indices in the table's names; NULL: a column of words */
    size_t count;
} code_list;

/* Cuts a list as list_texts makes, in place; release the members with mgk_free. */
static mgk_status cut_texts(char *text, code_list *out)
{
    size_t room = 0;
    for (char end = ','; end != '\0'; out->count++) {
        TRY(mgk_grow(out->count, sizeof(*out->texts), &room, &out->texts));
        TRY(mgk_cell_take(&text, &out->texts[out->count], &end));
        text += *text == ' ';
    }
    return STATUS_OK;
}

/* Adds the texts to the table's names. */
static mgk_status name_texts(code_list *codes, mgk_table *table)
{
    /* One more, so that it is not NULL without texts. */
    TRY(mgk_alloc(codes->count + 1, sizeof(*codes->names), &codes->names));
    for (size_t i = 0; i < codes->count; i++)
        TRY(mgk_table_name(table, codes->texts[i], &codes->names[i]));
    return STATUS_OK;
}

static mgk_status take_code(const code_list *codes, int32_t code, mgk_table *table, size_t c,
                            size_t r)
{
    const mgk_column *column = &table->schema->columns[c];
    const bool listed = code >= 0 && (size_t)code < codes->count, word = !codes->names;
    if (listed && word)
        return mgk_table_set_text(table, c, r, codes->texts[code]);
    if (listed || word)
        return mgk_table_set_integer(table, c, r, word ? code : codes->names[code]);
    return mgk_fail(STATUS_FORMAT, "\"%s\" is %d, but its codes list %zu %s", column->name, code,
                    codes->count, MGK_NOUN(codes->count, "text", "texts"));
}

/* Takes values [row_count] as stored. */
static mgk_status take_values(const code_list *codes, mgk_values values, mgk_table *table, size_t c)
{
    const mgk_column *column = &table->schema->columns[c];
    const bool real = column->type == MGK_COLUMN_REAL, text = mgk_column_is_text(column);
    char where[40];
    for (size_t r = 0; r < table->row_count; r++) {
        mgk_status status = real   ? mgk_table_set_real(table, c, r, values.reals[r])
                            : text ? take_code(codes, values.integers[r], table, c, r)
                                   : mgk_table_set_integer(table, c, r, values.integers[r]);
        if (status == STATUS_OK)
            continue;
        snprintf(where, sizeof(where), "row %zu", r + 1);
        return mgk_fail_prefix(status, where);
    }
    return STATUS_OK;
}

/* Reads the attribute `codes`. Without it a column of names has a list of no texts, and the codes
 * of words are those of this version. */
static mgk_status read_codes(const mgk_h5_file *file, hid_t dataset, char **text, mgk_table *table,
                             size_t c, code_list *out)
{
    const mgk_column *column = &table->schema->columns[c];
    TRY(mgk_h5_get_string(file, dataset, "codes", text));
    mgk_status status = *text ? cut_texts(*text, out) : STATUS_OK;
    if (status == STATUS_OK && column->type == MGK_COLUMN_NAME)
        status = name_texts(out, table);
    return status == STATUS_FORMAT
               ? mgk_fail(status, "codes of \"%s\": %s", column->name, mgk_fail_message())
               : status;
}

/* Takes the values of a column of words or names by the texts of its codes. */
static mgk_status take_coded(const mgk_h5_file *file, hid_t dataset, mgk_values values,
                             mgk_table *table, size_t c)
{
    code_list codes = {0};
    char *text = NULL;
    mgk_status status = read_codes(file, dataset, &text, table, c, &codes);
    if (status == STATUS_OK)
        status = take_values(&codes, values, table, c);
    mgk_free(codes.texts);
    mgk_free(codes.names);
    mgk_free(text);
    return status;
}

/* Reads an open dataset of row_count values. */
static mgk_status read_values(const mgk_h5_file *file, hid_t dataset, mgk_table *table, size_t c)
{
    const mgk_column *column = &table->schema->columns[c];
    const hsize_t start = 0, count = table->row_count;
    mgk_status status;
    mgk_values read = {NULL};
    TRY(mgk_table_add_column(table, c));
    if (column->type == MGK_COLUMN_REAL)
        CHECK(mgk_alloc(count, sizeof(double), &read.reals));
    else
        CHECK(mgk_alloc(count, sizeof(int32_t), &read.integers));
    CHECK(mgk_h5_read_box(file, column->name, dataset, 1, &start, &count, type_of(column),
                          read.integers));
    status = mgk_column_is_text(column) ? take_coded(file, dataset, read, table, c)
                                        : take_values(NULL, read, table, c);
    if (status != STATUS_OK)
        mgk_fail_prefix(status, file->path);
out:
    if (column->type == MGK_COLUMN_REAL)
        mgk_free(read.reals);
    else
        mgk_free(read.integers);
    return status;
}

static mgk_status read_column(const mgk_h5_file *file, mgk_table *table, size_t c)
{
    const mgk_column *column = &table->schema->columns[c];
    hsize_t count;
    int rank;
    hid_t dataset;
    TRY(mgk_h5_open_dataset(file, column->name,
                            column->type == MGK_COLUMN_REAL ? H5T_FLOAT : H5T_INTEGER, 1, &dataset,
                            &rank, &count));
    if (table->row_count == 0)
        table->row_count = count;
    mgk_status status = table->row_count == count
                            ? read_values(file, dataset, table, c)
                            : mgk_fail(STATUS_SHAPE, "%s: \"%s\" has %llu %s, expected %zu",
                                       file->path, column->name, (unsigned long long)count,
                                       MGK_NOUN(count, "row", "rows"), table->row_count);
    mgk_h5_close(dataset);
    return status;
}

static mgk_status check_format(const mgk_h5_file *file, const mgk_schema *schema)
{
    char *format;
    int32_t version;
    TRY(mgk_h5_get_string(file, file->id, "format", &format));
    bool known = format && strcmp(format, schema->format) == 0;
    mgk_free(format);
    if (!known)
        return mgk_fail(STATUS_FORMAT, "%s: not a %s", file->path, schema->title);
    TRY(mgk_h5_get_integer(file, file->id, "format_version", &version));
    if (version != schema->version)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: format_version is %d, expected %d", file->path,
                        version, schema->version);
    return STATUS_OK;
}

static mgk_status read_file(const mgk_h5_file *file, mgk_table_h5_reader reader, void *state,
                            mgk_table *table)
{
    const mgk_schema *schema = table->schema;
    TRY(check_format(file, schema));
    TRY(mgk_h5_get_string(file, file->id, "settings", &table->settings));
    for (size_t c = 0; c < schema->column_count; c++)
        if (!schema->columns[c].optional || mgk_h5_has_dataset(file, schema->columns[c].name))
            TRY(read_column(file, table, c));
    return reader ? reader(file, table, state) : STATUS_OK;
}

mgk_status mgk_table_read_h5(const mgk_schema *schema, const char *path, mgk_table_h5_reader reader,
                             void *state, mgk_table *out)
{
    mgk_h5_file file;
    *out = (mgk_table){.schema = schema};
    TRY(mgk_alloc(schema->column_count, sizeof(*out->values), &out->values));
    mgk_h5_enter();
    mgk_status status = mgk_h5_open(path, &file);
    if (status == STATUS_OK)
        status = read_file(&file, reader, state, out);
    mgk_h5_abandon(&file);
    mgk_h5_leave();
    if (status != STATUS_OK)
        mgk_table_free(out);
    return status;
}
