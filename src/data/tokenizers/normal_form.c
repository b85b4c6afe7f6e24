/* SPDX-License-Identifier: MIT */
/*
 * ASCII characters stay unchanged in every form and never combine with the text before them. So a
 * text is normalized in stretches: an ASCII character with the non-ASCII text after it.
 */
#include "data/tokenizers/normal_form.h"

#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"

/* DECOMPOSED: room for the decomposition of one character, at most 18 */
enum { DECOMPOSED = 32, CLASSES = 256 };

static int class_of(int32_t code)
{
    return utf8proc_get_property(code)->combining_class;
}

/* Sorts marks by their combining class, stably. utf8proc's own sort takes quadratic time, and a
 * text may consist of marks only. */
static mgk_status sort_marks(int32_t *marks, size_t count, mgk_buffer *spare)
{
    size_t places[CLASSES + 1] = {0};
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        places[class_of(marks[i]) + 1]++;
        sorted = sorted && (i == 0 || class_of(marks[i - 1]) <= class_of(marks[i]));
    }
    if (sorted)
        return STATUS_OK;
    for (int i = 0; i < CLASSES; i++)
        places[i + 1] += places[i];
    spare->size = 0;
    TRY(mgk_buffer_append(spare, marks, count * sizeof(*marks)));
    const int32_t *copy = (const int32_t *)(const void *)spare->data;
    for (size_t i = 0; i < count; i++)
        marks[places[class_of(copy[i])]++] = copy[i];
    return STATUS_OK;
}

/* Canonical ordering: sorts each run of marks (combining class above 0). */
static mgk_status order(mgk_buffer *points, mgk_buffer *spare)
{
    int32_t *code = (int32_t *)(void *)points->data;
    size_t count = points->size / sizeof(*code);
    for (size_t start = 0; start < count; start++) {
        size_t end = start;
        while (end < count && class_of(code[end]) > 0)
            end++;
        if (end > start + 1)
            TRY(sort_marks(code + start, end - start, spare));
        start = end;
    }
    return STATUS_OK;
}

static mgk_status decompose(mgk_span stretch, bool compatible, mgk_buffer *points)
{
    int options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
    points->size = 0;
    for (size_t at = 0; at < stretch.size;) {
        utf8proc_int32_t parts[DECOMPOSED];
        uint32_t code;
        at += mgk_utf8_read(stretch.data + at, stretch.size - at, &code);
        utf8proc_ssize_t count = utf8proc_decompose_char((utf8proc_int32_t)code, parts, DECOMPOSED,
                                                         (utf8proc_option_t)options, NULL);
        if (count < 0 || count > DECOMPOSED) /* cannot happen for a character */
            count = 0;
        TRY(mgk_buffer_append(points, parts, (size_t)count * sizeof(*parts)));
    }
    return STATUS_OK;
}

static mgk_status write_stretch(mgk_normal_kind form, mgk_span stretch, mgk_buffer *points,
                                mgk_buffer *out)
{
    bool compatible = form == MGK_NORMAL_NFKD || form == MGK_NORMAL_NFKC;
    bool composed = form == MGK_NORMAL_NFC || form == MGK_NORMAL_NFKC;
    mgk_buffer spare = {0};
    TRY(decompose(stretch, compatible, points));
    mgk_status status = order(points, &spare);
    mgk_buffer_free(&spare);
    TRY(status);
    utf8proc_int32_t *code = (utf8proc_int32_t *)(void *)points->data;
    size_t count = points->size / sizeof(*code);
    if (composed)
        count = (size_t)utf8proc_normalize_utf32(
            code, (utf8proc_ssize_t)count, (utf8proc_option_t)(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    TRY(mgk_buffer_reserve(out, 4 * count));
    for (size_t i = 0; i < count; i++)
        out->size += mgk_utf8_write((uint32_t)code[i], (char *)out->data + out->size);
    return STATUS_OK;
}

/* Length of the ASCII or non-ASCII run at the beginning of the text. */
static size_t run_of(mgk_span text, bool ascii)
{
    size_t size = 0;
    while (size < text.size && ((unsigned char)text.data[size] < 0x80) == ascii)
        size++;
    return size;
}

static mgk_span skip(mgk_span text, size_t size)
{
    return (mgk_span){text.data + size, text.size - size};
}

mgk_status mgk_normal_form(mgk_normal_kind form, mgk_span text, mgk_buffer *points, mgk_buffer *out)
{
    out->size = 0;
    while (text.size > 0) {
        size_t plain = run_of(text, true);
        if (plain > 0 && plain < text.size)
            plain--; /* the last ASCII character may combine with the text after it */
        TRY(mgk_buffer_append(out, text.data, plain));
        text = skip(text, plain);
        if (text.size == 0)
            break;
        size_t size = (unsigned char)text.data[0] < 0x80;
        size += run_of(skip(text, size), false);
        TRY(write_stretch(form, (mgk_span){text.data, size}, points, out));
        text = skip(text, size);
    }
    return STATUS_OK;
}
