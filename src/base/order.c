/* SPDX-License-Identifier: MIT */
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void mgk_sort_reals(double *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof(*values), ascending);
}

double mgk_quantile(const double *sorted, size_t count, double share)
{
    if (count == 0)
        return NAN;
    const double place = share * (double)(count - 1);
    const size_t below = (size_t)place;
    const double step = place - (double)below;
    /* The difference of two values may exceed DBL_MAX. */
    return step > 0 ? (1 - step) * sorted[below] + step * sorted[below + 1] : sorted[below];
}
