/* SPDX-License-Identifier: MIT */
#include "base/names.h"

#include <string.h>

#include "base/text.h"

enum { FEWEST_LETTERS = 2 }; /* of a part of a name that says something */

/* Adds a name to a list, unless it finds no room. */
static void append(const char *name, char *list, size_t size)
{
    const size_t used = strlen(list);
    const char *comma = used > 0 ? ", " : "";
    if (used + strlen(comma) + strlen(name) < size)
        strcat(strcat(list, comma), name);
}

void mgk_names_join(const char *const *names, size_t count, char *out, size_t size)
{
    *out = '\0';
    for (size_t i = 0; i < count; i++)
        append(names[i], out, size);
}

/* The name with the least distance, if it is small; NULL: none. */
static const char *find_nearest(const char *wrong, const char *const *names, size_t count)
{
    const size_t most = 1 + strlen(wrong) / 4;
    const char *found = NULL;
    size_t best = most + 1;
    for (size_t i = 0; i < count; i++) {
        const size_t d = mgk_text_distance(wrong, strlen(wrong), names[i], strlen(names[i]));
        if (d >= best || d >= strlen(names[i]))
            continue;
        best = d;
        found = names[i];
    }
    return found;
}

/* Adds "LABEL a, b" with the names that are meant perhaps; nothing if there is none. */
static void append_similar(const char *label, const char *wrong, const char *const *names,
                           size_t count, char *out, size_t size)
{
    const char *nearest = find_nearest(wrong, names, count);
    char list[MGK_NAMES_HINT] = "";
    for (size_t i = 0; i < count && strlen(wrong) >= FEWEST_LETTERS; i++)
        if (strcasestr(names[i], wrong))
            append(names[i], list, sizeof(list));
    if (!*list && nearest)
        append(nearest, list, sizeof(list));
    if (*list && strlen(out) + strlen(label) + strlen(list) < size)
        strcat(strcat(out, label), list);
}

void mgk_names_hint(const char *wrong, const char *const *names, size_t count,
                    char out[MGK_NAMES_HINT])
{
    static const char all[] = "there are ";
    *out = '\0';
    append_similar("similar: ", wrong, names, count, out, MGK_NAMES_HINT);
    if (*out)
        return;
    strcpy(out, all);
    mgk_names_join(names, count, out + strlen(all), MGK_NAMES_HINT - strlen(all));
}

void mgk_names_expected(const char *wrong, const char *const *names, size_t count,
                        char out[MGK_NAMES_HINT])
{
    static const char all[] = "expected one of ";
    strcpy(out, all);
    mgk_names_join(names, count, out + strlen(all), MGK_NAMES_HINT - strlen(all));
    append_similar("; similar: ", wrong, names, count, out, MGK_NAMES_HINT);
}

mgk_status mgk_names_choose(const char *field, const char *word, const char *const *names,
                            size_t count, int *index)
{
    char hint[MGK_NAMES_HINT];
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0) {
            *index = (int)i;
            return STATUS_OK;
        }
    mgk_names_expected(word, names, count, hint);
    return mgk_fail(STATUS_USAGE, "`%s` \"%.80s\": %s", field, word, hint);
}
