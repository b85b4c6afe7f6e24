/* SPDX-License-Identifier: MIT */
#include "data/datasets/lines.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Cuts `size` bytes and the separator after them off *rest. */
static mgk_span cut(mgk_span *rest, size_t size)
{
    mgk_span piece = {rest->data, size};
    rest->data += size + 1;
    rest->size -= size + 1;
    return piece;
}

bool mgk_next_field(mgk_span *rest, char separator, mgk_span *field)
{
    if (!rest->data)
        return false;
    const char *end = rest->size > 0 ? memchr(rest->data, separator, rest->size) : NULL;
    if (end) {
        *field = cut(rest, (size_t)(end - rest->data));
    } else {
        *field = *rest;
        *rest = (mgk_span){0};
    }
    return true;
}

mgk_span mgk_rows_of(const void *text, size_t size)
{
    const size_t mark = mgk_utf8_mark(text, size);
    mgk_span rows = {text, size - mark};
    if (mark > 0) /* an empty text may be NULL */
        rows.data += mark;
    size_t end = rows.size;
    while (end > 0 && memchr(" \t\r\n", rows.data[end - 1], 4))
        end--;
    const char *rest = end > 0 ? memchr(rows.data + end, '\n', rows.size - end) : NULL;
    if (rest)
        rows.size = (size_t)(rest - rows.data);
    return rows;
}

bool mgk_next_line(mgk_lines *lines, mgk_span *line)
{
    /* A text that ends in LF has no further, empty line. */
    if (lines->rest.size == 0)
        return false;
    mgk_next_field(&lines->rest, '\n', line);
    if (line->size > 0 && line->data[line->size - 1] == '\r')
        line->size--;
    lines->number++;
    return true;
}

bool mgk_next_word(mgk_span *rest, mgk_span *word)
{
    size_t start = 0;
    while (start < rest->size && (rest->data[start] == ' ' || rest->data[start] == '\t'))
        start++;
    size_t end = start;
    while (end < rest->size && rest->data[end] != ' ' && rest->data[end] != '\t')
        end++;
    *word = (mgk_span){rest->data + start, end - start};
    *rest = (mgk_span){rest->data + end, rest->size - end};
    return word->size > 0;
}

bool mgk_span_equals(mgk_span span, const char *text)
{
    size_t size = strlen(text);
    return span.size == size && memcmp(span.data, text, size) == 0;
}

const char *mgk_quote(mgk_span span, char out[MGK_QUOTE_SIZE])
{
    size_t size = span.size < MGK_QUOTE_SIZE - 1 ? span.size : MGK_QUOTE_SIZE - 1;
    for (size_t i = 0; i < size; i++)
        out[i] = span.data[i] >= ' ' && span.data[i] <= '~' ? span.data[i] : '?';
    out[size] = '\0';
    return out;
}

mgk_status mgk_fail_line(mgk_status status, const char *path, size_t number)
{
    char line[32];
    snprintf(line, sizeof(line), "line %zu", number);
    mgk_fail_prefix(status, line);
    return mgk_fail_prefix(status, path);
}
