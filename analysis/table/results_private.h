/* What the two formats of the rank table share. */
#ifndef MGK_ANALYSIS_RESULTS_PRIVATE_H
#define MGK_ANALYSIS_RESULTS_PRIVATE_H

#include <stdio.h>

#include "analysis/table/results.h"

/* No sample, layer, head, size or rank in a file may be larger. */
#define INDEX_MAX 2147483647

/* One line of CSV, or one object of "matrices". */
typedef struct table_line {
    mgk_rank_row row;
    mgk_rank_count count;
    double threshold; /* NaN where not given */
} table_line;

/*
 * Parse the text of a file into *out, a zeroed table; on failure the caller frees it.
 * `text` ends with a NUL that `size` does not count.
 */
mgk_status mgk_rank_table_parse_csv(const char *text, size_t size, mgk_rank_table *out);
mgk_status mgk_rank_table_parse_json(const char *text, size_t size, mgk_rank_table *out);

/*
 * Adds lines [count] to the empty table. They must be T lines a matrix, with the same
 * T thresholds in the same order and one identity. STATUS_FORMAT names the line.
 */
mgk_status mgk_rank_table_group(size_t count, const table_line *lines, mgk_rank_table *out);

/* Checks the ranges of what was read: rank <= n, no infinity, and so on. */
mgk_status mgk_rank_check_line(const table_line *line);

/* A finite number in as few digits as read back as the same, at most 17: 1e-06. */
void mgk_rank_print_number(FILE *file, double value);

/* Writes a file by `body`, with a point in its numbers, whole or not at all. */
mgk_status mgk_rank_table_write(const mgk_rank_table *table, const char *path, bool force,
                                mgk_status (*body)(FILE *file, const mgk_rank_table *table));

#endif
