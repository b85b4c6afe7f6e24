/* SPDX-License-Identifier: MIT */
/* UTF-8 text that may be truncated or invalid, such as file names. */
#ifndef MGK_BASE_UTF8_H
#define MGK_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Copies at most `length` bytes of `text` to out [size], size >= 1, as a string of valid UTF-8:
 * truncates at whole characters, and replaces each invalid byte by '?'.
 */
void mgk_utf8_copy(const char *text, size_t length, char *out, size_t size);

/* Copies all of `text` in the same way; release *out with mgk_free. */
mgk_status mgk_utf8_duplicate(const char *text, char **out);

/* The size of the byte order mark at the beginning of text [length]; 0: it has none. */
size_t mgk_utf8_mark(const char *text, size_t length);

/* The code that mgk_utf8_read gives for invalid bytes. */
#define MGK_UTF8_INVALID UINT32_MAX

/* The "replacement character", to write for invalid bytes. */
#define MGK_UTF8_REPLACEMENT ((uint32_t)0xFFFD)

/*
 * Reads the first character of text [length], length >= 1, and returns its bytes, 1 to 4. For
 * invalid text *code is MGK_UTF8_INVALID, and the bytes are those that one replacement character
 * replaces: the longest valid beginning of a character, or one byte (Unicode 15, section 3.9, as
 * Python's errors="replace").
 */
size_t mgk_utf8_read(const char *text, size_t length, uint32_t *code);

/* Writes a character, below 0x110000 and not a surrogate; returns its bytes. */
size_t mgk_utf8_write(uint32_t code, char out[4]);

/* The number of bytes at the start of text [length] that are valid UTF-8. */
size_t mgk_utf8_valid(const char *text, size_t length);

/*
 * Whether text [length], which is at byte `offset` of a file, is valid UTF-8. STATUS_FORMAT says at
 * which byte of the file, from 0, it is not.
 */
mgk_status mgk_utf8_check(const char *text, size_t length, size_t offset);

#endif
