#include "analysis/table/results.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/histogram.h"
#include "analysis/table/results_private.h"
#include "base/file.h"
#include "base/locale.h"
#include "base/memory.h"

mgk_status mgk_rank_table_make(size_t threshold_count, const double *thresholds, size_t n_max,
                               mgk_rank_table *out)
{
    *out = (mgk_rank_table){.threshold_count = threshold_count, .n_max = n_max};
    if (threshold_count == 0 || threshold_count > MGK_THRESHOLDS_MAX)
        return mgk_fail(STATUS_USAGE, "%zu thresholds, expected 1 to %d", threshold_count,
                        MGK_THRESHOLDS_MAX);
    TRY(mgk_alloc(threshold_count, sizeof(double), &out->thresholds));
    memcpy(out->thresholds, thresholds, threshold_count * sizeof(double));
    return STATUS_OK;
}

/* Moves *array, `used` of whose items matter, to room for `capacity` items. */
static mgk_status resize(void *array, size_t used, size_t capacity, size_t item)
{
    void *old, *fresh;
    TRY(mgk_alloc(capacity, item, &fresh));
    memcpy(&old, array, sizeof(old));
    if (old)
        memcpy(fresh, old, used * item);
    mgk_free(old);
    memcpy(array, &fresh, sizeof(fresh));
    return STATUS_OK;
}

mgk_status mgk_rank_table_reserve(mgk_rank_table *table, size_t rows)
{
    size_t used = table->row_count, thresholds = table->threshold_count, counts, values;
    if (rows <= table->capacity)
        return STATUS_OK;
    TRY(mgk_multiply(rows, thresholds, &counts));
    TRY(mgk_multiply(rows, table->n_max, &values));
    TRY(resize(&table->rows, used, rows, sizeof(*table->rows)));
    TRY(resize(&table->counts, used * thresholds, counts, sizeof(*table->counts)));
    if (table->n_max > 0)
        TRY(resize(&table->spectra, used * table->n_max, values, sizeof(double)));
    table->capacity = rows;
    return STATUS_OK;
}

static mgk_status grow(mgk_rank_table *table)
{
    size_t capacity = table->capacity > 0 ? table->capacity : 32;
    TRY(mgk_multiply(capacity, 2, &capacity));
    return mgk_rank_table_reserve(table, capacity);
}

mgk_status mgk_rank_table_append(mgk_rank_table *table)
{
    if (table->row_count == table->capacity)
        TRY(grow(table));
    size_t r = table->row_count++;
    for (size_t i = 0; i < table->n_max; i++)
        table->spectra[r * table->n_max + i] = NAN;
    return STATUS_OK;
}

mgk_status mgk_rank_table_join(mgk_rank_table *table, const mgk_rank_table *next)
{
    size_t thresholds = table->threshold_count, input = mgk_rank_table_inputs(table);
    if (next->threshold_count != thresholds ||
        memcmp(next->thresholds, table->thresholds, thresholds * sizeof(double)) != 0)
        return mgk_fail(STATUS_USAGE, "tables of different thresholds do not join");
    mgk_free(table->spectra);
    table->spectra = NULL;
    table->n_max = 0;
    for (size_t i = 0; i < next->row_count; i++) {
        TRY(mgk_rank_table_append(table));
        size_t r = table->row_count - 1;
        table->rows[r] = next->rows[i];
        table->rows[r].input = input;
        memcpy(table->counts + r * thresholds, next->counts + i * thresholds,
               thresholds * sizeof(*table->counts));
    }
    return STATUS_OK;
}

size_t mgk_rank_table_inputs(const mgk_rank_table *table)
{
    return table->row_count > 0 ? table->rows[table->row_count - 1].input + 1 : 0;
}

mgk_rank_table mgk_rank_table_input(const mgk_rank_table *table, size_t input)
{
    mgk_rank_table part = *table;
    size_t first = 0, end;
    while (first < table->row_count && table->rows[first].input < input)
        first++;
    for (end = first; end < table->row_count && table->rows[end].input == input;)
        end++;
    part.row_count = part.capacity = end - first;
    if (part.row_count == 0)
        return part;
    part.rows += first;
    part.counts += first * table->threshold_count;
    if (part.spectra)
        part.spectra += first * table->n_max;
    return part;
}

