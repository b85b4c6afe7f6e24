/* SPDX-License-Identifier: MIT */
/* Extracts queries, keys and values of some heads from rows of all heads. */
#ifndef MGK_RUN_VECTORS_H
#define MGK_RUN_VECTORS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Rows of a sequence's tokens, laid out as in a pass (mgk_attention_view in
 * kernels/attention_operations.h), in host memory: row t contains the M vectors of each of H heads,
 * vector r of head h at [t, (r H + h) D].
 */
typedef struct mgk_vector_rows {
    const void *values;           /* [length, stride] */
    size_t element;               /* bytes of a number */
    size_t length, stride;        /* tokens; distance of rows, in numbers */
    size_t heads, mixtures, size; /* H, M, D */
    size_t most;                  /* vectors of a head in the output, at least M */
} mgk_vector_rows;

/* Copies the vectors of the chosen heads [count] to out [count, most, tokens, D], tokens >= length;
 * rows from `length` on are 0, and so are vectors from M on. */
void mgk_vector_rows_take(const mgk_vector_rows *rows, const int32_t *chosen, size_t count,
                          size_t tokens, void *out);

#endif
