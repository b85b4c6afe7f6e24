/* SPDX-License-Identifier: MIT */
#include "kernels/cpu/attention/prior.h"

#include "base/memory.h"

mgk_status MGK_CPU(add_prior_gradient)(const mgk_attention_view *view, const mgk_prior_view *prior,
                                       bool by_prior, const real *parts, size_t cols, real *dprior)
{
    const size_t heads = (size_t)view->heads, mixtures = (size_t)view->mixtures;
    double *total;
    TRY(mgk_alloc(prior->count, sizeof *total, &total));
    for (size_t row = 0; row < (size_t)view->samples * heads * mixtures; row++) {
        const size_t r = row % mixtures, h = row / mixtures % heads, b = row / mixtures / heads;
        double *own = total + h * prior->head_stride + r * prior->component_stride;
        for (size_t j = 0; j < (size_t)mgk_view_key_lengths(view)[b]; j++)
            own[j * prior->key_stride] += (double)parts[row * cols + j];
    }
    for (size_t at = 0; at < prior->count; at++) {
        const real p = ((const real *)prior->values)[at];
        if (by_prior ? p > 0 && p <= 1 : p >= 0 && p <= 1)
            dprior[at] += (real)(by_prior ? total[at] / (double)p : total[at]);
    }
    mgk_free(total);
    return STATUS_OK;
}

void MGK_CPU(gather_responsibilities)(const mgk_attention_view *view, const mgk_prior_view *shape,
                                      const double *parts, size_t cols, double *sums)
{
    size_t mixtures = (size_t)view->mixtures;
    double *queries = sums + shape->count;
    for (size_t h = 0; h < (size_t)view->heads; h++)
        for (size_t r = 0; r < mixtures; r++)
            for (size_t j = 0; j < (size_t)mgk_view_keys(view); j++) {
                const double *own = parts + h * (mixtures + 1) * cols;
                size_t at =
                    h * shape->head_stride + r * shape->component_stride + j * shape->key_stride;
                sums[at] += own[r * cols + j];
                queries[at] += own[mixtures * cols + j];
            }
}

mgk_status MGK_CPU(mean_responsibilities)(mgk_device *device, size_t count, const double *sums,
                                          void *prior)
{
    const double *queries = sums + count;
    (void)device;
    for (size_t at = 0; at < count; at++)
        if (queries[at] > 0)
            ((real *)prior)[at] = (real)(sums[at] / queries[at]);
    return STATUS_OK;
}
