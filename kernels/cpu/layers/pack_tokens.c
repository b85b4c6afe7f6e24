/* SPDX-License-Identifier: MIT */
/* The valid tokens of samples without the padding between them, and back. */
#include <string.h>

#include "kernels/cpu/operations.h"

/* Columns begin … begin + width − 1 of rows that are `cols` apart. */
typedef struct columns {
    real *first;
    size_t cols, width;
} columns;

static void move_row(columns x, size_t from, size_t to)
{
    if (from != to)
        memcpy(x.first + to * x.cols, x.first + from * x.cols, x.width * sizeof(real));
}

static void pack(columns x, size_t samples, size_t tokens, const int32_t *lengths)
{
    size_t packed = 0;
    for (size_t b = 0; b < samples; b++)
        for (size_t t = 0; t < (size_t)lengths[b]; t++)
            move_row(x, b * tokens + t, packed++);
}

/* From the last row to the first: a row moves away from those before it. */
static void unpack(columns x, size_t samples, size_t tokens, const int32_t *lengths)
{
    size_t packed = 0;
    for (size_t b = 0; b < samples; b++)
        packed += (size_t)lengths[b];
    for (size_t b = samples; b-- > 0;) {
        for (size_t t = tokens; t-- > (size_t)lengths[b];)
            memset(x.first + (b * tokens + t) * x.cols, 0, x.width * sizeof(real));
        for (size_t t = (size_t)lengths[b]; t-- > 0;)
            move_row(x, --packed, b * tokens + t);
    }
}

/* Threads divide the columns: rows move over each other. */
static void for_columns(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                        const int32_t *lengths, void *x,
                        void move(columns, size_t, size_t, const int32_t *))
{
    const size_t threads = (size_t)device->threads;
    const size_t width = mgk_cpu_padded((cols + threads - 1) / threads);
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (samples * tokens * cols >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t begin = 0; begin < cols; begin += width)
        move((columns){(real *)x + begin, cols, cols - begin < width ? cols - begin : width},
             samples, tokens, lengths);
}

mgk_status MGK_CPU(pack_tokens)(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                                const int32_t *lengths, void *x)
{
    for_columns(device, samples, tokens, cols, lengths, x, pack);
    return STATUS_OK;
}

mgk_status MGK_CPU(unpack_tokens)(mgk_device *device, size_t samples, size_t tokens, size_t cols,
                                  const int32_t *lengths, void *x)
{
    for_columns(device, samples, tokens, cols, lengths, x, unpack);
    return STATUS_OK;
}
