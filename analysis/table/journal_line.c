#include "analysis/table/journal_line.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "analysis/table/results_private.h"
#include "base/json.h"

/* Whole numbers of a double reach so far. */
static const double integer_limit = 9007199254740992;

/* The members of a row that are real numbers. */
static const size_t measures[] = {
    offsetof(mgk_rank_row, sigma_max),      offsetof(mgk_rank_row, sigma_min),
    offsetof(mgk_rank_row, effective_rank), offsetof(mgk_rank_row, stable_rank),
    offsetof(mgk_rank_row, sigma_ratio),    offsetof(mgk_rank_row, energy[0]),
    offsetof(mgk_rank_row, energy[1]),      offsetof(mgk_rank_row, energy[2]),
    offsetof(mgk_rank_row, energy[3]),      offsetof(mgk_rank_row, frobenius),
    offsetof(mgk_rank_row, noise_floor),    offsetof(mgk_rank_row, row_sum_error),
    offsetof(mgk_rank_row, column_sum_max),
};

enum { MEASURES = sizeof(measures) / sizeof(*measures) };
_Static_assert(MGK_ENERGIES == 4, "all energies are among the measures");

/* JSON has no NaN. */
static void write_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, "%.17g", value);
    else
        fputs("null", file);
}

static void write_count(FILE *file, const mgk_rank_count *count)
{
    fprintf(file, "[%zu,%zu,%zu,%d,%d,", count->rank, count->rank_low, count->rank_high,
            count->undecided, (int)count->certificate);
    write_number(file, count->nearest);
    fputc(']', file);
}

void mgk_journal_line_write(FILE *file, size_t input, const mgk_rank_table *table, size_t r)
{
    const mgk_rank_row *row = &table->rows[r];
    const mgk_rank_count *counts = table->counts + r * table->threshold_count;
    fprintf(file, "{\"input\":%zu,\"matrix\":%zu,\"row\":[%zu,%zu,%zu,%zu,%d,%d", input, r,
            row->sample, row->layer, row->head, row->n, (int)row->format, (int)row->method);
    for (size_t i = 0; i < MEASURES; i++) {
        double value;
        memcpy(&value, (const char *)row + measures[i], sizeof(value));
        fputc(',', file);
        write_number(file, value);
    }
    fputs("],\"counts\":[", file);
    for (size_t t = 0; t < table->threshold_count; t++) {
        fputs(t > 0 ? "," : "", file);
        write_count(file, &counts[t]);
    }
    fputs("],\"sigma\":[", file);
    for (size_t i = 0; i < row->n && table->n_max > 0; i++) {
        fputs(i > 0 ? "," : "", file);
        write_number(file, table->spectra[r * table->n_max + i]);
    }
    fputs("]}\n", file);
}

/* A whole number below `limit`. */
static mgk_status check_integer(const cJSON *item, double limit, size_t *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || !(item->valuedouble < limit) ||
        item->valuedouble != floor(item->valuedouble))
        return mgk_fail(STATUS_FORMAT, "expected a whole number below %.0f", limit);
    *out = (size_t)item->valuedouble;
    return STATUS_OK;
}

/* Takes the next item of an array off *item. */
static mgk_status take_integer(const cJSON **item, double limit, size_t *out)
{
    TRY(check_integer(*item, limit, out));
    *item = (*item)->next;
    return STATUS_OK;
}

/* The same for a real number; null is NaN. */
static mgk_status take_number(const cJSON **item, double *out)
{
    if (!cJSON_IsNull(*item) && !(cJSON_IsNumber(*item) && isfinite((*item)->valuedouble)))
        return mgk_fail(STATUS_FORMAT, "expected a finite number or null");
    *out = cJSON_IsNull(*item) ? NAN : (*item)->valuedouble;
    *item = (*item)->next;
    return STATUS_OK;
}

/* The first item of an array, behind which the others come; NULL where it is none or empty. */
static const cJSON *array_of(const cJSON *object, const char *name)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsArray(array) ? array->child : NULL;
}

static mgk_status expect_end(const cJSON *item, const char *name)
{
    return item ? mgk_fail(STATUS_FORMAT, "\"%s\" is too long", name) : STATUS_OK;
}

