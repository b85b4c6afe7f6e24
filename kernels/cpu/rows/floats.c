/* SPDX-License-Identifier: MIT */
/* Rows as floats, in half of the memory. */
#include <stdint.h>

#include "kernels/cpu/rows/row.h"

bool MGK_CPU(row_narrow)(size_t n, const double *x, float *out)
{
    uint64_t changed = 0; /* as wide as an entry */
    for (size_t j = 0; j < n; j++) {
        const float number = (float)x[j];
        out[j] = number;
        changed |= (double)number != x[j];
    }
    return !changed;
}

void MGK_CPU(row_widen)(size_t n, const float *x, double *out)
{
    for (size_t j = 0; j < n; j++)
        out[j] = (double)x[j];
}
