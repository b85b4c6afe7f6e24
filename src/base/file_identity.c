/* SPDX-License-Identifier: MIT */
#include "base/file_identity.h"

#include <sys/stat.h>

bool mgk_file_identify(const char *path, mgk_file_identity *out)
{
    struct stat file;
    *out = (mgk_file_identity){0};
    if (stat(path, &file) != 0)
        return false;
    *out = (mgk_file_identity){.device = file.st_dev,
                               .inode = file.st_ino,
                               .size = file.st_size,
                               .modified = file.st_mtim,
                               .changed = file.st_ctim};
    return true;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool mgk_file_identity_equal(const mgk_file_identity *a, const mgk_file_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           is_same_time(&a->modified, &b->modified) && is_same_time(&a->changed, &b->changed);
}
