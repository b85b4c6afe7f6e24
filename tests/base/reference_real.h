/* SPDX-License-Identifier: MIT */
/* The C library's text of a double, to compare with. */
#ifndef MGK_TESTS_REFERENCE_REAL_H
#define MGK_TESTS_REFERENCE_REAL_H

enum { REFERENCE_REAL = 32 };

/* Prints with 15, 16 or 17 digits, the first that read back as the same number, in the program's
 * locale. */
void reference_real(double value, char text[REFERENCE_REAL]);

#endif
