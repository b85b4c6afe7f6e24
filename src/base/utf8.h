/* UTF-8 text that is cut or comes from where anything may stand, such as names of files. */
#ifndef MGK_BASE_UTF8_H
#define MGK_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Copies the beginning of `text`, at most `length` bytes of it, into out [size] as a string of
 * valid UTF-8: what does not fit is left out by whole characters, and a byte that belongs to no
 * character becomes '?'. size is at least 1.
 */
void mgk_utf8_copy(const char *text, size_t length, char *out, size_t size);

/* What mgk_utf8_read says of bytes that are no character. */
#define MGK_UTF8_INVALID UINT32_MAX

/* What stands in their place: "replacement character". */
#define MGK_UTF8_REPLACEMENT ((uint32_t)0xFFFD)

/*
 * Reads the character that text [length], at least 1, begins with, and returns its bytes, 1 to 4.
 * Where there is none, *code is MGK_UTF8_INVALID and the bytes are those that one replacement
 * stands for: the longest beginning of a character that is there, or one byte (Unicode 15, section
 * 3.9, as Python's errors="replace" does).
 */
size_t mgk_utf8_read(const char *text, size_t length, uint32_t *code);

/* Writes a character, below 0x110000 and no surrogate; returns its bytes. */
size_t mgk_utf8_write(uint32_t code, char out[4]);

/* How many bytes at the beginning of text [length] are valid UTF-8. */
size_t mgk_utf8_valid(const char *text, size_t length);

/*
 * Whether text [length], which is at byte `offset` of a file, is valid UTF-8. STATUS_FORMAT says at
 * which byte of the file, from 0, it is not.
 */
mgk_status mgk_utf8_check(const char *text, size_t length, size_t offset);

#endif
