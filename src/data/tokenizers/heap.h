/* SPDX-License-Identifier: MIT */
/*
 * A binary heap of elements of one size in a buffer: the first comes before all others. Inlined, so
 * that size and order are known where it is used.
 */
#ifndef MGK_DATA_HEAP_H
#define MGK_DATA_HEAP_H

#include <stdbool.h>
#include <string.h>

#include "data/buffer.h"

/* Whether element a comes before b. */
typedef bool mgk_heap_order(const void *a, const void *b);

/* Adds an element. STATUS_MEMORY. */
static inline mgk_status mgk_heap_push(mgk_buffer *heap, const void *added, size_t size,
                                       mgk_heap_order *before)
{
    TRY(mgk_buffer_append(heap, added, size));
    size_t i = heap->size / size - 1;
    for (size_t parent; i > 0; i = parent) {
        parent = (i - 1) / 2;
        if (!before(added, heap->data + parent * size))
            break;
        memcpy(heap->data + i * size, heap->data + parent * size, size);
    }
    memcpy(heap->data + i * size, added, size);
    return STATUS_OK;
}

/* Puts an element, which is not in the heap, in place of the first. */
static inline void mgk_heap_replace_first(const mgk_buffer *heap, const void *moved, size_t size,
                                          mgk_heap_order *before)
{
    const size_t count = heap->size / size;
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        const unsigned char *row = heap->data + child * size;
        if (child + 1 < count && before(row + size, row)) {
            child++;
            row += size;
        }
        if (!before(row, moved))
            break;
        memcpy(heap->data + i * size, row, size);
    }
    memcpy(heap->data + i * size, moved, size);
}

/* Removes the first element. */
static inline void mgk_heap_pop(mgk_buffer *heap, size_t size, mgk_heap_order *before)
{
    heap->size -= size;
    if (heap->size > 0)
        mgk_heap_replace_first(heap, heap->data + heap->size, size, before);
}

#endif
