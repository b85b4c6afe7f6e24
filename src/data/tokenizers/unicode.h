/* SPDX-License-Identifier: MIT */
/* Character classes that tokenizers use, of Unicode 15. */
#ifndef MGK_DATA_UNICODE_H
#define MGK_DATA_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

/* White_Space. */
bool mgk_is_space(uint32_t code);

/* Control and format characters, private use; not tab, line feed and carriage return. */
bool mgk_is_control(uint32_t code);

/* Punctuation, and every ASCII character that is neither letter, digit, space nor control. */
bool mgk_is_punctuation(uint32_t code);

/* Nonspacing marks (Mn), and all combining marks (Mn, Mc, Me). */
bool mgk_is_nonspacing(uint32_t code);
bool mgk_is_mark(uint32_t code);

/* The blocks of ideographs around which BERT puts spaces. */
bool mgk_is_ideograph(uint32_t code);

/* The characters of \w in regular expressions: letters, marks, digits, connectors, joiners. */
bool mgk_is_word(uint32_t code);

/* Writes the lower case into `out`; returns its number of characters, 1 or 2. */
int mgk_lower(uint32_t code, uint32_t out[2]);

#endif
