/* UTF-8 text that is cut or comes from where anything may stand, such as names of files. */
#ifndef MGK_BASE_UTF8_H
#define MGK_BASE_UTF8_H

#include <stddef.h>

/*
 * Copies the beginning of `text`, at most `length` bytes of it, into out [size] as a string of
 * valid UTF-8: what does not fit is left out by whole characters, and a byte that belongs to no
 * character becomes '?'. size is at least 1.
 */
void mgk_utf8_copy(const char *text, size_t length, char *out, size_t size);

#endif
