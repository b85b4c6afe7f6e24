/* One matrix of a rank table as a line of JSON, for the journal. */
#ifndef MGK_ANALYSIS_JOURNAL_LINE_H
#define MGK_ANALYSIS_JOURNAL_LINE_H

#include <stdio.h>

#include "analysis/run/source.h"
#include "analysis/table/rank_table.h"

/*
 * Writes matrix r: {"input", "matrix": r, "rows": [[values of the columns of mgk_rank_schema], for
 * each threshold], "sigma": [its spectrum, where it is kept]} and a newline. STATUS_MEMORY. The
 * locale is the caller's concern, as it is below.
 */
mgk_status mgk_journal_line_write(FILE *file, size_t input, const mgk_rank_table *table, size_t r);

/*
 * Reads a line back. A matrix of `input` goes into its row of the table, which has room for all
 * those of the source, and is marked in known [source->count]; one of another input is left alone.
 * STATUS_FORMAT: the line is not what was written, or the matrix is known already.
 */
mgk_status mgk_journal_line_parse(const char *line, size_t input, const mgk_source *source,
                                  mgk_rank_table *table, bool *known);

#endif
