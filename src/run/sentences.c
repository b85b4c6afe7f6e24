/* SPDX-License-Identifier: MIT */
#include "run/sentences.h"

#include <string.h>

enum { LONGEST = 400 }; /* bytes of a sentence */

/* Whether one of the words with blanks between them is at the end of the line. */
static bool ends_in(const char *line, size_t length, const char *words, size_t *word_length)
{
    for (; *words; words += *words == ' ') {
        *word_length = strcspn(words, " ");
        if (length >= *word_length &&
            memcmp(line + length - *word_length, words, *word_length) == 0)
            return true;
        words += *word_length;
    }
    return false;
}

static bool is_sentence(const char *line, size_t length)
{
    size_t word;
    const char first = line[0];
    while (ends_in(line, length, "\" ' ) ] \xe2\x80\x9d \xe2\x80\x99 \xc2\xbb", &word))
        length -= word;
    return !(first >= 'a' && first <= 'z') &&
           ends_in(line, length, ". ! ? \xe2\x80\xa6 \xe3\x80\x82", &word);
}

/* Narrows a line to what is not blank. */
static const char *trim(const char *line, size_t *length)
{
    static const char blanks[] = " \t\r";
    while (*length > 0 && strchr(blanks, line[*length - 1]))
        --*length;
    while (*length > 0 && strchr(blanks, *line)) {
        line++;
        --*length;
    }
    return line;
}

bool mgk_lines_are_sentences(const char *text, size_t size)
{
    size_t lines = 0, sentences = 0, blank = 0, gaps = 0;
    bool any_long = false;
    const bool cut = size >= MGK_SENTENCES_READ;
    const size_t read = cut ? MGK_SENTENCES_READ : size;
    for (size_t at = 0; at < read;) {
        const char *end = memchr(text + at, '\n', read - at);
        if (!end && cut)
            break; /* a part of a line */
        size_t length = end ? (size_t)(end - text) - at : read - at;
        const char *line = text + at;
        at += length + 1;
        line = trim(line, &length);
        const size_t before = blank;
        blank = length == 0 ? blank + 1 : 0;
        if (length == 0)
            continue;
        gaps += before > 0 && lines > 0;
        any_long = any_long || length > LONGEST;
        lines++;
        sentences += is_sentence(line, length);
    }
    return lines >= 2 && 4 * sentences >= 3 * lines && !(any_long && gaps > 0);
}
