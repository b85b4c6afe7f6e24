/* SPDX-License-Identifier: MIT */
/* Soft-E priors: sums of responsibilities, and their mean. */
#include "kernels/cuda/attention/prior.h"
#include "kernels/cuda/operations.h"

static __global__ void gather(mgk_prior_view shape, mgk_attention_view view, const double *parts,
                              double *sums)
{
    const size_t mixtures = (size_t)view.mixtures, tokens = (size_t)view.tokens;
    const mgk_prior_share share(shape, blockIdx.x, (size_t)view.heads, mixtures, tokens);
    const size_t own_keys = share.last_key - share.first_key;
    double sum = 0, queries = 0;
    for (size_t i = threadIdx.x; i < (share.last_head - share.first_head) * own_keys;
         i += blockDim.x) {
        const double *own = parts + (share.first_head + i / own_keys) * (mixtures + 1) * tokens +
                            share.first_key + i % own_keys;
        sum += own[share.component * tokens];
        queries += own[mixtures * tokens];
    }
    sum = mgk_block_sum(sum);
    queries = mgk_block_sum(queries);
    if (threadIdx.x == 0) {
        sums[share.at] += sum;
        sums[shape.count + share.at] += queries;
    }
}

mgk_status mgk_gather_responsibilities(mgk_device *device, const mgk_prior_view *shape,
                                       const mgk_attention_view *view, const double *parts,
                                       double *sums)
{
    return mgk_cuda_launch(device, gather, mgk_prior_elements(shape, view), MGK_CUDA_BLOCK, 0,
                           *shape, *view, parts, sums);
}

template <typename real> __global__ void mean(size_t count, const double *sums, real *prior)
{
    for (size_t at = mgk_cuda_first(); at < count; at += mgk_cuda_step())
        if (sums[count + at] > 0)
            prior[at] = (real)(sums[at] / sums[count + at]);
}

template <typename real>
mgk_status mgk_cuda_mean_responsibilities(mgk_device *device, size_t count, const double *sums,
                                          void *prior)
{
    return mgk_cuda_launch(device, mean<real>, mgk_cuda_blocks(count), MGK_CUDA_BLOCK, 0, count,
                           sums, (real *)prior);
}

MGK_CUDA_OPERATION(mgk_cuda_mean_responsibilities);
