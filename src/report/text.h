/* SPDX-License-Identifier: MIT */
/* Writes texts and numbers into a page, so that no text of a file can become markup or code. */
#ifndef MGK_REPORT_TEXT_H
#define MGK_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Text between tags or in a quoted attribute: `<`, `>`, `&` and quotes are escaped. Bytes that are
 * not UTF-8, and control characters, become U+FFFD. */
void mgk_report_html(FILE *page, const char *text);

/* A JSON string in quotes. `<`, `>` and `&` are escaped, so that a text cannot end the script
 * element that holds it. Bytes that are not UTF-8 become U+FFFD. */
void mgk_report_string(FILE *page, const char *text);

/* A JSON string of the number's digits as in CSV, which keeps them all; null for NaN. */
void mgk_report_real(FILE *page, double value);

/* A JSON array of whole numbers [count]. */
void mgk_report_integers(FILE *page, const int32_t *values, size_t count);

/* A JSON string of bytes [count] in base64 (RFC 4648). */
void mgk_report_base64(FILE *page, const unsigned char *bytes, size_t count);

#endif
