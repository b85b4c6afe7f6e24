/* SPDX-License-Identifier: MIT */
/* Sums over the heads and keys that share an element of the priors; strides define the sharing. */
#ifndef MGK_KERNELS_CUDA_PRIOR_H
#define MGK_KERNELS_CUDA_PRIOR_H

#include "kernels/cuda/sums.h"

/* The heads and keys that share one prior: first … last − 1 of each, and the prior's index. */
struct mgk_prior_share {
    size_t component, first_head, last_head, first_key, last_key, at;

    /* Element number `element` of the priors that keys below `tokens` use. */
    __device__ mgk_prior_share(const mgk_prior_view &prior, size_t element, size_t heads,
                               size_t mixtures, size_t tokens)
    {
        size_t keys = prior.key_stride ? tokens : 1;
        size_t key = element % keys, head = element / keys / mixtures;
        component = element / keys % mixtures;
        first_head = prior.head_stride ? head : 0;
        last_head = prior.head_stride ? head + 1 : heads;
        first_key = prior.key_stride ? key : 0;
        last_key = prior.key_stride ? key + 1 : tokens;
        at = head * prior.head_stride + component * prior.component_stride + key * prior.key_stride;
    }
};

static inline size_t mgk_prior_elements(const mgk_prior_view *prior, const mgk_attention_view *view)
{
    return (prior->head_stride ? (size_t)view->heads : 1) * (size_t)view->mixtures *
           (prior->key_stride ? (size_t)view->tokens : 1);
}

/*
 * dprior += Σ of parts [B, H, M, N] over the samples, heads and keys that share a prior, divided by
 * the prior if `by_prior`. A clamped prior has no gradient.
 */
template <typename real>
__global__ void mgk_prior_gradient_kernel(mgk_prior_view prior, mgk_attention_view view,
                                          bool by_prior, const real *parts, real *dprior)
{
    const size_t heads = (size_t)view.heads, mixtures = (size_t)view.mixtures;
    const size_t tokens = (size_t)view.tokens;
    const mgk_prior_share share(prior, blockIdx.x, heads, mixtures, tokens);
    const size_t own_heads = share.last_head - share.first_head;
    const size_t own_keys = share.last_key - share.first_key;
    const real p = ((const real *)prior.values)[share.at];
    double sum = 0;
    for (size_t i = threadIdx.x; i < (size_t)view.samples * own_heads * own_keys; i += blockDim.x) {
        size_t j = share.first_key + i % own_keys;
        size_t h = share.first_head + i / own_keys % own_heads, b = i / own_keys / own_heads;
        if ((int)j < view.lengths[b])
            sum += (double)parts[((b * heads + h) * mixtures + share.component) * tokens + j];
    }
    sum = mgk_block_sum(sum);
    const bool inside = by_prior ? p > 0 && p <= 1 : p >= 0 && p <= 1;
    if (threadIdx.x == 0 && inside)
        dprior[share.at] += (real)(by_prior ? sum / (double)p : sum);
}

template <typename real>
mgk_status mgk_add_prior_gradient(mgk_device *device, const mgk_prior_view *prior,
                                  const mgk_attention_view *view, bool by_prior, const real *parts,
                                  void *dprior)
{
    return mgk_cuda_launch(device, mgk_prior_gradient_kernel<real>, mgk_prior_elements(prior, view),
                           MGK_CUDA_BLOCK, 0, *prior, *view, by_prior, parts, (real *)dprior);
}

/*
 * Adds parts [H, M + 1, N], Σ γ_ijr over queries and samples and then the number of queries that
 * saw key j, to sums [2, P], over the heads and keys that share a prior.
 */
mgk_status mgk_gather_responsibilities(mgk_device *device, const mgk_prior_view *shape,
                                       const mgk_attention_view *view, const double *parts,
                                       double *sums);

#endif
