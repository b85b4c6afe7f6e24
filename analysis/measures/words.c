/* SPDX-License-Identifier: MIT */
#include "analysis/measures/words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { MOST_TEXT = 1024 /* bytes of a word's text, at most */ };

/*
 * The length of a byte token at the start of the text, "<0xC3>", and its value in *byte; 0 if there
 * is none.
 */
static size_t byte_name(const char *text, unsigned char *byte)
{
    static const char digits[] = "0123456789ABCDEF";
    if (strncmp(text, "<0x", 3) != 0 || !text[3] || !text[4] || text[5] != '>')
        return 0;
    const char *high = strchr(digits, text[3]), *low = strchr(digits, text[4]);
    if (!high || !low)
        return 0;
    *byte = (unsigned char)((high - digits) << 4 | (low - digits));
    return 6;
}

static bool is_special(const char *token)
{
    size_t length = strlen(token);
    unsigned char byte;
    return length > 2 &&
           ((token[0] == '[' && token[length - 1] == ']') ||
            (token[0] == '<' && token[length - 1] == '>' && byte_name(token, &byte) == 0));
}

/* The length of the white space at the start of a text, literal or written as "\n". */
static size_t blank(const char *text)
{
    size_t length = 0;
    for (;;) {
        const char *next = text + length;
        if (isspace((unsigned char)*next))
            length++;
        else if (*next == '\\' && next[1] && strchr("ntr", next[1]))
            length += 2;
        else
            return length;
    }
}

static bool is_blank(const char *token)
{
    return token[0] && !token[blank(token)];
}

/* Whether the token continues the word of the previous token. */
static bool continues(const char *before, const char *token, const char *subword)
{
    if (is_special(token) || is_special(before))
        return false;
    if (strcmp(subword, "##") == 0)
        return strncmp(token, "##", 2) == 0;
    if (strcmp(subword, " ") != 0)
        return false;
    /* "\text" is a word, not a tab: escapes count only in tokens of white space alone. */
    return is_blank(before) || (!isspace((unsigned char)token[0]) && !is_blank(token));
}

size_t mgk_words_of(const char *const *tokens, size_t count, const char *subword, size_t *words)
{
    size_t word = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && !continues(tokens[i - 1], tokens[i], subword))
            word++;
        words[i] = word;
    }
    return count > 0 ? word + 1 : 0;
}

/* A text of limited size: what exceeds it is dropped. */
typedef struct bounded {
    char *text;
    size_t used, size;
} bounded;

static void append(bounded *out, const char *bytes, size_t count)
{
    size_t room = out->size - out->used, taken = count < room ? count : room;
    memcpy(out->text + out->used, bytes, taken);
    out->used += taken;
}

/* Replaces byte tokens by their bytes. */
static void append_bytes(bounded *out, const char *token)
{
    while (*token) {
        unsigned char byte = (unsigned char)*token;
        size_t length = byte_name(token, &byte);
        if (byte < 0x80) /* an ASCII byte stays as text */
            length = 0, byte = (unsigned char)*token;
        append(out, (const char *)&byte, 1);
        token += length ? length : 1;
    }
}

/* Appends characters; invalid bytes become byte tokens again. */
static void append_characters(bounded *out, const char *text, size_t size)
{
    for (size_t at = 0, length; at < size; at += length) {
        uint32_t code;
        length = mgk_utf8_read(text + at, size - at, &code);
        if (code != MGK_UTF8_INVALID) {
            append(out, text + at, length);
            continue;
        }
        for (size_t i = 0; i < length; i++) {
            char name[8];
            int written = snprintf(name, sizeof(name), "<0x%02X>", (unsigned char)text[at + i]);
            append(out, name, (size_t)written);
        }
    }
}

void mgk_words_join(const char *const *tokens, size_t count, const char *subword, char *out,
                    size_t size)
{
    char text[MOST_TEXT], shown[MOST_TEXT];
    bounded bytes = {text, 0, sizeof(text)}, characters = {shown, 0, sizeof(shown)};
    bool spaced = strcmp(subword, " ") == 0;
    size_t first = 0;
    while (spaced && first + 1 < count && is_blank(tokens[first]))
        first++;
    for (size_t i = first; i < count; i++) {
        const char *token = tokens[i];
        while (i == first && isspace((unsigned char)*token) && token[1])
            token++;
        if (i > first && *subword == '#')
            token += 2;
        if (spaced)
            append_bytes(&bytes, token);
        else
            append(&bytes, token, strlen(token));
    }
    if (spaced)
        append_characters(&characters, text, bytes.used);
    else
        append(&characters, text, bytes.used);
    mgk_utf8_copy(shown, characters.used, out, size);
}

/* One word's row: the mean of its tokens' rows, summed over the tokens of each word. */
static double entry(const float *rows, size_t stride, size_t row_count, size_t first, size_t end)
{
    double sum = 0;
    for (size_t i = 0; i < row_count; i++)
        for (size_t j = first; j < end; j++)
            sum += (double)rows[i * stride + j];
    return sum / (double)row_count;
}

/* The index after the last token of the word that begins at `first`. */
static size_t end_of(const size_t *words, size_t count, size_t first)
{
    size_t end = first + 1;
    while (end < count && words[end] == words[first])
        end++;
    return end;
}

void mgk_words_merge(const float *matrix, size_t stride, size_t count, const size_t *words,
                     size_t word_count, float *out)
{
    for (size_t row = 0; row < count;) {
        size_t row_end = end_of(words, count, row);
        for (size_t column = 0; column < count;) {
            size_t column_end = end_of(words, count, column);
            double value = entry(matrix + row * stride, stride, row_end - row, column, column_end);
            out[words[row] * word_count + words[column]] = (float)value;
            column = column_end;
        }
        row = row_end;
    }
}
