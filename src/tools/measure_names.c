/* SPDX-License-Identifier: MIT */
#include "tools/measure_names.h"

#include <string.h>
#include <strings.h>

#include "mgk.h"

/* Spells the name [length] at the beginning of a text. */
static void spell(char *name, size_t length)
{
    mgk_measure_description measure;
    if (length == 3 && strncasecmp(name, "all", length) == 0)
        memcpy(name, "all", length);
    for (size_t i = 0; mgk_describe_measure(i, &measure) == MGK_OK; i++)
        if (strlen(measure.name) == length && strncasecmp(name, measure.name, length) == 0)
            memcpy(name, measure.name, length);
}

void mgk_tool_spell_measures(char *list)
{
    char *out = list;
    for (char *next = list, *comma; next; next = comma ? comma + 1 : NULL) {
        next += strspn(next, " ");
        comma = strchr(next, ',');
        size_t length = strcspn(next, ",");
        while (length > 0 && next[length - 1] == ' ')
            length--;
        memmove(out, next, length);
        spell(out, length);
        out += length;
        if (comma)
            *out++ = ',';
    }
    *out = '\0';
}
