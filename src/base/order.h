/* SPDX-License-Identifier: MIT */
/* Real numbers in order, and quantiles between them. */
#ifndef MGK_BASE_ORDER_H
#define MGK_BASE_ORDER_H

#include <stddef.h>

/* Sorts values [count] in ascending order; they contain no NaN. */
void mgk_sort_reals(double *values, size_t count);

/*
 * The value at a share of 0 to 1 of the values [count], which are ascending: linear interpolation
 * between the two around place share * (count - 1). NaN without values.
 */
double mgk_quantile(const double *sorted, size_t count, double share);

#endif
