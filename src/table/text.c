/* SPDX-License-Identifier: MIT */
#include "table/text.h"

#include <errno.h>

#include "base/file.h"
#include "base/locale.h"

/* A file to write. */
typedef struct text_file {
    const mgk_table_text_format *format;
    const mgk_table_chunks *chunks;
    const char *path;
    const void *state;
} text_file;

static mgk_status write_rows(FILE *file, const text_file *text)
{
    const mgk_table *chunk;
    for (bool first = true;;) {
        TRY(text->chunks->next(text->chunks->state, &chunk));
        if (!chunk)
            return STATUS_OK;
        for (size_t r = 0; r < chunk->row_count; r++, first = false)
            text->format->row(file, chunk, r, first);
        /* A full disk ends the work that makes the chunks. */
        if (fflush(file) != 0)
            return mgk_fail_write(text->path, errno);
    }
}

static mgk_status write_parts(FILE *file, const text_file *text)
{
    text->format->begin(file, text->chunks);
    TRY(write_rows(file, text));
    return text->format->end ? text->format->end(file, text->state) : STATUS_OK;
}

/* Opens, writes and closes the temporary file. */
static mgk_status write_file(const text_file *text, const char *temporary)
{
    mgk_plain_locale scope;
    FILE *file = fopen(temporary, "w");
    if (!file)
        return mgk_fail_write(text->path, errno);
    mgk_status status = mgk_plain_locale_begin(&scope);
    if (status == STATUS_OK) {
        status = write_parts(file, text);
        mgk_plain_locale_end(&scope);
    }
    if (status == STATUS_OK)
        return mgk_close_written(file, text->path);
    fclose(file);
    return status;
}

mgk_status mgk_table_write_text(const mgk_table_text_format *format, const mgk_table_chunks *chunks,
                                const char *path, bool force, const void *state)
{
    const text_file text = {format, chunks, path, state};
    mgk_output output;
    TRY(mgk_output_open(path, force, &output));
    mgk_status status = write_file(&text, output.temporary);
    if (status != STATUS_OK) {
        mgk_output_discard(&output);
        return status;
    }
    return mgk_output_commit(&output);
}

static mgk_status give_once(void *state, const mgk_table **chunk)
{
    const mgk_table **left = state;
    *chunk = *left;
    *left = NULL;
    return STATUS_OK;
}

mgk_table_chunks mgk_table_only_chunk(const mgk_table **left)
{
    return (mgk_table_chunks){(*left)->schema, (*left)->settings, give_once, left};
}
