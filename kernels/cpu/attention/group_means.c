/* SPDX-License-Identifier: MIT */
/* Means of the tokens of given groups. */
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/*
 * For every valid token with a group: sum of the group += token / size, or, `backward`, token +=
 * sum of the group / size.
 */
static void visit(const mgk_head_tokens *shape, size_t groups, const int32_t *group,
                  const int32_t *sizes, size_t b, size_t h, const real *from, bool backward,
                  real *to)
{
    const size_t n = mgk_cpu_length(shape->lengths, b, shape->tokens), heads = shape->heads;
    for (size_t t = 0; t < n; t++) {
        const int32_t own = group[(b * heads + h) * shape->tokens + t];
        if (own < 0 || (size_t)own >= groups)
            continue;
        const real scale = 1 / (real)sizes[(b * heads + h) * groups + (size_t)own];
        const size_t token = mgk_cpu_token_at(shape, shape->stride, b, t, h);
        const size_t mean = ((b * groups + (size_t)own) * heads + h) * shape->dim;
        mgk_cpu_add_row(shape->dim, scale, from + (backward ? mean : token),
                        to + (backward ? token : mean));
    }
}

static void visit_all(mgk_device *device, const mgk_head_tokens *shape, size_t groups,
                      const int32_t *group, const int32_t *sizes, const real *from, bool backward,
                      real *to)
{
    const size_t total = shape->samples * shape->tokens * shape->heads * shape->dim;
#pragma omp parallel for collapse(2) schedule(static) \
    num_threads(device->threads) if (total >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t b = 0; b < shape->samples; b++)
        for (size_t h = 0; h < shape->heads; h++)
            visit(shape, groups, group, sizes, b, h, from, backward, to);
}

mgk_status MGK_CPU(group_means)(mgk_device *device, const mgk_head_tokens *shape, size_t groups,
                                const int32_t *group, const int32_t *sizes, const void *x, void *y)
{
    memset(y, 0, shape->samples * groups * shape->heads * shape->dim * sizeof(real));
    visit_all(device, shape, groups, group, sizes, x, false, y);
    return STATUS_OK;
}

mgk_status MGK_CPU(group_means_backward)(mgk_device *device, const mgk_head_tokens *shape,
                                         size_t groups, const int32_t *group, const int32_t *sizes,
                                         const void *dy, void *dx)
{
    visit_all(device, shape, groups, group, sizes, dy, true, dx);
    return STATUS_OK;
}
