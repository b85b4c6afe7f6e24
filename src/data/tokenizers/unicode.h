/* Classes of characters, as tokenizers know them. Below U+0080 tables of bytes would do; above it
 * they are those of Unicode 15. */
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

/* Marks that take no room (Mn), and all combining marks (Mn, Mc, Me). */
bool mgk_is_nonspacing(uint32_t code);
bool mgk_is_mark(uint32_t code);

/* The blocks of ideographs that BERT writes apart. */
bool mgk_is_ideograph(uint32_t code);

/* What \w stands for in regular expressions: letters, marks, digits, connectors, joiners. */
bool mgk_is_word(uint32_t code);

/* The lower case in `out`; returns how many characters it has, 1 or 2. */
int mgk_lower(uint32_t code, uint32_t out[2]);

#endif
