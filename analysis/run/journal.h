/*
 * The progress of a run of ranks, in a file next to its output: a line of JSON with the settings of
 * the run, then a line for each finished matrix, in the order of completion. A line is appended by
 * a single write, so that ending the process loses only the matrices in progress. An incomplete
 * last line is ignored; any other defect is an error, because the file is not trusted.
 */
#ifndef MGK_ANALYSIS_JOURNAL_H
#define MGK_ANALYSIS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/run/source.h"
#include "analysis/table/rank_table.h"
#include "base/status.h"

typedef struct mgk_journal mgk_journal;

/* The treatment of an existing journal. */
typedef enum mgk_journal_start {
    MGK_JOURNAL_REFUSE,
    MGK_JOURNAL_RESUME, /* continue it */
    MGK_JOURNAL_REPLACE
} mgk_journal_start;

/*
 * Opens the journal of a run with these settings, a JSON object in one line. Resuming a missing
 * journal starts an empty one. STATUS_EXISTS: it exists and start is MGK_JOURNAL_REFUSE, or another
 * process is writing it; STATUS_USAGE: its settings differ, the message names the setting;
 * STATUS_FORMAT: not a journal; STATUS_IO. After a failure the file is unchanged. Close with
 * mgk_journal_close.
 */
mgk_status mgk_journal_open(const char *path, mgk_journal_start start, const char *settings,
                            mgk_journal **out);

/* The number of matrices in the journal when it was opened. */
size_t mgk_journal_resumed(const mgk_journal *journal);

/*
 * Copies the matrices of input number `input` to their rows, in the order of the source, of the
 * empty table. (*known) [source->count], released with mgk_free, marks these rows; NULL if there
 * are none. table->row_count stays 0. STATUS_FORMAT: the message names the line; STATUS_MEMORY.
 */
mgk_status mgk_journal_read(mgk_journal *journal, size_t input, const mgk_source *source,
                            mgk_rank_table *table, bool **known);

/*
 * Appends row r of the table, with its counts, and its spectrum if the table has spectra.
 * STATUS_IO.
 */
mgk_status mgk_journal_append(mgk_journal *journal, size_t input, const mgk_rank_table *table,
                              size_t r);

/*
 * Closes the journal, and deletes it if it has no matrix or `keep` is false. Returns whether the
 * file remains. NULL is accepted.
 */
bool mgk_journal_close(mgk_journal *journal, bool keep);

#endif