void mgk_rank_settings_free(mgk_rank_settings *settings)
{
    for (size_t i = 0; settings->origins && i < settings->origin_count; i++)
        mgk_free(settings->origins[i].path);
    mgk_free(settings->origins);
    mgk_free(settings->run);
    *settings = (mgk_rank_settings){0};
}

void mgk_rank_table_free(mgk_rank_table *table)
{
    mgk_rank_settings_free(&table->settings);
    mgk_free(table->thresholds);
    mgk_free(table->rows);
    mgk_free(table->counts);
    mgk_free(table->spectra);
    *table = (mgk_rank_table){0};
}

mgk_status mgk_rank_table_layers(const mgk_rank_table *table, size_t *count, size_t **layers)
{
    *count = 0;
    TRY(mgk_alloc(table->row_count, sizeof(**layers), layers));
    for (size_t r = 0; r < table->row_count; r++)
        (*layers)[r] = table->rows[r].layer;
    mgk_sort_values(table->row_count, *layers);
    for (size_t r = 0; r < table->row_count; r++)
        if (*count == 0 || (*layers)[r] != (*layers)[*count - 1])
            (*layers)[(*count)++] = (*layers)[r];
    return STATUS_OK;
}

size_t mgk_rank_table_ranks(const mgk_rank_table *table, size_t layer, size_t t, size_t *ranks)
{
    size_t count = 0;
    for (size_t r = 0; r < table->row_count; r++)
        if (table->rows[r].layer == layer)
            ranks[count++] = table->counts[r * table->threshold_count + t].rank;
    mgk_sort_values(count, ranks);
    return count;
}

static bool same_matrix(const mgk_rank_row *a, const mgk_rank_row *b)
{
    return a->input == b->input && a->sample == b->sample && a->layer == b->layer &&
           a->head == b->head && a->n == b->n;
}

/* Lines per matrix: until the first threshold comes again. */
static size_t count_thresholds(size_t count, const table_line *lines)
{
    size_t thresholds = 1;
    if (isnan(lines[0].threshold))
        return 1;
    while (thresholds < count && lines[thresholds].threshold != lines[0].threshold)
        thresholds++;
    return thresholds;
}

mgk_status mgk_rank_table_group(size_t count, const table_line *lines, mgk_rank_table *out)
{
    double first[MGK_THRESHOLDS_MAX] = {NAN};
    size_t thresholds = count > 0 ? count_thresholds(count, lines) : 1;
    for (size_t t = 0; t < thresholds && t < MGK_THRESHOLDS_MAX && count > 0; t++)
        first[t] = lines[t].threshold;
    TRY(mgk_rank_table_make(thresholds, first, 0, out));
    if (count % thresholds != 0)
        return mgk_fail(STATUS_FORMAT, "%zu results do not divide into %zu thresholds", count,
                        thresholds);
    for (size_t i = 0; i < count; i++) {
        size_t t = i % thresholds;
        bool same =
            lines[i].threshold == first[t] || (isnan(first[t]) && isnan(lines[i].threshold));
        if (!same || !same_matrix(&lines[i].row, &lines[i - t].row))
            return mgk_fail(STATUS_FORMAT, "result %zu: not the expected matrix and threshold",
                            i + 1);
        size_t inputs = mgk_rank_table_inputs(out), input = lines[i].row.input;
        if (input != inputs && input + 1 != inputs)
            return mgk_fail(STATUS_FORMAT, "result %zu: input %zu, expected them in order from 0",
                            i + 1, input);
        if (t == 0) {
            TRY(mgk_rank_table_append(out));
            out->rows[out->row_count - 1] = lines[i].row;
        }
        out->counts[i] = lines[i].count;
    }
    return STATUS_OK;
}

