/* SPDX-License-Identifier: MIT */
#include "plot/seeds.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

static bool separates(char c)
{
    return c != '\0' && strchr("-_=. ", c);
}

/* The length of "seed" and its number at the start of the text; 0: there are none. */
static size_t seed_length(const char *text)
{
    static const char word[] = "seed";
    size_t length = sizeof(word) - 1;
    if (strncasecmp(text, word, length) != 0)
        return 0;
    length += separates(text[length]);
    const size_t digits = strspn(text + length, "0123456789");
    return digits > 0 ? length + digits : 0;
}

mgk_status mgk_seeds_strip(const char *path, char **out)
{
    size_t used = 0;
    TRY(mgk_copy_string(path, out));
    char *text = *out;
    for (size_t i = 0; path[i];) {
        const bool begins = i == 0 || !isalnum((unsigned char)path[i - 1]);
        const size_t length = begins ? seed_length(path + i) : 0;
        if (length == 0) {
            text[used++] = path[i++];
            continue;
        }
        i += length;
        if (used > 0 && separates(text[used - 1]))
            used--;
        else if (separates(path[i]) && path[i] != '.') /* a name's first word */
            i++;
    }
    text[used] = '\0';
    return STATUS_OK;
}

mgk_status mgk_seeds_group(const char *const *paths, size_t count, size_t *group, char **names,
                           size_t *groups)
{
    *groups = 0;
    for (size_t i = 0; i < count; i++) {
        char *name;
        size_t g = 0;
        TRY(mgk_seeds_strip(paths[i], &name));
        while (g < *groups && strcmp(names[g], name) != 0)
            g++;
        group[i] = g;
        if (g == *groups)
            names[(*groups)++] = name;
        else
            mgk_free(name);
    }
    return STATUS_OK;
}
