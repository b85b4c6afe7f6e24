/* SPDX-License-Identifier: MIT */
/* The concatenation of text files, readable at any place. Small texts are kept in memory; larger
 * files stay on disk and are opened for each read. */
#ifndef MGK_DATA_TEXTS_H
#define MGK_DATA_TEXTS_H

#include <stdint.h>

#include "data/buffer.h"

/* A zeroed one is empty. */
typedef struct mgk_texts {
    size_t size;       /* bytes in all */
    mgk_buffer files;  /* private to texts.c */
    mgk_buffer memory; /* bytes that are kept in memory */
} mgk_texts;

/* Appends a regular file. STATUS_IO, or STATUS_SHAPE if it is empty, names the path. */
mgk_status mgk_texts_add(mgk_texts *texts, const char *path);

/* Reads bytes first ... first + count - 1, all below the size, into `bytes`. Any number of threads
 * may read. STATUS_FORMAT: a file's size has changed; STATUS_IO: it cannot be read. */
mgk_status mgk_texts_read(const mgk_texts *texts, size_t first, size_t count, void *bytes);

/* Continues *hash over all bytes. Fails as mgk_texts_read. */
mgk_status mgk_texts_hash(const mgk_texts *texts, uint64_t *hash);

/* Releases the memory and zeroes the texts. */
void mgk_texts_free(mgk_texts *texts);

#endif
