/* SPDX-License-Identifier: MIT */
#include "report/text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "base/utf8.h"

/* Writes a character as it is. */
static void put(FILE *page, uint32_t code)
{
    char bytes[4];
    fwrite(bytes, 1, mgk_utf8_write(code, bytes), page);
}

/* Takes the next character off *text. */
static uint32_t take(const char **text)
{
    uint32_t code;
    *text += mgk_utf8_read(*text, strlen(*text), &code);
    return code == MGK_UTF8_INVALID ? MGK_UTF8_REPLACEMENT : code;
}

static bool is_markup(uint32_t code)
{
    return code == '<' || code == '>' || code == '&' || code == '"' || code == '\'';
}

/* HTML has no way to write control characters. */
static bool is_control(uint32_t code)
{
    return (code < ' ' && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0);
}

void mgk_report_html(FILE *page, const char *text)
{
    while (*text) {
        const uint32_t code = take(&text);
        if (is_markup(code))
            fprintf(page, "&#%u;", (unsigned)code);
        else
            put(page, is_control(code) ? MGK_UTF8_REPLACEMENT : code);
    }
}

void mgk_report_string(FILE *page, const char *text)
{
    mgk_print_string(page, text, "<>&'");
}

void mgk_report_real(FILE *page, double value)
{
    if (isnan(value)) {
        fputs("null", page);
        return;
    }
    fputc('"', page);
    mgk_print_real(page, value);
    fputc('"', page);
}

void mgk_report_integers(FILE *page, const int32_t *values, size_t count)
{
    fputc('[', page);
    for (size_t i = 0; i < count; i++)
        fprintf(page, "%s%ld", i > 0 ? "," : "", (long)values[i]);
    fputc(']', page);
}

void mgk_report_base64(FILE *page, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    fputc('"', page);
    for (size_t i = 0; i < count; i += 3) {
        const size_t left = count - i;
        const uint32_t word = (uint32_t)bytes[i] << 16 |
                              (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? bytes[i + 2] : 0);
        fputc(digits[word >> 18], page);
        fputc(digits[word >> 12 & 63], page);
        fputc(left > 1 ? digits[word >> 6 & 63] : '=', page);
        fputc(left > 2 ? digits[word & 63] : '=', page);
    }
    fputc('"', page);
}
