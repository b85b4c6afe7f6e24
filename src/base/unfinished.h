/* SPDX-License-Identifier: MIT */
/*
 * The temporary files and locks of a program, one list per process, so that a signal handler can
 * remove them before the process ends.
 */
#ifndef MGK_BASE_UNFINISHED_H
#define MGK_BASE_UNFINISHED_H

/* Adds a path, which must stay valid until it is removed from the list. A full list ignores it. */
void mgk_unfinished_add(const char *path);

/* Removes the path from the list; afterwards it may be released. */
void mgk_unfinished_end(const char *path);

/* Deletes all files of the list; for a signal handler that then ends the process. */
void mgk_unfinished_remove(void);

#endif
