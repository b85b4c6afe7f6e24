/* SPDX-License-Identifier: MIT */
#include "data/datasets/articles.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

enum {
    PIECE = 1 << 16, /* bytes read at a time */
    EDGE = 4,        /* bytes at a line's beginning and end that identify a title */
};

/* The part of a line that the search keeps: its start, its first bytes and its last bytes,
 * including a CR. */
typedef struct line {
    size_t start, size, dark; /* bytes; `dark` counts bytes other than space and tab */
    char first[EDGE], last[EDGE + 1];
} line;

/* State of a search for titles. */
typedef struct splitter {
    size_t least, at; /* least bytes of an article; position of the search */
    mgk_buffer *articles;
    line line; /* the line being read */
    mgk_article article;
    size_t title; /* start of a line that is a title if the next line is blank */
    bool inside, after_blank, maybe;
} splitter;

static void add_byte(line *l, char byte)
{
    if (l->size < EDGE)
        l->first[l->size] = byte;
    memmove(l->last, l->last + 1, EDGE);
    l->last[EDGE] = byte;
    l->size++;
    l->dark += byte != ' ' && byte != '\t';
}

/* A title is " = ", at least one byte, and " = "; `last` holds the last four bytes of the line. */
static bool is_title(const line *l, const char *last)
{
    return l->size >= 7 && memcmp(l->first, " = ", 3) == 0 && memcmp(last + 1, " = ", 3) == 0 &&
           l->first[3] != '=' && last[0] != '=';
}

mgk_status mgk_add_article(mgk_article article, size_t least, mgk_buffer *articles)
{
    if (article.size < least)
        return STATUS_OK;
    return mgk_buffer_append(articles, &article, sizeof(article));
}

static mgk_status end_article(splitter *s, size_t end)
{
    s->article.size = end - s->article.start;
    return s->inside ? mgk_add_article(s->article, s->least, s->articles) : STATUS_OK;
}

static mgk_status begin_article(splitter *s)
{
    TRY(end_article(s, s->title));
    s->article.start = s->title;
    s->inside = true;
    return STATUS_OK;
}

static mgk_status end_line(splitter *s)
{
    line *l = &s->line;
    bool cr = l->size > 0 && l->last[EDGE] == '\r';
    l->size -= cr;
    l->dark -= cr;
    bool blank = l->dark == 0;
    if (s->maybe && blank)
        TRY(begin_article(s));
    s->maybe = s->after_blank && is_title(l, l->last + !cr);
    s->title = l->start;
    s->after_blank = blank;
    *l = (line){.start = s->at};
    return STATUS_OK;
}

static mgk_status add_bytes(splitter *s, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        s->at++;
        if (bytes[i] == '\n')
            TRY(end_line(s));
        else
            add_byte(&s->line, bytes[i]);
    }
    return STATUS_OK;
}

/* Bytes of the byte order mark of UTF-8 at a place of the texts. */
static mgk_status find_mark(const mgk_texts *texts, size_t start, size_t *size)
{
    char bytes[3];
    const size_t left = texts->size - start, count = left < sizeof(bytes) ? left : sizeof(bytes);
    TRY(mgk_texts_read(texts, start, count, bytes));
    *size = mgk_utf8_mark(bytes, count);
    return STATUS_OK;
}

mgk_status mgk_split_articles(const mgk_texts *texts, size_t start, size_t least,
                              mgk_buffer *articles)
{
    char bytes[PIECE];
    size_t mark;
    TRY(find_mark(texts, start, &mark));
    start += mark;
    splitter s = {.least = least,
                  .at = start,
                  .articles = articles,
                  .line = {.start = start},
                  .after_blank = true};
    while (s.at < texts->size) {
        size_t left = texts->size - s.at, size = left < PIECE ? left : PIECE;
        TRY(mgk_texts_read(texts, s.at, size, bytes));
        TRY(add_bytes(&s, bytes, size));
    }
    if (s.line.size > 0)
        TRY(end_line(&s));
    if (s.maybe) /* the text ends here, which counts as a blank line */
        TRY(begin_article(&s));
    return end_article(&s, texts->size);
}
