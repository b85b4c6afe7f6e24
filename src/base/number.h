/* Numbers in decimal text. They are read strictly: no leading blanks, no "inf", no silent
 * wrap-around. And the nouns of counts. */
#ifndef MGK_BASE_NUMBER_H
#define MGK_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Each reads the number at the beginning of `text` and sets *end behind it; a whole word is one
 * with **end == '\0'. False when there is no number or it does not fit; *out is then unchanged.
 */
bool mgk_read_int64(const char *text, const char **end, int64_t *out);
bool mgk_read_uint64(const char *text, const char **end, uint64_t *out);

/* The same for a finite real number, with a decimal point whatever the locale says. */
bool mgk_read_real(const char *text, const char **end, double *out);

/*
 * Prints a finite number in as few digits as read back as the same, at most 17: 1e-06. The locale
 * is the caller's concern (base/locale.h).
 */
void mgk_print_real(FILE *file, double value);

/* The noun of a count of any integer type: MGK_NOUN(n, "matrix", "matrices"). */
#define MGK_NOUN(count, one, more) ((count) == 1 ? (one) : (more))

#endif
