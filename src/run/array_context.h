/* SPDX-License-Identifier: MIT */
/* What is known of the samples of an array in memory besides its matrices. */
#ifndef MGK_RUN_ARRAY_CONTEXT_H
#define MGK_RUN_ARRAY_CONTEXT_H

#include "base/status.h"
#include "mgk.h"

#define MGK_ARRAY_DTYPES "f64, f32, f16 or bf16"

/* Its name in messages. */
const char *mgk_array_name(const mgk_array *array);

/* Checks the context of an array whose other fields are right; none is accepted. STATUS_USAGE. */
mgk_status mgk_array_context_check(const mgk_array *array);

/* Copies the vectors of the tokens first … first + n − 1 in a layer, sample and head to out [n,
 * size]. */
void mgk_array_copy_vectors(const mgk_array_vectors *vectors, size_t layer, size_t sample, int head,
                            size_t first, size_t n, double *out);

#endif
