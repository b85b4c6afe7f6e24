/* SPDX-License-Identifier: MIT */
/*
 * The text task: the folder of one split of the IMDb reviews (Maas et al. 2011), with
 * FOLDER/neg/<any>.txt of class 0 and FOLDER/pos/<any>.txt of class 1, ordered by name, as bytes
 * (V = 256) or tokens. Texts longer than N are cut to N.
 *
 * TRAIN, which is shuffled, has all of neg/ before all of pos/. EVAL and TEST alternate between the
 * classes, then take the rest of the larger class, so that their first samples contain both.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/datasets/document_rows.h"
#include "data/datasets/lines.h"

enum { CLASSES = 2 };

static const char *const class_folders[CLASSES] = {"neg", "pos"};

/* Takes a text that is not empty. */
typedef mgk_status (*taker)(void *context, mgk_span text, int32_t label);

static mgk_status read_text(const char *path, int32_t label, taker take, void *context)
{
    mgk_mapping file;
    TRY(mgk_map_file(path, &file));
    mgk_status status = file.size == 0
                            ? mgk_fail(STATUS_SHAPE, "empty")
                            : take(context, (mgk_span){(const char *)file.data, file.size}, label);
    mgk_unmap_file(&file);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, path);
}

static int is_text(const struct dirent *entry)
{
    return mgk_ends_with(entry->d_name, ".txt");
}

/* Compares bytes, so that the order does not depend on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* The texts of a class. */
typedef struct class_folder {
    char *path;
    struct dirent **entries; /* [count] */
    int count;
} class_folder;

static mgk_status list_folder(const char *parent, const char *name, class_folder *out)
{
    TRY(mgk_join_path(parent, name, &out->path));
    int count = scandir(out->path, &out->entries, is_text, by_name);
    if (count < 0)
        return mgk_fail(STATUS_IO, "%s: %s", out->path, strerror(errno));
    out->count = count;
    return count > 0 ? STATUS_OK : mgk_fail(STATUS_SHAPE, "%s: no .txt files", out->path);
}

static void free_folder(class_folder *folder)
{
    for (int i = 0; i < folder->count; i++)
        free(folder->entries[i]);
    free(folder->entries);
    mgk_free(folder->path);
}

/* Reads texts `first` to `end` - 1 of a class, or fewer if it has fewer. */
static mgk_status read_texts(const class_folder *folder, int first, int end, int32_t label,
                             taker take, void *context)
{
    for (int i = first; i < end && i < folder->count; i++) {
        char *path;
        TRY(mgk_join_path(folder->path, folder->entries[i]->d_name, &path));
        mgk_status status = read_text(path, label, take, context);
        mgk_free(path);
        TRY(status);
    }
    return STATUS_OK;
}

/* Reads one text of each class in turn, or one class after the other. */
static mgk_status read_classes(const class_folder folders[CLASSES], bool in_turn, taker take,
                               void *context)
{
    int most = 0;
    for (int label = 0; label < CLASSES; label++)
        most = folders[label].count > most ? folders[label].count : most;
    int turn = in_turn ? 1 : most;
    for (int first = 0; first < most; first += turn)
        for (int32_t label = 0; label < CLASSES; label++)
            TRY(read_texts(&folders[label], first, first + turn, label, take, context));
    return STATUS_OK;
}

static mgk_status read_folder(const mgk_dataset_options *options, taker take, void *context)
{
    mgk_status status = STATUS_OK;
    class_folder folders[CLASSES] = {0};
    if (options->path_count != 1)
        return mgk_fail(STATUS_USAGE, "text: expected one folder, got %zu", options->path_count);
    for (int label = 0; label < CLASSES; label++)
        CHECK(list_folder(options->paths[0], class_folders[label], &folders[label]));
    CHECK(read_classes(folders, options->split != MGK_SPLIT_TRAIN, take, context));
out:
    for (int label = 0; label < CLASSES; label++)
        free_folder(&folders[label]);
    return status;
}

static mgk_status add_text(void *context, mgk_span text, int32_t label)
{
    mgk_document_rows *texts = context;
    TRY(mgk_documents_add(&texts->documents, text.data, text.size));
    return mgk_document_rows_add(texts, texts->documents.count - 1, 0, label);
}

mgk_status mgk_text_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_document_rows *texts;
    TRY(mgk_document_rows_create(options, 1, &texts));
    mgk_status status = read_folder(options, add_text, texts);
    mgk_document_rows_tell(texts);
    if (status == STATUS_OK)
        *out = &texts->base;
    else
        mgk_dataset_close(&texts->base);
    return status;
}

static mgk_status count_text(void *context, mgk_span text, int32_t label)
{
    (void)label;
    return mgk_learner_add(context, text.data, text.size);
}

mgk_status mgk_text_learn(const mgk_dataset_options *options, mgk_learner *learner)
{
    return read_folder(options, count_text, learner);
}
