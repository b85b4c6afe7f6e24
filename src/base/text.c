/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 63 };

bool mgk_ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_same(char a, char b)
{
    return lower(a) == lower(b);
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
size_t mgk_text_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t d[LONGEST + 1][LONGEST + 1];
    if (a_length > LONGEST || b_length > LONGEST)
        return SIZE_MAX;
    for (size_t i = 0; i <= a_length; i++)
        for (size_t j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
                            d[i - 1][j - 1] + !is_same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1]))
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a_length][b_length];
}
