/* SPDX-License-Identifier: MIT */
/*
 * Reads and prints decimal numbers. Reading is strict: no leading blanks, no "inf", no silent
 * overflow. Chooses the noun of a count and the unit of a size; writes shapes.
 */
#ifndef MGK_BASE_NUMBER_H
#define MGK_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Each reads the number at the start of `text` and sets *end after it; if the number is the whole
 * text, **end is '\0'. False without a number, or if it does not fit; then *out is unchanged.
 */
bool mgk_read_int64(const char *text, const char **end, int64_t *out);
bool mgk_read_uint64(const char *text, const char **end, uint64_t *out);

/* The same for a finite real number, with a decimal point in every locale. */
bool mgk_read_real(const char *text, const char **end, double *out);

/*
 * Prints a finite number like "%.15g", or with 16 or 17 digits where only these read back as the
 * same number: 0.1, 1e-06. It has a decimal point in every locale.
 */
void mgk_print_real(FILE *file, double value);

enum { MGK_SIZE_TEXT = 32 };

/* Writes a number of bytes with three digits, in units of powers of 1000: "24.6 GB", "512 bytes".
 */
void mgk_size_text(double bytes, char text[MGK_SIZE_TEXT]);

/* Writes the lengths of axes, "[2,3,4]", to text [size], truncated to fit. */
void mgk_shape_text(int rank, const size_t *shape, char *text, size_t size);

/* The noun of a count of any integer type: MGK_NOUN(n, "matrix", "matrices"). */
#define MGK_NOUN(count, one, more) ((count) == 1 ? (one) : (more))

#endif
