/* Singular values on the CPU, the same for every variant; see kernels/backend.h. */
#ifndef MGK_KERNELS_CPU_SINGULAR_VALUES_H
#define MGK_KERNELS_CPU_SINGULAR_VALUES_H

#include "kernels/backend.h"

mgk_status mgk_cpu_singular_values(mgk_device *, size_t count, size_t n, const size_t *orders,
                                   double *matrices, double *sigma);

#endif
