/* SPDX-License-Identifier: MIT */
/*
 * Only one run at a time may write an output. It holds a lock (flock) on an empty file next to the
 * output, OUTPUT.mgk-lock. On file systems without locks several runs may write; outputs still
 * appear completely or not at all.
 */
#ifndef MGK_BASE_OUTPUT_LOCK_H
#define MGK_BASE_OUTPUT_LOCK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/status.h"

/* The path of the lock; release with mgk_free. */
mgk_status mgk_output_lock_path(const char *output, char **out);

/*
 * Locks the output by the file `lock`; *descriptor and `lock`, which must stay valid, are the
 * arguments of mgk_output_unlock. STATUS_EXISTS: another run has the lock; STATUS_IO: the folder is
 * not writable, or `lock` is another kind of file.
 */
mgk_status mgk_output_lock(const char *output, const char *lock, int *descriptor);

/* Releases the lock and removes its file. */
void mgk_output_unlock(const char *lock, int descriptor);

/* Receives a line of text. */
typedef void (*mgk_output_tell)(void *context, const char *line);

/* Whether a file of a folder is a temporary one (see mgk_output_open) of the output `name` there.
 */
bool mgk_output_has_part(const char *entry, const char *name);

/*
 * Removes the remains of killed runs next to a locked output: its files, those for which `owns` is
 * true, as mgk_output_has_part, that no process has locked, except those for which `keep` is true.
 * If there were any, calls `tell` with one line.
 */
mgk_status mgk_output_clean(const char *output, bool (*owns)(const char *entry, const char *name),
                            bool (*keep)(void *keeper, const struct stat *info), void *keeper,
                            mgk_output_tell tell, void *context);

#endif
