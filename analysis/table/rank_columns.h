/* The columns of a rank table: a row a matrix and threshold, in the order of both. */
#ifndef MGK_ANALYSIS_RANK_COLUMNS_H
#define MGK_ANALYSIS_RANK_COLUMNS_H

#include <stdio.h>

#include "analysis/table/rank_table.h"
#include "table/table.h"

/* A row. */
typedef struct mgk_rank_record {
    mgk_rank_row row;
    mgk_rank_count count;
    double threshold;
    bool relative; /* the threshold is a multiple of sigma_1 */
} mgk_rank_record;

/* Its first ten columns are the header of CSV files of all versions. */
extern const mgk_schema mgk_rank_schema;

/*
 * The table as columns, with its settings; released with mgk_table_free. STATUS_FORMAT: a value
 * that no file holds; STATUS_MEMORY.
 */
mgk_status mgk_rank_table_columns(const mgk_rank_table *table, mgk_table *out);

/*
 * Makes a table of columns that were read; released with mgk_rank_table_free, whatever is returned.
 * What the columns lack is NaN; without a threshold it is 1e-6, without rank_low and rank_high
 * these are the rank, or 0 and n where it is undecided. Settings that are not known are zero.
 * Spectra are left to the caller. STATUS_FORMAT: the message names the row that does not fit the
 * others.
 */
mgk_status mgk_rank_table_take_columns(const mgk_table *columns, mgk_rank_table *out);

/* Row r of the counts, matrix r / T at threshold r % T. */
mgk_rank_record mgk_rank_table_record(const mgk_rank_table *table, size_t r);

/* Whether the numbers of a row that was read fit together: rank_low <= rank <= ... STATUS_FORMAT.
 */
mgk_status mgk_rank_record_check(const mgk_rank_record *record);

/*
 * The tail of a JSON file: `, "layers": [{"input", "layer", "threshold", "histogram": {"bin_left":
 * [], "count": [], "bin_width"}, "mean", "median", "quartiles": [first, median, third]}]`; `table`
 * is an mgk_rank_table.
 */
mgk_status mgk_rank_table_print_layers(FILE *file, const void *table);

#endif
