/* SPDX-License-Identifier: MIT */
#ifndef MGK_RUN_STRIDED_H
#define MGK_RUN_STRIDED_H

#include <stdbool.h>
#include <stddef.h>

/* Copies n floats, if `single`, or doubles, which are `stride` bytes apart and need not be aligned,
 * to out [n]. */
void mgk_copy_strided(const char *from, ptrdiff_t stride, bool single, size_t n, double *out);

#endif
