/* SPDX-License-Identifier: MIT */
/* What tells a file from others, and from what it was earlier, without reading it. */
#ifndef MGK_BASE_FILE_IDENTITY_H
#define MGK_BASE_FILE_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

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

#endif
