/* SPDX-License-Identifier: MIT */
#include "tools/suggest.h"

#include <string.h>

#include "base/text.h"

mgk_suggestion mgk_suggest_for(const char *word, size_t length)
{
    const size_t most = length < 3 ? 0 : length < 9 ? length / 3 : 3;
    return (mgk_suggestion){.word = word, .length = length, .distance = most + 1};
}

void mgk_suggest(mgk_suggestion *suggestion, const char *name)
{
    const size_t found =
        mgk_text_distance(suggestion->word, suggestion->length, name, strlen(name));
    if (found < suggestion->distance) {
        suggestion->distance = found;
        suggestion->name = name;
    }
}
