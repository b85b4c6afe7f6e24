/* SPDX-License-Identifier: MIT */
#include "data/buffer.h"

#include <string.h>

#include "base/memory.h"

mgk_status mgk_buffer_reserve(mgk_buffer *buffer, size_t count)
{
    if (count <= buffer->capacity - buffer->size)
        return STATUS_OK;
    size_t capacity;
    unsigned char *data;
    /* Doubling keeps the cost of all appends linear. */
    TRY(mgk_multiply(count > buffer->size ? count : buffer->size, 2, &capacity));
    TRY(mgk_alloc(capacity, 1, &data));
    if (buffer->size > 0)
        memcpy(data, buffer->data, buffer->size);
    mgk_free(buffer->data);
    buffer->data = data;
    buffer->capacity = capacity;
    return STATUS_OK;
}

mgk_status mgk_buffer_append(mgk_buffer *buffer, const void *bytes, size_t count)
{
    if (count == 0)
        return STATUS_OK;
    TRY(mgk_buffer_reserve(buffer, count));
    memcpy(buffer->data + buffer->size, bytes, count);
    buffer->size += count;
    return STATUS_OK;
}

void mgk_buffer_free(mgk_buffer *buffer)
{
    mgk_free(buffer->data);
    *buffer = (mgk_buffer){0};
}
