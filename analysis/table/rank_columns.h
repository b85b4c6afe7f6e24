/* SPDX-License-Identifier: MIT */
/* The columns of a rank table: one row per matrix and threshold, in their order. */
#ifndef MGK_ANALYSIS_RANK_COLUMNS_H
#define MGK_ANALYSIS_RANK_COLUMNS_H

#include <stdio.h>

#include "analysis/table/rank_table.h"
#include "table/table.h"

/* One row of the columns. */
typedef struct mgk_rank_record {
    mgk_rank_row row;
    mgk_rank_count count;
    double threshold;
    bool relative; /* the threshold is a multiple of sigma_1 */
} mgk_rank_record;

/* The first ten columns are the header of CSV files of all versions. */
extern const mgk_schema mgk_rank_schema;

/*
 * The table as columns, with its settings; release with mgk_table_free. STATUS_FORMAT: a value that
 * no file can hold; STATUS_MEMORY.
 */
mgk_status mgk_rank_table_columns(const mgk_rank_table *table, mgk_table *out);

/*
 * Converts columns of a file to a table; release with mgk_rank_table_free, even after a failure.
 * Missing columns give NaN, missing zero_rows 0; a missing threshold is 1e-6; missing rank_low and
 * rank_high are the rank, or 0 and n if it is undecided. Unknown settings are zero. The caller
 * reads the spectra. STATUS_FORMAT: the message names the row that does not match the others.
 */
mgk_status mgk_rank_table_take_columns(const mgk_table *columns, mgk_rank_table *out);

/* Row r of the columns: matrix r / T at threshold r % T. */
mgk_rank_record mgk_rank_table_record(const mgk_rank_table *table, size_t r);

/* Checks that the numbers of a row agree: rank_low <= rank <= ... STATUS_FORMAT. */
mgk_status mgk_rank_record_check(const mgk_rank_record *record);

/*
 * Writes the tail of a JSON file: `, "layers":
 * [{"input", "layer", "threshold", "histogram": {"bin_left": [], "count": [], "bin_width"}, "mean",
 * "median", "quartiles": [first, median, third]}]`; `table` is an mgk_rank_table.
 */
mgk_status mgk_rank_table_print_layers(FILE *file, const void *table);

#endif
