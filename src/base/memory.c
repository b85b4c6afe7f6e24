/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* Page-aligned large arrays can be written without the kernel's page cache. */
enum { ALIGNMENT = 64, PAGE = 4096, LARGE = 1 << 18 };

static _Thread_local size_t allocated;

mgk_status mgk_multiply(size_t a, size_t b, size_t *out)
{
    if (__builtin_mul_overflow(a, b, out))
        return mgk_fail(STATUS_MEMORY, "size %zu x %zu is too large", a, b);
    return STATUS_OK;
}

static mgk_status fail_memory(size_t bytes)
{
    char size[MGK_SIZE_TEXT];
    mgk_size_text((double)bytes, size);
    return mgk_fail(STATUS_MEMORY, "no memory for %s", size);
}

mgk_status mgk_alloc(size_t count, size_t size, void *out)
{
    void *array = NULL;
    size_t bytes;
    memcpy(out, &array, sizeof(array));
    TRY(mgk_multiply(count, size, &bytes));
    if (bytes == 0)
        return STATUS_OK;
    if (bytes > SIZE_MAX / 2)
        return fail_memory(bytes);
    size_t alignment = bytes < LARGE ? ALIGNMENT : PAGE;
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    array = aligned_alloc(alignment, rounded);
    if (!array)
        return fail_memory(bytes);
    memset(array, 0, rounded);
    allocated += rounded;
    memcpy(out, &array, sizeof(array));
    return STATUS_OK;
}

size_t mgk_allocated(void)
{
    return allocated;
}

mgk_status mgk_grow(size_t count, size_t size, size_t *room, void *array)
{
    enum { FIRST = 16 };
    void *before, *larger;
    size_t wanted;
    if (count < *room)
        return STATUS_OK;
    memcpy(&before, array, sizeof(before));
    TRY(mgk_multiply(*room > FIRST / 2 ? *room : FIRST / 2, 2, &wanted));
    TRY(mgk_alloc(wanted, size, &larger));
    if (count > 0)
        memcpy(larger, before, count * size);
    mgk_free(before);
    memcpy(array, &larger, sizeof(larger));
    *room = wanted;
    return STATUS_OK;
}

void mgk_free(void *array)
{
    free(array);
}

mgk_status mgk_copy_string(const char *text, char **out)
{
    size_t length = strlen(text) + 1;
    TRY(mgk_alloc(length, 1, out));
    memcpy(*out, text, length);
    return STATUS_OK;
}
