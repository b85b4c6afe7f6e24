/* SPDX-License-Identifier: MIT */
/* The journal of a run (analysis/run/journal.h), next to its output. */
#ifndef MGK_RUN_JOURNAL_H
#define MGK_RUN_JOURNAL_H

#include "analysis/run/journal.h"
#include "base/claims.h"
#include "mgk.h"

/* Ending of a journal: it has the name of the output with this appended. */
#define MGK_JOURNAL_ENDING ".part"

/* Adds the journal of the run that writes `output` to the files that it writes. STATUS_USAGE as
 * mgk_claims_add_output. */
mgk_status mgk_run_journal_claim(const char *output, mgk_claims *claims);

/*
 * Opens the journal of the run that writes `output`. `resume`: continues that of an interrupted
 * run; else job->force replaces it. STATUS_MEMORY: the settings are NULL, because there was no
 * memory for them; else as mgk_journal_open. Close with mgk_run_journal_close.
 */
mgk_status mgk_run_journal_open(const char *output, const mgk_job *job, bool resume,
                                const char *settings, size_t line_bytes, mgk_journal **out);

/*
 * Closes the journal of a run that ended with `status`, and returns it. The journal remains after a
 * failure of a resumable run, unless a number is at fault (STATUS_NUMERIC); the message of an
 * interruption then says how to go on. NULL is accepted.
 */
mgk_status mgk_run_journal_close(mgk_journal *journal, bool resumable, mgk_status status);

#endif
