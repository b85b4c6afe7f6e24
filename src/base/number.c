/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

/* The C library's functions skip blanks and accept "0x1p3", "inf" and "nan". */
static bool begins_decimal(const char *text, bool point)
{
    if (*text == '-' || *text == '+')
        text++;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return false;
    return isdigit((unsigned char)*text) ||
           (point && *text == '.' && isdigit((unsigned char)text[1]));
}

_Static_assert(sizeof(long long) == sizeof(int64_t), "strtoll reads 64 bits");

bool mgk_read_int64(const char *text, const char **end, int64_t *out)
{
    char *after;
    if (!begins_decimal(text, false))
        return false;
    errno = 0;
    long long value = strtoll(text, &after, 10);
    if (errno != 0)
        return false;
    *end = after;
    *out = value;
    return true;
}

bool mgk_read_uint64(const char *text, const char **end, uint64_t *out)
{
    char *after;
    if (*text == '-' || !begins_decimal(text, false))
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &after, 10);
    if (errno != 0)
        return false;
    *end = after;
    *out = value;
    return true;
}

bool mgk_read_real(const char *text, const char **end, double *out)
{
    char *after;
    if (!begins_decimal(text, true))
        return false;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return false;
    double value = strtod_l(text, &after, plain);
    freelocale(plain);
    if (!isfinite(value))
        return false;
    *end = after;
    *out = value;
    return true;
}
