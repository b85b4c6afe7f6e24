/* SPDX-License-Identifier: MIT */
/* Texts that grow in a buffer of fixed size. */
#ifndef MGK_BASE_APPEND_H
#define MGK_BASE_APPEND_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Appends what printf would print to a text in a buffer of `size` bytes, and cuts it where the
 * buffer ends. Returns whether nothing is cut. */
bool mgk_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool mgk_append_values(char *text, size_t size, const char *format, va_list values)
    __attribute__((format(printf, 3, 0)));

#endif
