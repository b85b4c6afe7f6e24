/* SPDX-License-Identifier: MIT */
/* The finished matrices of a run of ranks in its journal: a line for each, see rank_line.h. */
#ifndef MGK_ANALYSIS_RANK_JOURNAL_H
#define MGK_ANALYSIS_RANK_JOURNAL_H

#include "analysis/run/journal.h"
#include "analysis/run/source.h"
#include "analysis/table/rank_table.h"

/* The most bytes of a line: a thousand thresholds and the longest spectrum take a third of it. */
#define MGK_RANK_LINE_BYTES ((size_t)1 << 22)

/*
 * Copies the matrices of input number `input` to their rows, in the order of the source, of the
 * empty table. (*known) [source->count], released with mgk_free, marks these rows; NULL if there
 * are none. table->row_count stays 0. STATUS_FORMAT: the message names the line; STATUS_MEMORY.
 */
mgk_status mgk_rank_journal_read(mgk_journal *journal, size_t input, const mgk_source *source,
                                 mgk_rank_table *table, bool **known);

/*
 * Appends row r of the table, with its counts, and its spectrum if the table has spectra.
 * STATUS_IO.
 */
mgk_status mgk_rank_journal_append(mgk_journal *journal, size_t input, const mgk_rank_table *table,
                                   size_t r);

#endif
