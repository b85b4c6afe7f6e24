/* SPDX-License-Identifier: MIT */
#include "store/schema/shard_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

static const char ending[] = ".h5", between[] = ".shard-";

/* The length of a name without its ending. */
static size_t stem_of(const char *name)
{
    const size_t end = sizeof(ending) - 1, length = strlen(name);
    return length > end && strcmp(name + length - end, ending) == 0 ? length - end : length;
}

mgk_status mgk_shard_path(const char *store, int set, int number, char **out)
{
    const size_t room = strlen(store) + 48;
    char more[16] = "";
    TRY(mgk_alloc(room, 1, out));
    if (set > 0)
        snprintf(more, sizeof(more), ".%d", set);
    snprintf(*out, room, "%.*s%s%d%s%s", (int)stem_of(store), store, between, number, more, ending);
    return STATUS_OK;
}

/* Reads a number as this file writes them; NULL: there is none. */
static const char *read_number(const char *text, int *number)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 9 || (digits > 1 && *text == '0'))
        return NULL;
    *number = atoi(text);
    return text + digits;
}

/* What follows the name of a shard of the store `name` in the name of a file; NULL: it is none. */
static const char *after_shard(const char *entry, const char *name, int *set)
{
    const size_t stem = stem_of(name), middle = sizeof(between) - 1, end = sizeof(ending) - 1;
    int number;
    *set = 0;
    if (strncmp(entry, name, stem) != 0 || strncmp(entry + stem, between, middle) != 0)
        return NULL;
    const char *next = read_number(entry + stem + middle, &number);
    if (next && *next == '.' && next[1] >= '1' && next[1] <= '9')
        next = read_number(next + 1, set);
    return next && strncmp(next, ending, end) == 0 ? next + end : NULL;
}

static bool is_shard(const char *entry, const char *name, int *set)
{
    const char *after = after_shard(entry, name, set);
    return after && *after == '\0';
}

static bool is_part_of_shard(const char *entry, const char *name)
{
    int set;
    const char *after = after_shard(entry, name, &set);
    return after && mgk_is_part_ending(after);
}

/* Finds a shard of the store, of this set; −1: of any. `name` is "" if there is none. */
static mgk_status find_shard(const char *store, int set, char name[NAME_MAX + 1])
{
    char *folder;
    struct dirent *entry;
    int found;
    *name = '\0';
    TRY(mgk_folder_of(store, &folder));
    DIR *entries = opendir(folder);
    mgk_status status =
        entries ? STATUS_OK : mgk_fail(STATUS_IO, "%s: %s", folder, strerror(errno));
    mgk_free(folder);
    TRY(status);
    errno = 0;
    while (!*name && (entry = readdir(entries)))
        if (is_shard(entry->d_name, mgk_file_name(store), &found) && (set < 0 || found == set))
            snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
    if (!*name && errno != 0)
        status = mgk_fail(STATUS_IO, "%s: cannot read its folder: %s", store, strerror(errno));
    closedir(entries);
    return status;
}

mgk_status mgk_shards_choose(const char *store, bool force, int *set)
{
    char name[NAME_MAX + 1];
    *set = 0;
    TRY(find_shard(store, force ? 0 : -1, name));
    if (*name && !force)
        return mgk_fail(
            STATUS_EXISTS,
            "%s: exists beside %s (use `force` to keep it and write shards of other names)", name,
            store);
    while (*name)
        TRY(find_shard(store, ++*set, name));
    return STATUS_OK;
}

void mgk_shard_remove_other(const char *store, const char *path, int set)
{
    int own;
    if (is_shard(mgk_file_name(path), mgk_file_name(store), &own) && own != set)
        unlink(path);
}

static bool keep_none(void *keeper, const struct stat *info)
{
    (void)keeper;
    (void)info;
    return false;
}

mgk_status mgk_shards_clean(const char *store, mgk_output_tell tell, void *context)
{
    return mgk_output_clean(store, is_part_of_shard, keep_none, NULL, tell, context);
}
