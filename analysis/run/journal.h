/*
 * What a run of ranks has done so far, in a file beside its output: a line of JSON with the
 * settings of the run, then a line for each matrix that is finished, in the order in which they
 * are. A line is appended by one write, so that whoever ends the process loses no more than the
 * matrices under way. A last line that was cut is as if it were not there; anything else that is
 * wrong is an error, because the file is not trusted.
 */
#ifndef MGK_ANALYSIS_JOURNAL_H
#define MGK_ANALYSIS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/run/source.h"
#include "analysis/table/rank_table.h"
#include "base/status.h"

typedef struct mgk_journal mgk_journal;

/* What becomes of a journal that is there already. */
typedef enum mgk_journal_start {
    MGK_JOURNAL_REFUSE,
    MGK_JOURNAL_RESUME, /* it is continued */
    MGK_JOURNAL_REPLACE
} mgk_journal_start;

/*
 * Opens the journal of a run with these settings, an object of JSON in one line. No journal to
 * resume is one without matrices. STATUS_EXISTS: it is there and that is refused, or another
 * process is writing it; STATUS_USAGE: it is of other settings, the message says which;
 * STATUS_FORMAT: it is none; STATUS_IO. It is left as it was then.
 */
mgk_status mgk_journal_open(const char *path, mgk_journal_start start, const char *settings,
                            mgk_journal **out);

/* How many matrices were in it when it was opened. */
size_t mgk_journal_resumed(const mgk_journal *journal);

/*
 * Puts the matrices of input number `input` into the rows of the empty table that they had in the
 * order of the source; (*known) [source->count], released with mgk_free, says which these are, NULL
 * if none. The table keeps row_count 0. STATUS_FORMAT names the line that is wrong; STATUS_MEMORY.
 */
mgk_status mgk_journal_read(mgk_journal *journal, size_t input, const mgk_source *source,
                            mgk_rank_table *table, bool **known);

/* Appends row r of the table, with its counts and the spectrum if it is kept. STATUS_IO. */
mgk_status mgk_journal_append(mgk_journal *journal, size_t input, const mgk_rank_table *table,
                              size_t r);

/*
 * Closes it, and deletes it where it holds no matrix or shall not be kept; whether it is left. NULL
 * is accepted.
 */
bool mgk_journal_close(mgk_journal *journal, bool keep);

#endif
