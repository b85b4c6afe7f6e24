/* SPDX-License-Identifier: MIT */
#include "data/datasets/text_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

/* Folders that are still to be read; they wait here, so that none is open while another is. */
typedef struct waiting {
    const char **paths;
    size_t count, room;
} waiting;

static mgk_status append(mgk_arena *arena, const char *path, const char ***paths, size_t *count,
                         size_t *room)
{
    TRY(mgk_arena_grow(arena, *count, sizeof(**paths), room, paths));
    return mgk_arena_text(arena, path, strlen(path), &(*paths)[(*count)++]);
}

static mgk_status take(mgk_text_files *files, waiting *folders, const char *folder,
                       const char *name)
{
    struct stat info;
    char *path;
    mgk_status status = STATUS_OK;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return STATUS_OK;
    TRY(mgk_join_path(folder, name, &path));
    const bool there = lstat(path, &info) == 0;
    if (there && S_ISDIR(info.st_mode))
        status = append(&files->arena, path, &folders->paths, &folders->count, &folders->room);
    else if (mgk_ends_with(name, ".txt") &&
             !(there && S_ISLNK(info.st_mode) && mgk_is_folder(path)))
        status = append(&files->arena, path, &files->paths, &files->count, &files->room);
    mgk_free(path);
    return status;
}

static mgk_status read_folder(mgk_text_files *files, waiting *folders, const char *folder)
{
    mgk_status status = STATUS_OK;
    const struct dirent *entry;
    DIR *entries = opendir(folder);
    if (!entries)
        return mgk_fail(STATUS_IO, "%s: %s", folder, strerror(errno));
    while (status == STATUS_OK && (errno = 0, entry = readdir(entries)))
        status = take(files, folders, folder, entry->d_name);
    if (status == STATUS_OK && errno != 0)
        status = mgk_fail(STATUS_IO, "%s: %s", folder, strerror(errno));
    closedir(entries);
    return status;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

mgk_status mgk_text_files_add(mgk_text_files *files, const char *path)
{
    const size_t first = files->count;
    waiting folders = {0};
    if (!mgk_is_folder(path))
        return append(&files->arena, path, &files->paths, &files->count, &files->room);
    TRY(append(&files->arena, path, &folders.paths, &folders.count, &folders.room));
    while (folders.count > 0)
        TRY(read_folder(files, &folders, folders.paths[--folders.count]));
    if (files->count > first)
        qsort(files->paths + first, files->count - first, sizeof(*files->paths), by_bytes);
    return STATUS_OK;
}

mgk_status mgk_text_files_list(mgk_text_files *files, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t before = files->count;
        TRY(mgk_text_files_add(files, paths[i]));
        if (files->count == before)
            return mgk_fail(STATUS_SHAPE, "%s: no .txt files", paths[i]);
    }
    return STATUS_OK;
}

void mgk_text_files_free(mgk_text_files *files)
{
    mgk_arena_free(&files->arena);
    *files = (mgk_text_files){0};
}
