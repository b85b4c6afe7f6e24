/* SPDX-License-Identifier: MIT */
#include "tools/outline.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Entries of a list that are shown; the first of the configuration say the size of a model. */
enum { FEW = 4, SETTINGS = 16 };

/* The end of a line, after its newline. */
static const char *end_of(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* Whether the description, whose lines are "name  value", has this value of "kind". */
static bool is_kind(const char *text, const char *kind)
{
    for (; *text; text = end_of(text))
        if (strncmp(text, "kind ", 5) == 0) {
            const char *value = text + 5 + strspn(text + 5, " ");
            const size_t length = strlen(kind);
            return strncmp(value, kind, length) == 0 && value[length] == '\n';
        }
    return false;
}

/* The value of the entry "  total  12"; NULL: none. */
static const char *find_total(const char *first, const char *end)
{
    static const char total[] = "  total ";
    for (; first < end; first = end_of(first))
        if (strncmp(first, total, sizeof(total) - 1) == 0)
            return first + strlen(total) + strspn(first + strlen(total), " ");
    return NULL;
}

/* The settings of kinds of attention, which follow the kinds. */
static size_t count_settings(const char *first, const char *end)
{
    size_t count = 0;
    const char *line = first;
    while (line < end && strncmp(line, "  attention ", 12) != 0)
        line = end_of(line);
    for (line = end_of(line); line < end; line = end_of(line), count++)
        if (strncmp(line, "  attention_", 12) != 0 && strncmp(line, "  feature_", 10) != 0)
            break;
    return count;
}

/* Prints the list under a name, both lines of a description. */
static void print_list(const char *name, const char *first, const char *end, int column)
{
    const int length = (int)strcspn(name, "\n");
    const bool settings = length == (int)strlen("configuration") && strncmp(name, "conf", 4) == 0;
    const bool sum = strncmp(name, "parameters", 10) == 0 || strncmp(name, "flops_", 6) == 0;
    const char *total = sum ? find_total(first, end) : NULL;
    size_t count = 0, shown;
    if (total) {
        printf("%-*.*s%.*s\n", column, length, name, (int)strcspn(total, "\n"), total);
        return;
    }
    for (const char *line = first; line < end; line = end_of(line))
        count++;
    shown = settings ? SETTINGS + count_settings(first, end) : FEW;
    if (count <= shown + 1)
        shown = count;
    printf("%.*s\n", length, name);
    for (size_t i = 0; i < shown; i++, first = end_of(first))
        fwrite(first, 1, (size_t)(end_of(first) - first), stdout);
    if (shown < count)
        printf("  ... %zu more (--all)\n", count - shown);
}

void mgk_outline_print(const char *text)
{
    const int name = (int)strcspn(text, " "), column = name + (int)strspn(text + name, " ");
    if (!is_kind(text, "model") && !is_kind(text, "tensors")) {
        fputs(text, stdout);
        return;
    }
    while (*text) {
        const char *first = end_of(text), *end = first;
        while (end[0] == ' ')
            end = end_of(end);
        if (end == first)
            fwrite(text, 1, (size_t)(first - text), stdout);
        else
            print_list(text, first, end, column);
        text = end;
    }
}