static mgk_status parse_row(const cJSON *object, mgk_rank_row *row)
{
    const cJSON *item = array_of(object, "row");
    size_t format = 0, method = 0;
    *row = (mgk_rank_row){0};
    TRY(take_integer(&item, INDEX_MAX, &row->sample));
    TRY(take_integer(&item, INDEX_MAX, &row->layer));
    TRY(take_integer(&item, INDEX_MAX, &row->head));
    TRY(take_integer(&item, INDEX_MAX, &row->n));
    TRY(take_integer(&item, MGK_FLOAT_COUNT, &format));
    TRY(take_integer(&item, MGK_METHOD_COUNT, &method));
    row->format = (mgk_float_format)format;
    row->method = (mgk_rank_method)method;
    for (size_t i = 0; i < MEASURES; i++) {
        double value = 0;
        TRY(take_number(&item, &value));
        memcpy((char *)row + measures[i], &value, sizeof(value));
    }
    return expect_end(item, "row");
}

static mgk_status parse_count(const cJSON *array, const mgk_rank_row *row, mgk_rank_count *count)
{
    const cJSON *item = cJSON_IsArray(array) ? array->child : NULL;
    size_t undecided = 0, certificate = 0;
    TRY(take_integer(&item, INDEX_MAX, &count->rank));
    TRY(take_integer(&item, INDEX_MAX, &count->rank_low));
    TRY(take_integer(&item, INDEX_MAX, &count->rank_high));
    TRY(take_integer(&item, 2, &undecided));
    TRY(take_integer(&item, MGK_CERTIFICATE_COUNT, &certificate));
    TRY(take_number(&item, &count->nearest));
    TRY(expect_end(item, "counts"));
    count->undecided = undecided == 1;
    count->certificate = (mgk_certificate)certificate;
    const table_line line = {.row = *row, .count = *count, .threshold = NAN};
    return mgk_rank_check_line(&line);
}

static mgk_status parse_counts(const cJSON *object, const mgk_rank_row *row, size_t thresholds,
                               mgk_rank_count *counts)
{
    const cJSON *item = array_of(object, "counts");
    for (size_t t = 0; t < thresholds; t++) {
        TRY(parse_count(item, row, &counts[t]));
        item = item->next;
    }
    return expect_end(item, "counts");
}

/* Numbers for each of n, NaN for the columns behind them. */
static mgk_status parse_spectrum(const cJSON *object, size_t n, size_t columns, double *sigma)
{
    const cJSON *item = array_of(object, "sigma");
    for (size_t i = 0; i < columns; i++) {
        sigma[i] = NAN;
        if (i < n)
            TRY(take_number(&item, &sigma[i]));
    }
    return expect_end(item, "sigma");
}

static mgk_status parse_matrix(const cJSON *object, const mgk_source *source, size_t r,
                               mgk_rank_table *table)
{
    mgk_rank_row *row = &table->rows[r];
    TRY(parse_row(object, row));
    if (row->n > source->n_max)
        return mgk_fail(STATUS_FORMAT, "a matrix of %zu rows, expected at most %zu", row->n,
                        source->n_max);
    TRY(parse_counts(object, row, table->threshold_count,
                     table->counts + r * table->threshold_count));
    double *sigma = table->spectra ? table->spectra + r * table->n_max : NULL;
    return parse_spectrum(object, row->n, table->n_max, sigma);
}

static mgk_status parse_object(const cJSON *object, size_t input, const mgk_source *source,
                               mgk_rank_table *table, bool *known)
{
    size_t of_input = 0, r = 0;
    TRY(check_integer(cJSON_GetObjectItemCaseSensitive(object, "input"), INDEX_MAX, &of_input));
    if (of_input != input)
        return STATUS_OK;
    TRY(check_integer(cJSON_GetObjectItemCaseSensitive(object, "matrix"), integer_limit, &r));
    if (r >= source->count)
        return mgk_fail(STATUS_FORMAT, "matrix %zu, expected less than %zu", r, source->count);
    if (known[r])
        return mgk_fail(STATUS_FORMAT, "matrix %zu stands twice", r);
    known[r] = true;
    return parse_matrix(object, source, r, table);
}

mgk_status mgk_journal_line_parse(const char *line, size_t input, const mgk_source *source,
                                  mgk_rank_table *table, bool *known)
{
    cJSON *object;
    TRY(mgk_json_parse_object(line, strlen(line), &object));
    mgk_status status = parse_object(object, input, source, table, known);
    cJSON_Delete(object);
    return status;
}
