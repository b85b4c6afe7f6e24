/* SPDX-License-Identifier: MIT */
/* Rows as floats, in half of the memory. */
#include "kernels/cpu/rows/row.h"

void MGK_CPU(row_narrow)(size_t n, const double *x, float *out)
{
    for (size_t j = 0; j < n; j++)
        out[j] = (float)x[j];
}

void MGK_CPU(row_widen)(size_t n, const float *x, double *out)
{
    for (size_t j = 0; j < n; j++)
        out[j] = (double)x[j];
}
