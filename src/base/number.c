/* SPDX-License-Identifier: MIT */
#include "base/number.h"
#include "base/append.h"

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

void mgk_size_text(double bytes, char text[MGK_SIZE_TEXT])
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    enum { UNITS = sizeof(units) / sizeof(units[0]) };
    int unit = -1;
    while (bytes >= 999.5 && unit < UNITS - 1) {
        bytes /= 1000;
        unit++;
    }
    if (unit < 0)
        snprintf(text, MGK_SIZE_TEXT, "%.0f %s", bytes, MGK_NOUN(bytes, "byte", "bytes"));
    else
        snprintf(text, MGK_SIZE_TEXT, "%.*f %s", bytes < 9.995 ? 2 : bytes < 99.95, bytes,
                 units[unit]);
}

void mgk_shape_text(int rank, const size_t *shape, char *out, size_t size)
{
    snprintf(out, size, "[");
    for (int i = 0; i < rank; i++)
        mgk_append(out, size, "%s%zu", i ? "," : "", shape[i]);
    mgk_append(out, size, "]");
}
