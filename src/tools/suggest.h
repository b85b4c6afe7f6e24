/* SPDX-License-Identifier: MIT */
/* Which name somebody meant who mistyped it. */
#ifndef MGK_TOOLS_SUGGEST_H
#define MGK_TOOLS_SUGGEST_H

#include <stddef.h>

/* The best of the names that were compared with a word. */
typedef struct mgk_suggestion {
    const char *word; /* [length] */
    size_t length;
    const char *name; /* NULL: none is near */
    size_t distance;  /* of `name`; without one, the least that is too far */
} mgk_suggestion;

/* Begins a search for names that differ from the word in a third of its letters, at most three. */
mgk_suggestion mgk_suggest_for(const char *word, size_t length);

/*
 * Compares one more name. The distance is that of mgk_text_distance. Of equally near names the
 * first stays.
 */
void mgk_suggest(mgk_suggestion *suggestion, const char *name);

#endif
