/* SPDX-License-Identifier: MIT */
/* Whether the lines of a text are samples of their own. */
#ifndef MGK_RUN_SENTENCES_H
#define MGK_RUN_SENTENCES_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a text that are looked at: if there are more, its last line is not judged. */
enum { MGK_SENTENCES_READ = 1 << 16 };

/*
 * Whether the lines of a text, of which these are the first `size` bytes, look like sentences or
 * passages: at least two lines that are not blank, of which three in four end as a sentence does
 * (. ! ? …, perhaps with a quote or a bracket behind) and begin with no small letter. Lines of
 * prose that are broken to fit a page do not, nor do paragraphs of more than 400 bytes with blank
 * lines between, which are one text.
 */
bool mgk_lines_are_sentences(const char *text, size_t size);

#endif
