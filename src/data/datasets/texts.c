/* SPDX-License-Identifier: MIT */
#include "data/datasets/texts.h"

#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"

enum {
    MOST_KEPT = 1 << 26, /* bytes kept in memory */
    PIECE = 1 << 16,     /* bytes hashed at a time */
};

/* A file of the text. */
typedef struct text_file {
    char *path;
    size_t start, size; /* in the concatenated text */
    size_t place;       /* offset in memory, if the file is kept */
    bool kept;
} text_file;

static const text_file *file_at(const mgk_texts *texts, size_t index)
{
    return (const text_file *)(const void *)texts->files.data + index;
}

static size_t file_count(const mgk_texts *texts)
{
    return texts->files.size / sizeof(text_file);
}

static mgk_status keep(mgk_texts *texts, const mgk_file *open, text_file *file)
{
    file->kept = file->size <= MOST_KEPT - texts->memory.size;
    file->place = texts->memory.size;
    if (!file->kept)
        return STATUS_OK;
    TRY(mgk_buffer_reserve(&texts->memory, file->size));
    TRY(mgk_file_read(open, 0, file->size, texts->memory.data + file->place));
    texts->memory.size += file->size;
    return STATUS_OK;
}

mgk_status mgk_texts_add(mgk_texts *texts, const char *path)
{
    mgk_status status;
    mgk_file open;
    text_file file = {.start = texts->size};
    TRY(mgk_file_open(path, &open));
    file.size = open.size;
    CHECK(file.size == 0 ? mgk_fail(STATUS_SHAPE, "%s: empty", path) : STATUS_OK);
    CHECK(keep(texts, &open, &file));
    CHECK(mgk_copy_string(path, &file.path));
    CHECK(mgk_buffer_append(&texts->files, &file, sizeof(file)));
    texts->size += file.size;
    file.path = NULL;
out:
    mgk_free(file.path);
    mgk_file_close(&open);
    return status;
}

static mgk_status read_file(const mgk_texts *texts, const text_file *file, size_t first,
                            size_t count, void *bytes)
{
    mgk_file open;
    if (file->kept) {
        memcpy(bytes, texts->memory.data + file->place + first, count);
        return STATUS_OK;
    }
    TRY(mgk_file_open(file->path, &open));
    mgk_status status =
        open.size == file->size
            ? mgk_file_read(&open, first, count, bytes)
            : mgk_fail(STATUS_FORMAT, "%s: %zu %s, but %zu when it was opened", file->path,
                       open.size, MGK_NOUN(open.size, "byte", "bytes"), file->size);
    mgk_file_close(&open);
    return status;
}

/* The file that holds byte `at`. */
static const text_file *find(const mgk_texts *texts, size_t at)
{
    size_t low = 0, high = file_count(texts);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (file_at(texts, middle)->start <= at)
            low = middle;
        else
            high = middle;
    }
    return file_at(texts, low);
}

mgk_status mgk_texts_read(const mgk_texts *texts, size_t first, size_t count, void *bytes)
{
    unsigned char *next = bytes;
    for (const text_file *file = count > 0 ? find(texts, first) : NULL; count > 0; file++) {
        size_t start = first - file->start, left = file->size - start;
        size_t size = count < left ? count : left;
        TRY(read_file(texts, file, start, size, next));
        next += size;
        first += size;
        count -= size;
    }
    return STATUS_OK;
}

mgk_status mgk_texts_hash(const mgk_texts *texts, uint64_t *hash)
{
    unsigned char bytes[PIECE];
    for (size_t at = 0; at < texts->size; at += PIECE) {
        size_t left = texts->size - at, size = left < PIECE ? left : PIECE;
        TRY(mgk_texts_read(texts, at, size, bytes));
        *hash = mgk_hash(*hash, bytes, size);
    }
    return STATUS_OK;
}

void mgk_texts_free(mgk_texts *texts)
{
    for (size_t i = 0; i < file_count(texts); i++)
        mgk_free(file_at(texts, i)->path);
    mgk_buffer_free(&texts->files);
    mgk_buffer_free(&texts->memory);
    texts->size = 0;
}
