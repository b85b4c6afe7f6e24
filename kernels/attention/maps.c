/* SPDX-License-Identifier: MIT */
/* Square maps of the vectors of all heads. */
#include "kernels/attention/primitives.h"

mgk_status mgk_map_vectors(mgk_device *device, size_t rows, size_t width, const void *weight,
                           const void *x, void *y)
{
    return device->op->multiply(device, false, false, rows, width, width, 1, x, width, weight,
                                width, 0, y, width);
}

mgk_status mgk_map_vectors_backward(mgk_device *device, size_t rows, size_t width,
                                    const void *weight, const void *x, const void *dy, double beta,
                                    void *dx, void *dweight)
{
    TRY(device->op->multiply(device, true, false, width, width, rows, 1, x, width, dy, width, 1,
                             dweight, width));
    return device->op->multiply(device, false, true, rows, width, width, 1, dy, width, weight,
                                width, beta, dx, width);
}
