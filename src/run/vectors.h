/* Queries, keys and values of some heads, taken out of rows of all heads. */
#ifndef MGK_RUN_VECTORS_H
#define MGK_RUN_VECTORS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Rows of a sequence's tokens, as a pass has them (mgk_attention_view in kernels/backend.h), in the
 * host's memory: row t has the M vectors of each of H heads, the r-th of head h at
 * [t, (r H + h) D].
 */
typedef struct mgk_vector_rows {
    const void *values;           /* [length, stride] */
    size_t element;               /* bytes of a number */
    size_t length, stride;        /* tokens; numbers from row to row */
    size_t heads, mixtures, size; /* H, M, D */
} mgk_vector_rows;

/*
 * Puts vectors of the chosen heads [count] into out [count, M, tokens, D], tokens >= length; those
 * from `length` on are 0.
 */
void mgk_vector_rows_take(const mgk_vector_rows *rows, const int32_t *chosen, size_t count,
                          size_t tokens, void *out);

#endif
