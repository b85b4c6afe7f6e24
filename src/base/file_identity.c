/* SPDX-License-Identifier: MIT */
#include "base/file_identity.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

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

/* ---- folders --------------------------------------------------------------------------------- */

void mgk_file_add_identity(const char *path, size_t *count, uint64_t *hash)
{
    struct stat file;
    if (stat(path, &file) != 0 || S_ISDIR(file.st_mode))
        return;
    const int64_t facts[] = {file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
    ++*count;
    *hash += mgk_mix(mgk_hash(mgk_hash(MGK_HASH_START, path, strlen(path)), facts, sizeof(facts)));
}

/* Adds an entry of a folder: a file, or all that a folder holds. */
static mgk_status add_entry(const char *path, size_t *count, uint64_t *hash)
{
    struct stat entry;
    if (lstat(path, &entry) == 0 && S_ISDIR(entry.st_mode))
        return mgk_folder_identify(path, count, hash);
    mgk_file_add_identity(path, count, hash);
    return STATUS_OK;
}

mgk_status mgk_folder_identify(const char *path, size_t *count, uint64_t *hash)
{
    mgk_status status = STATUS_OK;
    const struct dirent *entry;
    DIR *entries = opendir(path);
    if (!entries)
        return mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
    while (status == STATUS_OK && (entry = readdir(entries))) {
        char *inner;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        status = mgk_join_path(path, entry->d_name, &inner);
        if (status == STATUS_OK)
            status = add_entry(inner, count, hash);
        mgk_free(inner);
    }
    closedir(entries);
    return status;
}
