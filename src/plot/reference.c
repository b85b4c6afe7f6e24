/* SPDX-License-Identifier: MIT */
#include "plot/reference.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "data/datasets/lines.h"

enum { MOST_BYTES = 1 << 24 };

/* Cuts the next word off a line; words end at blanks, tabs and commas. */
static bool next_word(mgk_span *rest, mgk_span *word)
{
    static const char separators[] = " \t,";
    size_t start = 0, end;
    while (start < rest->size && memchr(separators, rest->data[start], 3))
        start++;
    for (end = start; end < rest->size && !memchr(separators, rest->data[end], 3);)
        end++;
    *word = (mgk_span){rest->data + start, end - start};
    *rest = (mgk_span){rest->data + end, rest->size - end};
    return word->size > 0;
}

static mgk_status read_names(mgk_span line, mgk_reference *out)
{
    mgk_span word;
    for (out->count = 0; next_word(&line, &word); out->count++) {
        if (out->count == MGK_REFERENCE_MOST)
            return mgk_fail(STATUS_FORMAT, "more than %d names", MGK_REFERENCE_MOST);
        mgk_utf8_copy(word.data, word.size, out->names[out->count], MGK_REFERENCE_NAME);
        if (mgk_reference_find(out, out->names[out->count]) < out->count)
            return mgk_fail(STATUS_FORMAT, "name \"%s\" occurs twice", out->names[out->count]);
    }
    TRY(mgk_alloc(out->count * out->count, sizeof(double), &out->values));
    for (size_t i = 0; i < out->count * out->count; i++)
        out->values[i] = NAN;
    return STATUS_OK;
}

static mgk_status read_row(mgk_span line, mgk_reference *out)
{
    char name[MGK_REFERENCE_NAME], text[MGK_REFERENCE_NAME];
    mgk_span word;
    next_word(&line, &word);
    mgk_utf8_copy(word.data, word.size, name, sizeof(name));
    const size_t row = mgk_reference_find(out, name);
    if (row == SIZE_MAX)
        return mgk_fail(STATUS_FORMAT, "\"%s\" is not a name of the first line", name);
    for (size_t c = 0; c < out->count; c++) {
        const char *end;
        const bool present = next_word(&line, &word);
        mgk_utf8_copy(word.data, word.size, text, sizeof(text));
        if (!present || !mgk_read_real(text, &end, &out->values[row * out->count + c]) || *end)
            return mgk_fail(STATUS_FORMAT, "expected %zu numbers after \"%s\", got %zu", out->count,
                            name, c);
    }
    if (next_word(&line, &word))
        return mgk_fail(STATUS_FORMAT, "more than %zu numbers after \"%s\"", out->count, name);
    return STATUS_OK;
}

static mgk_status read_lines(const char *path, const mgk_mapping *file, mgk_reference *out)
{
    mgk_lines lines = {.rest = {(const char *)file->data, file->size}};
    mgk_span line;
    while (mgk_next_line(&lines, &line)) {
        mgk_span rest = line, word;
        if (!next_word(&rest, &word) || *word.data == '#')
            continue;
        mgk_status status = out->values ? read_row(line, out) : read_names(line, out);
        if (status != STATUS_OK)
            return mgk_fail_line(status, path, lines.number);
    }
    if (!out->values)
        return mgk_fail(STATUS_FORMAT, "%s: no line with names", path);
    return STATUS_OK;
}

mgk_status mgk_reference_read(const char *path, mgk_reference *out)
{
    mgk_mapping file;
    *out = (mgk_reference){.names = NULL};
    TRY(mgk_alloc(MGK_REFERENCE_MOST, sizeof(*out->names), &out->names));
    TRY(mgk_map_limited(path, MOST_BYTES, &file));
    mgk_status status = read_lines(path, &file, out);
    mgk_unmap_file(&file);
    return status;
}

void mgk_reference_free(mgk_reference *reference)
{
    mgk_free(reference->names);
    mgk_free(reference->values);
    *reference = (mgk_reference){.names = NULL};
}

size_t mgk_reference_find(const mgk_reference *reference, const char *name)
{
    for (size_t i = 0; i < reference->count; i++)
        if (strcmp(reference->names[i], name) == 0)
            return i;
    return SIZE_MAX;
}
