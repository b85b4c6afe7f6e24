/* SPDX-License-Identifier: MIT */
#include "analysis/run/rank_line.h"

#include <math.h>
#include <string.h>

#include "analysis/table/rank_columns.h"
#include "base/json.h"
#include "table/json_row.h"

/* 2^53: doubles hold all integers up to here. */
static const double integer_limit = 9007199254740992;

/* 17 digits always suffice; finding the fewest takes longer, and nobody reads the file. */
static void write_real(FILE *file, double value)
{
    fprintf(file, "%.17g", value);
}

static void write_values(FILE *file, const mgk_table *rows, size_t t)
{
    for (size_t c = 0; c < rows->schema->column_count; c++) {
        const bool real = rows->schema->columns[c].type == MGK_COLUMN_REAL;
        fputc(c > 0 ? ',' : '[', file);
        if (real && !isnan(rows->values[c].reals[t]))
            write_real(file, rows->values[c].reals[t]);
        else
            mgk_table_print_value(file, rows, c, t);
    }
    fputc(']', file);
}

/* The singular values end with the first NaN: a matrix that is not square has fewer than rows. */
static void write_spectrum(FILE *file, size_t n, const double *sigma)
{
    for (size_t i = 0; i < n && !isnan(sigma[i]); i++) {
        fputs(i > 0 ? "," : "", file);
        write_real(file, sigma[i]);
    }
}

mgk_status mgk_rank_line_write(FILE *file, size_t input, const mgk_rank_table *table, size_t r)
{
    mgk_status status = STATUS_OK;
    const size_t thresholds = table->threshold_count;
    mgk_table rows;
    TRY(mgk_table_make(&mgk_rank_schema, thresholds, &rows));
    fprintf(file, "{\"input\":%zu,\"matrix\":%zu,\"rows\":[", input, r);
    for (size_t t = 0; t < thresholds; t++) {
        const mgk_rank_record record = mgk_rank_table_record(table, r * thresholds + t);
        CHECK(mgk_table_put(&rows, t, &record));
        fputs(t > 0 ? "," : "", file);
        write_values(file, &rows, t);
    }
    fputs("],\"sigma\":[", file);
    if (table->n_max > 0)
        write_spectrum(file, table->rows[r].n, table->spectra + r * table->n_max);
    fputs("]}\n", file);
out:
    mgk_table_free(&rows);
    return status;
}

/* Reads an integer below `limit`. */
static mgk_status read_integer(const cJSON *object, const char *name, double limit, size_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || !(item->valuedouble < limit) ||
        item->valuedouble != floor(item->valuedouble))
        return mgk_fail(STATUS_FORMAT, "\"%s\" is not a whole number below %.0f", name, limit);
    *out = (size_t)item->valuedouble;
    return STATUS_OK;
}

/* An array of `count` items. */
static mgk_status check_array(const cJSON *array, const char *name, size_t count)
{
    if (cJSON_IsArray(array) && (size_t)cJSON_GetArraySize(array) == count)
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT, "\"%s\" is not an array of %zu", name, count);
}

static mgk_status parse_values(const cJSON *array, mgk_table *rows, size_t t)
{
    TRY(check_array(array, "rows", rows->schema->column_count));
    const cJSON *item = array->child;
    for (size_t c = 0; c < rows->schema->column_count; c++, item = item->next)
        TRY(mgk_table_parse_value(item, rows, c, t));
    return STATUS_OK;
}

/* Parses the rows of matrix r, which must name the same matrix. */
static mgk_status parse_rows(const cJSON *array, const mgk_source *source, mgk_table *rows,
                             mgk_rank_table *table, size_t r)
{
    const size_t thresholds = table->threshold_count;
    TRY(check_array(array, "rows", thresholds));
    const cJSON *item = array->child;
    for (size_t t = 0; t < thresholds; t++, item = item->next) {
        mgk_rank_record record = {.threshold = NAN};
        TRY(parse_values(item, rows, t));
        mgk_table_get(rows, t, &record);
        TRY(mgk_rank_record_check(&record));
        if (record.row.n > source->n_max)
            return mgk_fail(STATUS_FORMAT, "a matrix of %zu rows, expected at most %zu",
                            record.row.n, source->n_max);
        if (t == 0)
            table->rows[r] = record.row;
        table->counts[r * thresholds + t] = record.count;
    }
    return STATUS_OK;
}

/* Parses the singular values of a matrix of n rows, followed by NaN; of cross-attention there may
 * be fewer than rows. */
static mgk_status parse_spectrum(const cJSON *array, const mgk_source *source, size_t n,
                                 size_t room, double *sigma)
{
    const size_t found = cJSON_IsArray(array) ? (size_t)cJSON_GetArraySize(array) : n;
    if (source->cross && found < n)
        n = found;
    TRY(check_array(array, "sigma", room > 0 ? n : 0));
    const cJSON *item = array->child;
    for (size_t i = 0; i < room; i++) {
        sigma[i] = NAN;
        if (i >= n)
            continue;
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            return mgk_fail(STATUS_FORMAT, "\"sigma\" is not an array of finite numbers");
        sigma[i] = item->valuedouble;
        item = item->next;
    }
    return STATUS_OK;
}

static mgk_status parse_matrix(const cJSON *object, const mgk_source *source, size_t r,
                               mgk_rank_table *table)
{
    mgk_table rows;
    TRY(mgk_table_make(&mgk_rank_schema, table->threshold_count, &rows));
    mgk_status status =
        parse_rows(cJSON_GetObjectItemCaseSensitive(object, "rows"), source, &rows, table, r);
    mgk_table_free(&rows);
    TRY(status);
    double *sigma = table->spectra ? table->spectra + r * table->n_max : NULL;
    return parse_spectrum(cJSON_GetObjectItemCaseSensitive(object, "sigma"), source,
                          table->rows[r].n, table->n_max, sigma);
}

static mgk_status parse_object(const cJSON *object, size_t input, const mgk_source *source,
                               mgk_rank_table *table, bool *known)
{
    size_t of_input = 0, r = 0;
    TRY(read_integer(object, "input", INT32_MAX, &of_input));
    if (of_input != input)
        return STATUS_OK;
    TRY(read_integer(object, "matrix", integer_limit, &r));
    if (r >= source->count)
        return mgk_fail(STATUS_FORMAT, "matrix %zu, expected less than %zu", r, source->count);
    if (known[r])
        return mgk_fail(STATUS_FORMAT, "matrix %zu is there twice", r);
    known[r] = true;
    return parse_matrix(object, source, r, table);
}

mgk_status mgk_rank_line_parse(const char *line, size_t input, const mgk_source *source,
                               mgk_rank_table *table, bool *known)
{
    cJSON *object;
    TRY(mgk_json_parse_object(line, strlen(line), &object));
    mgk_status status = parse_object(object, input, source, table, known);
    cJSON_Delete(object);
    return status;
}
