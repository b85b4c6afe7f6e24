/* SPDX-License-Identifier: MIT */
#include "run/vectors.h"

#include <string.h>

/* Copies vector r of each token of a head to out [tokens, D]. */
static void take_head(const mgk_vector_rows *rows, size_t head, size_t r, size_t tokens, char *out)
{
    const size_t bytes = rows->size * rows->element;
    const char *from = (const char *)rows->values + (r * rows->heads + head) * bytes;
    for (size_t t = 0; t < rows->length; t++)
        memcpy(out + t * bytes, from + t * rows->stride * rows->element, bytes);
    memset(out + rows->length * bytes, 0, (tokens - rows->length) * bytes);
}

void mgk_vector_rows_take(const mgk_vector_rows *rows, const int32_t *chosen, size_t count,
                          size_t tokens, void *out)
{
    const size_t bytes = tokens * rows->size * rows->element;
    for (size_t h = 0; h < count; h++) {
        char *own = (char *)out + h * rows->most * bytes;
        for (size_t r = 0; r < rows->mixtures; r++)
            take_head(rows, (size_t)chosen[h], r, tokens, own + r * bytes);
        memset(own + rows->mixtures * bytes, 0, (rows->most - rows->mixtures) * bytes);
    }
}
