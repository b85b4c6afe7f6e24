/* SPDX-License-Identifier: MIT */
/* Numbers of any format at any distance in memory. */
#ifndef MGK_RUN_STRIDED_H
#define MGK_RUN_STRIDED_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/counting/float_format.h"

/* The format that a `dtype` names, "f64", "f32", "f16" or "bf16"; false: another word, or NULL. */
bool mgk_strided_format(const char *dtype, mgk_float_format *format);

/* Copies n numbers, which are `stride` bytes apart and need not be aligned, to out [n]. */
void mgk_copy_strided(const char *from, ptrdiff_t stride, mgk_float_format format, size_t n,
                      double *out);

#endif
