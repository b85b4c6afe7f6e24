/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

static char folder[FUZZ_PATH / 2]; /* "": not created yet */

static void remove_folder(void)
{
    char path[FUZZ_PATH];
    DIR *files = opendir(folder);
    for (const struct dirent *entry; files && (entry = readdir(files));)
        if (entry->d_name[0] != '.') {
            fuzz_path(entry->d_name, path);
            unlink(path);
        }
    if (files)
        closedir(files);
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    const char *top = getenv("TMPDIR");
    if (folder[0])
        return folder;
    snprintf(folder, sizeof(folder), "%.96s/mgk-fuzz-XXXXXX", top ? top : "/tmp");
    if (!mkdtemp(folder) || atexit(remove_folder) != 0)
        abort();
    return folder;
}

void fuzz_path(const char *name, char path[FUZZ_PATH])
{
    snprintf(path, FUZZ_PATH, "%s/%.30s", fuzz_folder(), name);
}

void fuzz_write(const char *name, const uint8_t *bytes, size_t size)
{
    char path[FUZZ_PATH];
    fuzz_path(name, path);
    if (!bytes) {
        unlink(path);
        return;
    }
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
}

const uint8_t *fuzz_next_part(fuzz_parts *parts, size_t *size)
{
    const uint8_t *part = parts->bytes;
    const uint8_t *end = part && parts->size > 0 ? memchr(part, '\0', parts->size) : NULL;
    *size = end ? (size_t)(end - part) : parts->size;
    parts->bytes = end ? end + 1 : NULL;
    parts->size = end ? parts->size - *size - 1 : 0;
    return part;
}
