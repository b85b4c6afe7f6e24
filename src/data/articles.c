#include "data/articles.h"

#include <string.h>

#include "data/lines.h"

static bool is_blank(mgk_span line)
{
    mgk_span word;
    return !mgk_next_word(&line, &word);
}

static bool is_title(mgk_span line)
{
    /* " = " + a title of at least one byte + " = " */
    if (line.size < 7 || memcmp(line.data, " = ", 3) != 0 ||
        memcmp(line.data + line.size - 3, " = ", 3) != 0)
        return false;
    return line.data[3] != '=' && line.data[line.size - 4] != '=';
}

mgk_status mgk_add_article(mgk_article article, size_t least, mgk_buffer *articles)
{
    if (article.size < least)
        return STATUS_OK;
    return mgk_buffer_append(articles, &article, sizeof(article));
}

mgk_status mgk_split_articles(const mgk_buffer *text, size_t start, size_t least,
                              mgk_buffer *articles)
{
    const char *first = (const char *)text->data;
    mgk_lines lines = {.rest = {first + start, text->size - start}};
    mgk_span line, next;
    mgk_article article = {0};
    bool inside = false, after_blank = true;
    while (mgk_next_line(&lines, &line)) {
        mgk_lines ahead = lines;
        bool before_blank = !mgk_next_line(&ahead, &next) || is_blank(next);
        if (after_blank && before_blank && is_title(line)) {
            size_t title = (size_t)(line.data - first);
            article.size = title - article.start;
            if (inside)
                TRY(mgk_add_article(article, least, articles));
            article.start = title;
            inside = true;
        }
        after_blank = is_blank(line);
    }
    article.size = text->size - article.start;
    return inside ? mgk_add_article(article, least, articles) : STATUS_OK;
}
