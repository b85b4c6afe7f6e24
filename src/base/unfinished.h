/*
 * The files that a program has begun to write, and its locks, so that one that a signal ends can
 * remove them.
 * There is one list for the whole process.
 */
#ifndef MGK_BASE_UNFINISHED_H
#define MGK_BASE_UNFINISHED_H

/* Lists a path, which stays where it is until it is taken off. A full list leaves it out. */
void mgk_unfinished_add(const char *path);

/* Takes the path off; it may be released from then on. */
void mgk_unfinished_end(const char *path);

/* Removes all files of the list, from the handler of a signal, which then ends the process. */
void mgk_unfinished_remove(void);

#endif
