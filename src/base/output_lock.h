/*
 * One run at a time writes an output. While it may, it holds a lock (flock) on an empty file beside
 * it, OUTPUT.mgk-lock. Where the file system has no locks, anyone may write: outputs still appear
 * whole or not at all.
 */
#ifndef MGK_BASE_OUTPUT_LOCK_H
#define MGK_BASE_OUTPUT_LOCK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/status.h"

/* The path of the lock, released with mgk_free. */
mgk_status mgk_output_lock_path(const char *output, char **out);

/*
 * Takes the lock at `lock` of the output; both are for mgk_output_unlock, and the path stays where
 * it is until then. STATUS_EXISTS: another run has it; STATUS_IO: the folder cannot be written, or
 * the file is something else.
 */
mgk_status mgk_output_lock(const char *output, const char *lock, int *descriptor);

/* Gives it back: the file is removed. */
void mgk_output_unlock(const char *lock, int descriptor);

/* Gets a line. */
typedef void (*mgk_output_tell)(void *context, const char *line);

/*
 * Removes what runs that were killed have left beside an output that is locked: files
 * OUTPUT.mgk-XXXXXX.part (see mgk_output_open) that no process holds, but for those to be kept.
 */
mgk_status mgk_output_clean(const char *output, bool (*keep)(void *keeper, const struct stat *info),
                            void *keeper, mgk_output_tell tell, void *context);

#endif
