/* SPDX-License-Identifier: MIT */
#include "analysis/run/record_line.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 16, NUMBERS = 2 * 20 + 4 };

size_t mgk_record_line_size(size_t size)
{
    return NUMBERS + size * DIGITS;
}

size_t mgk_record_line_write(size_t input, size_t sample, const double *record, size_t size,
                             char *line)
{
    static const char digits[] = "0123456789abcdef";
    char *end = line + snprintf(line, NUMBERS, "%zu %zu ", input, sample);
    for (size_t i = 0; i < size; i++) {
        uint64_t bits;
        memcpy(&bits, &record[i], sizeof(bits));
        for (int shift = 60; shift >= 0; shift -= 4)
            *end++ = digits[bits >> shift & 15];
    }
    *end++ = '\n';
    *end = '\0';
    return (size_t)(end - line);
}

static mgk_status fail(void)
{
    return mgk_fail(STATUS_FORMAT, "not the values of a sample");
}

/* Reads a number and the space after it. */
static mgk_status read_number(const char **line, size_t *out)
{
    char *end;
    if (**line < '0' || **line > '9')
        return fail();
    *out = strtoull(*line, &end, 10);
    if (*end != ' ')
        return fail();
    *line = end + 1;
    return STATUS_OK;
}

static int digit_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static mgk_status read_value(const char *line, double *out)
{
    uint64_t bits = 0;
    for (int i = 0; i < DIGITS; i++) {
        const int value = digit_value(line[i]);
        if (value < 0)
            return fail();
        bits = bits << 4 | (uint64_t)value;
    }
    memcpy(out, &bits, sizeof(bits));
    return isinf(*out) ? fail() : STATUS_OK;
}

mgk_status mgk_record_line_begin(const char **line, size_t *input, size_t *sample)
{
    TRY(read_number(line, input));
    return read_number(line, sample);
}

mgk_status mgk_record_line_values(const char *line, size_t size, double *record)
{
    for (size_t i = 0; i < size; i++, line += DIGITS)
        TRY(read_value(line, &record[i]));
    return *line == '\0' ? STATUS_OK : fail();
}
