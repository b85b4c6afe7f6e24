/* SPDX-License-Identifier: MIT */
#include "base/append.h"

#include <stdio.h>
#include <string.h>

bool mgk_append_values(char *text, size_t size, const char *format, va_list values)
{
    const size_t used = strlen(text);
    const int added = vsnprintf(text + used, size - used, format, values);
    return added >= 0 && (size_t)added < size - used;
}

bool mgk_append(char *text, size_t size, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const bool whole = mgk_append_values(text, size, format, values);
    va_end(values);
    return whole;
}
