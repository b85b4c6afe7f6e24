/* SPDX-License-Identifier: MIT */
/* What tells a file from others, and from what it was earlier, without reading it. */
#ifndef MGK_BASE_FILE_IDENTITY_H
#define MGK_BASE_FILE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/status.h"

/* A change of the file, or another file of this name, changes one of these; but a change may be
 * hidden by the resolution of file times. */
typedef struct mgk_file_identity {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed;
} mgk_file_identity;

/* False: there is no such file; then *out is zeroed. */
bool mgk_file_identify(const char *path, mgk_file_identity *out);

bool mgk_file_identity_equal(const mgk_file_identity *a, const mgk_file_identity *b);

/*
 * Adds the files in a folder and in its folders: their number to *count, and to *hash a sum of
 * hashes of their paths, sizes and times of modification. Links to folders are not followed.
 * STATUS_IO: a folder cannot be read; STATUS_MEMORY.
 */
mgk_status mgk_folder_identify(const char *path, size_t *count, uint64_t *hash);

/* Adds one file; a missing one adds nothing. */
void mgk_file_add_identity(const char *path, size_t *count, uint64_t *hash);

#endif
