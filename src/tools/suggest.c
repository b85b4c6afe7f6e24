/* SPDX-License-Identifier: MIT */
#include "tools/suggest.h"

#include <string.h>

enum { LONGEST = 48 }; /* letters of a name or a word; longer ones are not compared */

mgk_suggestion mgk_suggest_for(const char *word, size_t length)
{
    const size_t most = length < 3 ? 0 : length < 9 ? length / 3 : 3;
    return (mgk_suggestion){.word = word, .length = length, .distance = most + 1};
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * d(i, j) of the first i letters of a and the first j of b:
 *   min(d(i − 1, j) + 1, d(i, j − 1) + 1, d(i − 1, j − 1) + [a_i ≠ b_j],
 *       d(i − 2, j − 2) + 1 if a_i = b_(j − 1) and a_(i − 1) = b_j)
 */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= a_length; i++)
        for (size_t j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
                            d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a_length][b_length];
}

void mgk_suggest(mgk_suggestion *suggestion, const char *name)
{
    const size_t length = strlen(name);
    if (length > LONGEST || suggestion->length > LONGEST)
        return;
    const size_t found = distance(suggestion->word, suggestion->length, name, length);
    if (found < suggestion->distance) {
        suggestion->distance = found;
        suggestion->name = name;
    }
}
