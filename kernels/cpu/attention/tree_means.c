/* SPDX-License-Identifier: MIT */
/* Means of the spans of a binary tree over the tokens. */
#include <string.h>

#include "kernels/cpu/attention/dense.h"

/* For every token of every span: mean += token / size, or, `backward`, token += mean / size. */
static void visit(const mgk_head_tokens *shape, size_t b, size_t h, const real *from, bool backward,
                  real *to)
{
    const size_t n = mgk_cpu_length(shape->lengths, b, shape->tokens);
    const int levels = mgk_tree_levels(shape->tokens);
    const size_t spans = mgk_tree_place(levels, shape->tokens);
    for (int l = 0; l < levels; l++)
        for (size_t first = 0, length = (size_t)1 << l; first < n; first += length) {
            const size_t size = n - first < length ? n - first : length;
            const size_t span = b * spans + mgk_tree_place(levels, first) + (size_t)l;
            const size_t mean = (span * shape->heads + h) * shape->dim;
            for (size_t t = first; t < first + size; t++) {
                const size_t token = mgk_cpu_token_at(shape, shape->stride, b, t, h);
                mgk_cpu_add_row(shape->dim, 1 / (real)size, from + (backward ? mean : token),
                                to + (backward ? token : mean));
            }
        }
}

static void visit_all(mgk_device *device, const mgk_head_tokens *shape, const real *from,
                      bool backward, real *to)
{
    const size_t total = shape->samples * shape->tokens * shape->heads * shape->dim;
#pragma omp parallel for collapse(2) schedule(static) \
    num_threads(device->threads) if (total >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t b = 0; b < shape->samples; b++)
        for (size_t h = 0; h < shape->heads; h++)
            visit(shape, b, h, from, backward, to);
}

mgk_status MGK_CPU(tree_means)(mgk_device *device, const mgk_head_tokens *shape, const void *x,
                               void *y)
{
    const size_t spans = mgk_tree_place(mgk_tree_levels(shape->tokens), shape->tokens);
    memset(y, 0, shape->samples * spans * shape->heads * shape->dim * sizeof(real));
    visit_all(device, shape, x, false, y);
    return STATUS_OK;
}

mgk_status MGK_CPU(tree_means_backward)(mgk_device *device, const mgk_head_tokens *shape,
                                        const void *dy, void *dx)
{
    visit_all(device, shape, dy, true, dx);
    return STATUS_OK;
}
