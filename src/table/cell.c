/* SPDX-License-Identifier: MIT */
#include "table/cell.h"

#include <string.h>

void mgk_cell_write(FILE *file, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

/* Removes the quotes around a cell and the doubled ones in it; *text moves behind the cell. */
static mgk_status unquote(char **text, const char **cell)
{
    char *from = *text + 1, *to = *text;
    *cell = to;
    for (; from[0] != '"' || from[1] == '"'; *to++ = *from++) {
        if (*from == '\0')
            return mgk_fail(STATUS_FORMAT, "a quote that does not end");
        if (*from == '"')
            from++;
    }
    *to = '\0';
    *text = from + 1;
    return STATUS_OK;
}

/* Cuts a cell without quotes: *text moves behind it. */
static mgk_status take_plain(char **text, const char **cell)
{
    char *at = *text;
    while (*at != ',' && *at != '\n' && *at != '\0' && *at != '"')
        at++;
    if (*at == '"')
        return mgk_fail(STATUS_FORMAT, "a quote in a cell that does not begin with one");
    if (*at != ',' && at > *text && at[-1] == '\r')
        at[-1] = '\0';
    *cell = *text;
    *text = at;
    return STATUS_OK;
}

mgk_status mgk_cell_take(char **text, const char **cell, char *end)
{
    char *at = *text;
    TRY(*at == '"' ? unquote(&at, cell) : take_plain(&at, cell));
    if (at[0] == '\r' && (at[1] == '\n' || at[1] == '\0'))
        at++;
    *end = *at;
    if (*end != ',' && *end != '\n' && *end != '\0')
        return mgk_fail(STATUS_FORMAT, "text after the quote that ends a cell");
    *at = '\0';
    *text = *end ? at + 1 : at;
    return STATUS_OK;
}
