/* SPDX-License-Identifier: MIT */
/* One matrix of a rank table as a line of JSON, for the journal of a run. */
#ifndef MGK_ANALYSIS_RANK_LINE_H
#define MGK_ANALYSIS_RANK_LINE_H

#include <stdio.h>

#include "analysis/run/source.h"
#include "analysis/table/rank_table.h"

/*
 * Writes matrix r: {"input", "matrix": r, "rows": [[values of the columns of mgk_rank_schema], for
 * each threshold], "sigma": [its spectrum, if the table has spectra]} and a newline. STATUS_MEMORY.
 * The caller sets the locale, here and in mgk_rank_line_parse.
 */
mgk_status mgk_rank_line_write(FILE *file, size_t input, const mgk_rank_table *table, size_t r);

/*
 * Reads a line. A matrix of `input` is written to its row of the table, which has room for all
 * matrices of the source, and is marked in known [source->count]; other inputs are ignored.
 * STATUS_FORMAT: not a line of mgk_rank_line_write, or the matrix is known already.
 */
mgk_status mgk_rank_line_parse(const char *line, size_t input, const mgk_source *source,
                               mgk_rank_table *table, bool *known);

#endif
