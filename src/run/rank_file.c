/* SPDX-License-Identifier: MIT */
#include "run/rank_file.h"

#include <math.h>

#include "analysis/table/rank_columns.h"
#include "base/memory.h"
#include "base/number.h"
#include "run/recognise.h"
#include "store/schema/spectra.h"
#include "table/files.h"

/* One number of each kind per matrix, [count] each. */
typedef struct matrix_numbers {
    int32_t *sample, *layer, *head;
} matrix_numbers;

static void free_numbers(matrix_numbers *numbers)
{
    mgk_free(numbers->sample);
    mgk_free(numbers->layer);
    mgk_free(numbers->head);
}

static mgk_status list_numbers(const mgk_rank_table *table, matrix_numbers *out)
{
    mgk_status status;
    *out = (matrix_numbers){0};
    CHECK(mgk_alloc(table->row_count, sizeof(*out->sample), &out->sample));
    CHECK(mgk_alloc(table->row_count, sizeof(*out->layer), &out->layer));
    CHECK(mgk_alloc(table->row_count, sizeof(*out->head), &out->head));
    for (size_t r = 0; r < table->row_count; r++) {
        out->sample[r] = (int32_t)table->rows[r].sample;
        out->layer[r] = (int32_t)table->rows[r].layer;
        out->head[r] = (int32_t)table->rows[r].head;
    }
    return STATUS_OK;
out:
    free_numbers(out);
    return status;
}

/* Writes the parts of the HDF5 file that are not columns; `state` is the table of ranks. */
static mgk_status write_h5_tail(const mgk_h5_file *file, const void *state)
{
    const mgk_rank_table *table = state;
    matrix_numbers numbers;
    TRY(mgk_h5_put_integer(file, file->id, "thresholds", (int32_t)table->threshold_count));
    if (!table->spectra)
        return STATUS_OK;
    TRY(list_numbers(table, &numbers));
    const mgk_spectra spectra = {.count = table->row_count,
                                 .length = table->n_max,
                                 .sample = numbers.sample,
                                 .layer = numbers.layer,
                                 .head = numbers.head,
                                 .values = table->spectra};
    mgk_status status = mgk_spectra_write(file, &spectra);
    free_numbers(&numbers);
    return status;
}

mgk_status mgk_rank_file_write(const mgk_rank_table *table, const char *path, bool force)
{
    mgk_table columns;
    mgk_table_format format;
    mgk_status status;
    TRY(mgk_table_format_of(path, &format));
    TRY(mgk_rank_table_columns(table, &columns));
    if (format == MGK_TABLE_CSV)
        status = mgk_table_write_csv(&columns, path, force);
    else if (format == MGK_TABLE_JSON)
        status = mgk_table_write_json(&columns, path, force, mgk_rank_table_print_layers, table);
    else
        status = mgk_table_write_h5(&columns, path, force, write_h5_tail, table);
    mgk_table_free(&columns);
    return status;
}

static mgk_status check_spectra(const mgk_rank_table *table)
{
    for (size_t r = 0; r < table->row_count; r++) {
        const double *sigma = table->spectra + r * table->n_max;
        double limit = INFINITY;
        if (table->rows[r].n > table->n_max)
            return mgk_fail(STATUS_SHAPE, "matrix %zu: n = %zu, but %zu singular %s", r,
                            table->rows[r].n, table->n_max,
                            MGK_NOUN(table->n_max, "value", "values"));
        for (size_t i = 0; i < table->rows[r].n; limit = sigma[i++])
            if (!(sigma[i] >= 0 && sigma[i] <= limit && isfinite(sigma[i])))
                return mgk_fail(
                    STATUS_FORMAT,
                    "matrix %zu: expected %zu finite singular values >= 0 in descending order", r,
                    table->rows[r].n);
    }
    return STATUS_OK;
}

/* The parts to read from an HDF5 file. */
typedef struct h5_reading {
    bool spectra;
    mgk_rank_table *table;
} h5_reading;

static mgk_status read_spectra(const mgk_h5_file *file, mgk_rank_table *table)
{
    matrix_numbers numbers;
    TRY(list_numbers(table, &numbers));
    const mgk_spectra matrices = {.count = table->row_count,
                                  .sample = numbers.sample,
                                  .layer = numbers.layer,
                                  .head = numbers.head};
    mgk_status status = mgk_spectra_read(file, &matrices, &table->n_max, &table->spectra);
    free_numbers(&numbers);
    if (status != STATUS_OK || !table->spectra)
        return status;
    status = check_spectra(table);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, file->path);
}

static mgk_status take_h5(const mgk_h5_file *file, const mgk_table *columns, void *state)
{
    const h5_reading *reading = state;
    mgk_status status = mgk_rank_table_take_columns(columns, reading->table);
    if (status != STATUS_OK)
        return mgk_fail_prefix(status, file->path);
    return reading->spectra ? read_spectra(file, reading->table) : STATUS_OK;
}

/* Reads the columns and HDF5's spectra, and makes a table of ranks from them. */
static mgk_status read_both(const char *path, bool spectra, mgk_table *columns,
                            mgk_rank_table *ranks)
{
    mgk_file_kind kind;
    h5_reading reading = {spectra, ranks};
    TRY(mgk_recognise(path, &kind));
    if (kind == MGK_FILE_ARRAYS || mgk_file_is_diversity(kind))
        return mgk_fail(STATUS_FORMAT, "%s: %s, but not rank results as mgk-rank writes them", path,
                        kind == MGK_FILE_ARRAYS ? "arrays" : "measures of diversity");
    if (kind == MGK_FILE_RANKS_HDF5)
        return mgk_table_read_h5(&mgk_rank_schema, path, take_h5, &reading, columns);
    TRY(mgk_table_read_text(&mgk_rank_schema, path, columns));
    mgk_status status = mgk_rank_table_take_columns(columns, ranks);
    if (status == STATUS_OK && ranks->row_count == 0)
        status = mgk_fail(STATUS_FORMAT, "no matrices");
    return status == STATUS_OK ? status : mgk_fail_prefix(status, path);
}

mgk_status mgk_rank_file_read(const char *path, bool spectra, mgk_rank_table *out)
{
    mgk_table columns = {0};
    *out = (mgk_rank_table){0};
    mgk_status status = read_both(path, spectra, &columns, out);
    mgk_table_free(&columns);
    if (status != STATUS_OK)
        mgk_rank_table_free(out);
    return status;
}

mgk_status mgk_rank_file_read_columns(const char *path, mgk_table *out)
{
    mgk_rank_table ranks = {0};
    *out = (mgk_table){0};
    mgk_status status = read_both(path, false, out, &ranks);
    mgk_rank_table_free(&ranks);
    if (status != STATUS_OK)
        mgk_table_free(out);
    return status;
}