mgk_status mgk_rank_check_line(const table_line *line)
{
    const mgk_rank_row *row = &line->row;
    const mgk_rank_count *count = &line->count;
    const double numbers[] = {row->sigma_max,   row->sigma_min,     row->effective_rank,
                              row->stable_rank, row->sigma_ratio,   row->energy[0],
                              row->energy[1],   row->energy[2],     row->energy[3],
                              row->noise_floor, row->row_sum_error, row->column_sum_max,
                              count->nearest,   line->threshold};
    if (row->sample > INDEX_MAX || row->layer > INDEX_MAX || row->head > INDEX_MAX ||
        row->n > INDEX_MAX)
        return mgk_fail(STATUS_FORMAT, "sample, layer, head or n is above %d", INDEX_MAX);
    if (count->rank > row->n || count->rank_high > row->n || count->rank_low > count->rank ||
        count->rank > count->rank_high)
        return mgk_fail(STATUS_FORMAT, "rank is %zu, expected at most n = %zu and within its range",
                        count->rank, row->n);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (isinf(numbers[i]))
            return mgk_fail(STATUS_FORMAT, "an infinite number");
    return STATUS_OK;
}

void mgk_rank_print_number(FILE *file, double value)
{
    char text[32];
    int digits = 15; /* so many any decimal number keeps */
    do
        snprintf(text, sizeof(text), "%.*g", digits, value);
    while (digits++ < 17 && strtod(text, NULL) != value);
    fputs(text, file);
}

/* Opens, fills and closes the temporary file. */
static mgk_status write_body(const mgk_rank_table *table, const char *path, const char *temporary,
                             mgk_status (*body)(FILE *file, const mgk_rank_table *table))
{
    mgk_plain_locale scope;
    FILE *file = fopen(temporary, "w");
    if (!file)
        return mgk_fail_write(path, errno);
    mgk_status status = mgk_plain_locale_begin(&scope);
    if (status == STATUS_OK) {
        status = body(file, table);
        mgk_plain_locale_end(&scope);
    }
    if (status == STATUS_OK)
        return mgk_close_written(file, path);
    fclose(file);
    return status;
}

mgk_status mgk_rank_table_write(const mgk_rank_table *table, const char *path, bool force,
                                mgk_status (*body)(FILE *file, const mgk_rank_table *table))
{
    mgk_output output;
    TRY(mgk_output_open(path, force, &output));
    mgk_status status = write_body(table, path, output.temporary, body);
    if (status != STATUS_OK) {
        mgk_output_discard(&output);
        return status;
    }
    return mgk_output_commit(&output);
}

static mgk_status parse(const char *text, size_t size, mgk_rank_table *out)
{
    mgk_plain_locale scope;
    size_t blank = strspn(text, " \t\r\n");
    TRY(mgk_plain_locale_begin(&scope));
    mgk_status status = text[blank] == '{' ? mgk_rank_table_parse_json(text, size, out)
                                           : mgk_rank_table_parse_csv(text, size, out);
    mgk_plain_locale_end(&scope);
    return status;
}

enum { MOST_BYTES = 1 << 30 }; /* of a rank file: 10 million matrices in CSV */

mgk_status mgk_rank_table_read(const char *path, mgk_rank_table *out)
{
    mgk_status status = STATUS_OK;
    mgk_mapping mapping = {0};
    char *text = NULL;
    *out = (mgk_rank_table){0};
    CHECK(mgk_map_limited(path, MOST_BYTES, &mapping));
    /* A copy, because parsers of numbers need the NUL that a mapping does not have. */
    CHECK(mgk_alloc(mapping.size + 1, 1, &text));
    if (mapping.size > 0)
        memcpy(text, mapping.data, mapping.size);
    status = parse(text, mapping.size, out);
    if (status != STATUS_OK)
        mgk_fail_prefix(status, path);
out:
    if (status != STATUS_OK)
        mgk_rank_table_free(out);
    mgk_free(text);
    mgk_unmap_file(&mapping);
    return status;
}
