/* SPDX-License-Identifier: MIT */
#include "base/output_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/unfinished.h"

mgk_status mgk_output_lock_path(const char *output, char **out)
{
    size_t room = strlen(output) + sizeof(".mgk-lock");
    TRY(mgk_alloc(room, 1, out));
    snprintf(*out, room, "%s.mgk-lock", output);
    return STATUS_OK;
}

/* Whether the path still refers to the open file: its previous owner may have removed it. */
static bool is_in_place(const char *path, int descriptor)
{
    struct stat here, there;
    return fstat(descriptor, &here) == 0 && lstat(path, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static mgk_status another_run(const char *output)
{
    return mgk_fail(STATUS_EXISTS, "%s: another run is writing it", output);
}

/* Opens and locks the file; *descriptor is −1 if it was removed in the meantime. */
static mgk_status try_lock(const char *output, const char *lock, int *descriptor)
{
    struct stat info;
    mgk_status status = STATUS_OK;
    *descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    int reason = errno;
    if (*descriptor < 0 && mgk_exists(lock))
        return mgk_fail(STATUS_IO, "%s: cannot lock %s: %s", lock, output, strerror(reason));
    if (*descriptor < 0)
        return mgk_fail(STATUS_IO, "%s: cannot create: %s", output, strerror(reason));
    if (fstat(*descriptor, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > 0)
        status = mgk_fail(STATUS_IO, "%s: expected the lock of %s, an empty file", lock, output);
    else if (flock(*descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        status = another_run(output);
    if (status == STATUS_OK && is_in_place(lock, *descriptor))
        return STATUS_OK;
    close(*descriptor);
    *descriptor = -1;
    return status;
}

mgk_status mgk_output_lock(const char *output, const char *lock, int *descriptor)
{
    enum { TRIALS = 100 };
    for (int trial = 0; trial < TRIALS; trial++) {
        TRY(try_lock(output, lock, descriptor));
        if (*descriptor >= 0) {
            mgk_unfinished_add(lock);
            return STATUS_OK;
        }
    }
    return another_run(output);
}

void mgk_output_unlock(const char *lock, int descriptor)
{
    mgk_unfinished_end(lock); /* before unlink: afterwards another run's lock may have this path */
    if (is_in_place(lock, descriptor))
        unlink(lock);
    close(descriptor);
}

bool mgk_output_has_part(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && mgk_is_part_ending(entry + length);
}

/* Removes the file unless a process has locked it, or `keep` is true. */
static bool remove_part(int folder, const char *entry,
                        bool (*keep)(void *keeper, const struct stat *info), void *keeper)
{
    struct stat info;
    int descriptor = openat(folder, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    bool removed = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && !keep(keeper, &info) &&
                   flock(descriptor, LOCK_EX | LOCK_NB) == 0 && unlinkat(folder, entry, 0) == 0;
    close(descriptor);
    return removed;
}

/* *out is NULL if the folder cannot be read. */
static mgk_status open_entries_beside(const char *path, DIR **out)
{
    char *folder;
    TRY(mgk_folder_of(path, &folder));
    *out = opendir(folder);
    mgk_free(folder);
    return STATUS_OK;
}

mgk_status mgk_output_clean(const char *output, bool (*owns)(const char *entry, const char *name),
                            bool (*keep)(void *keeper, const struct stat *info), void *keeper,
                            mgk_output_tell tell, void *context)
{
    const char *name = mgk_file_name(output);
    char first[256] = "", line[1024], more[32] = "";
    size_t count = 0;
    DIR *entries;
    TRY(open_entries_beside(output, &entries));
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (owns(entry->d_name, name) && remove_part(dirfd(entries), entry->d_name, keep, keeper) &&
            count++ == 0)
            snprintf(first, sizeof(first), "%s", entry->d_name);
    if (entries)
        closedir(entries);
    if (count == 0)
        return STATUS_OK;
    if (count > 1)
        snprintf(more, sizeof(more), " and %zu more", count - 1);
    snprintf(line, sizeof(line), "%s%s: left by a run that was killed, removed", first, more);
    tell(context, line);
    return STATUS_OK;
}
