/* SPDX-License-Identifier: MIT */
/* A growing array of bytes, aligned for any element type; a zeroed one is empty. */
#ifndef MGK_DATA_BUFFER_H
#define MGK_DATA_BUFFER_H

#include <stddef.h>

#include "base/status.h"

typedef struct mgk_buffer {
    unsigned char *data; /* [capacity], of which `size` are in use */
    size_t size, capacity;
} mgk_buffer;

/* Makes room for `count` more bytes, so that appending them cannot fail; STATUS_MEMORY as below. */
mgk_status mgk_buffer_reserve(mgk_buffer *buffer, size_t count);

/* Appends `count` bytes; STATUS_MEMORY leaves the buffer as it was. */
mgk_status mgk_buffer_append(mgk_buffer *buffer, const void *bytes, size_t count);

/* Releases the bytes and zeroes the buffer. */
void mgk_buffer_free(mgk_buffer *buffer);

#endif
