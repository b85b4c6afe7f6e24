/* SPDX-License-Identifier: MIT */
#include "analysis/table/rank_table.h"

#include <math.h>
#include <string.h>

#include "analysis/measures/histogram.h"
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

/* Moves *array to a new one of `capacity` items, keeping the first `used`. */
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
