/* SPDX-License-Identifier: MIT */
/* Compares texts: their ends, and how far they are apart. Prints them as strings of JSON. */
#ifndef MGK_BASE_TEXT_H
#define MGK_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Whether a text ends with `end`, or is it. */
bool mgk_ends_with(const char *text, const char *end);

/*
 * The number of letters to insert, to leave out, to replace or to swap with the next one that makes
 * b [b_length] of a [a_length] (optimal string alignment), whatever the case of letters of ASCII.
 * SIZE_MAX: one of them has more than 63 bytes.
 */
size_t mgk_text_distance(const char *a, size_t a_length, const char *b, size_t b_length);

/*
 * Prints a string of JSON in quotes. Bytes that are not UTF-8 become U+FFFD. Of ASCII, control
 * characters and those of `escaped` are written as \u001f.
 */
void mgk_print_string(FILE *file, const char *text, const char *escaped);

#endif
