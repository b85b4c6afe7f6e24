/* SPDX-License-Identifier: MIT */
/* Splits texts into articles. */
#ifndef MGK_DATA_ARTICLES_H
#define MGK_DATA_ARTICLES_H

#include "data/datasets/texts.h"

typedef struct mgk_article {
    size_t start, size; /* bytes of the text, or tokens */
} mgk_article;

/*
 * Appends the articles of the text from byte `start` on that have at least `least` bytes. An
 * article begins with a WikiText title, a line " = Title = " between blank lines (" = = Section = =
 * " is not a title, nor is a formula within a paragraph), and ends before the next title; bytes
 * before the first title belong to no article. Errors: STATUS_MEMORY, and as mgk_texts_read.
 */
mgk_status mgk_split_articles(const mgk_texts *texts, size_t start, size_t least,
                              mgk_buffer *articles);

/* Appends one article, if it has at least `least` bytes. */
mgk_status mgk_add_article(mgk_article article, size_t least, mgk_buffer *articles);

#endif
