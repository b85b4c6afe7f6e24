/*
 * The text task: a split's folder of the IMDb reviews (Maas et al. 2011),
 * FOLDER/neg/<any>.txt of class 0 and FOLDER/pos/<any>.txt of class 1, in the
 * order of their names, as bytes (V = 256). Texts longer than N are cut to N.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/labelled.h"

enum { CLASSES = 2 };

static const char *const class_folders[CLASSES] = {"neg", "pos"};

static mgk_status join(const char *folder, const char *name, char **path)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    TRY(mgk_alloc(size, 1, path));
    snprintf(*path, size, "%s/%s", folder, name);
    return STATUS_OK;
}

static mgk_status read_text(const char *path, int32_t label, mgk_labelled *texts)
{
    mgk_mapping file;
    TRY(mgk_map_file(path, &file));
    size_t n = texts->base.shape.length;
    mgk_status status = file.size == 0 ? mgk_fail(STATUS_SHAPE, "%s: empty", path)
                                       : mgk_labelled_append(texts, file.data,
                                                             file.size < n ? file.size : n, label);
    mgk_unmap_file(&file);
    return status;
}

static int is_text(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".txt") == 0;
}

/* By bytes: the order must not depend on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static mgk_status read_folder(const char *folder, int32_t label, mgk_labelled *texts)
{
    mgk_status status = STATUS_OK;
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_text, by_name);
    if (count < 0)
        return mgk_fail(STATUS_IO, "%s: %s", folder, strerror(errno));
    if (count == 0)
        status = mgk_fail(STATUS_SHAPE, "%s: no .txt files", folder);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        char *path;
        CHECK(join(folder, entries[i]->d_name, &path));
        status = read_text(path, label, texts);
        mgk_free(path);
    }
out:
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return status;
}

mgk_status mgk_text_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_status status = STATUS_OK;
    mgk_dataset_shape shape = {1, options->length, MGK_BYTE_VALUES, CLASSES};
    mgk_labelled *texts;
    if (options->path_count != 1)
        return mgk_fail(STATUS_USAGE, "text: expected one folder, got %zu", options->path_count);
    TRY(mgk_labelled_create(shape, &texts));
    for (int32_t label = 0; label < CLASSES; label++) {
        char *folder;
        CHECK(join(options->paths[0], class_folders[label], &folder));
        status = read_folder(folder, label, texts);
        mgk_free(folder);
        if (status != STATUS_OK)
            goto out;
    }
    *out = &texts->base;
out:
    if (status != STATUS_OK)
        mgk_dataset_close(&texts->base);
    return status;
}
