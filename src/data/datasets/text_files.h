/* SPDX-License-Identifier: MIT */
/* The files that paths of texts stand for: a folder stands for the texts in it. */
#ifndef MGK_DATA_TEXT_FILES_H
#define MGK_DATA_TEXT_FILES_H

#include "base/arena.h"

/* A zeroed one is empty. */
typedef struct mgk_text_files {
    const char **paths; /* [count], in the arena */
    size_t count;
    size_t room;
    mgk_arena arena;
} mgk_text_files;

/*
 * Appends a path, or if it is a folder all files in it and in its folders whose names end in .txt,
 * in the order of bytes of their paths. Links to files count; links to folders are not followed, so
 * that each text is there once and no link makes a loop. STATUS_IO: a folder cannot be read.
 */
mgk_status mgk_text_files_add(mgk_text_files *files, const char *path);

/* The same for several paths; STATUS_SHAPE: a folder has no such file. */
mgk_status mgk_text_files_list(mgk_text_files *files, const char *const *paths, size_t count);

/* Releases the list and empties it. */
void mgk_text_files_free(mgk_text_files *files);

#endif
