/* SPDX-License-Identifier: MIT */
/*
 * The progress of a run, in a file next to its output: a line of JSON with the settings of the run,
 * then a line for each finished part, in the order of completion: the checksum of the rest of the
 * line, eight hexadecimal digits; a space; and the part. A line is appended by a single write, so
 * that ending the process loses only the parts in progress. An incomplete last line is ignored; any
 * other defect is an error, because the file is not trusted.
 */
#ifndef MGK_ANALYSIS_JOURNAL_H
#define MGK_ANALYSIS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mgk_journal mgk_journal;

/* The treatment of an existing journal. */
typedef enum mgk_journal_start {
    MGK_JOURNAL_REFUSE,
    MGK_JOURNAL_RESUME, /* continue it */
    MGK_JOURNAL_REPLACE
} mgk_journal_start;

/*
 * Opens the journal of a run with these settings, a JSON object in one line. A line has at most
 * `line_bytes` bytes with its end. Resuming a missing journal starts an empty one.
 * STATUS_UNSUPPORTED: with its checksum a line may have 2^31 bytes; STATUS_EXISTS: it exists and
 * start is MGK_JOURNAL_REFUSE, or another process is writing it; STATUS_USAGE: its settings differ,
 * the message names the setting; STATUS_FORMAT: not a journal; STATUS_IO. After a failure the file
 * is unchanged. Close with mgk_journal_close.
 */
mgk_status mgk_journal_open(const char *path, mgk_journal_start start, const char *settings,
                            size_t line_bytes, mgk_journal **out);

/* Opens a journal without a name, which goes when it is closed. STATUS_UNSUPPORTED as above;
 * STATUS_IO, STATUS_MEMORY. */
mgk_status mgk_journal_open_temporary(size_t line_bytes, mgk_journal **out);

/* Receives a line: text [size], as in mgk_journal_append. */
typedef mgk_status mgk_journal_send(void *receiver, const char *text, size_t size);

/* Opens a journal whose lines go to another one, by `send`; it has none to be read. STATUS_MEMORY.
 */
mgk_status mgk_journal_open_sender(mgk_journal_send *send, void *receiver, mgk_journal **out);

/* The number of lines after the settings when the journal was opened. */
size_t mgk_journal_resumed(const mgk_journal *journal);

/* The same at present. */
size_t mgk_journal_lines(const mgk_journal *journal);

/*
 * Reads the lines after the settings: `begin`, then `next` until *line is NULL, then `end`, also
 * after a failure. *line, without its checksum and its end, is valid until the next call.
 * STATUS_FORMAT: a line is too long, holds a zero byte or has another checksum; STATUS_IO;
 * STATUS_MEMORY.
 */
mgk_status mgk_journal_begin(mgk_journal *journal);
mgk_status mgk_journal_next(mgk_journal *journal, const char **line);
void mgk_journal_end(mgk_journal *journal);

/* Adds the file and the number of the line that was read last to this thread's message; returns
 * `status`. */
mgk_status mgk_journal_fail_line(const mgk_journal *journal, mgk_status status);

/* The checksum of a part, text [size] without the end of its line: CRC-32. */
uint32_t mgk_journal_checksum(const char *text, size_t size);

/* Appends a line with its checksum: text [size], which ends with the line's only newline.
 * STATUS_IO. */
mgk_status mgk_journal_append(mgk_journal *journal, const char *text, size_t size);

/*
 * Closes the journal, and deletes it if it has no line after the settings or `keep` is false.
 * Returns whether the file remains. NULL is accepted.
 */
bool mgk_journal_close(mgk_journal *journal, bool keep);

#endif
