/* SPDX-License-Identifier: MIT */
#include "kernels/cuda/attention/mixture.h"

/* bias [B, H, M, N] = log π_jr − scale_r ‖k_jr‖² / 2. */
template <typename real> __global__ void mixture_bias(mgk_mixture_problem<real> problem, real *bias)
{
    const mgk_attention_view &view = problem.view;
    const mgk_mixture &mixture = problem.mixture;
    const size_t tokens = (size_t)view.tokens, mixtures = (size_t)view.mixtures;
    const size_t heads = (size_t)view.heads,
                 count = (size_t)view.samples * heads * mixtures * tokens;
    for (size_t at = mgk_cuda_first(); at < count; at += mgk_cuda_step()) {
        size_t j = at % tokens, r = at / tokens % mixtures, h = at / tokens / mixtures % heads;
        size_t b = at / tokens / mixtures / heads;
        double sum = 0;
        if (mixture.prior.values) {
            double p = (double)((const real *)mixture.prior.values)[problem.prior_at(h, r, j)];
            sum = p >= 1 ? 0 : p > 0 ? log(p) : -INFINITY;
        }
        const real *key = problem.key(b, r, h, j);
        double square = 0;
        for (int d = 0; mixture.gaussian && d < view.dim; d++)
            square += (double)key[d] * (double)key[d];
        sum -= 0.5 * mixture.scale[r] * square;
        bias[at] = (int)j < view.lengths[b] ? (real)sum : (real)-INFINITY;
    }
}

template <typename real>
mgk_status mgk_mixture_prepare(mgk_device *device, const mgk_attention_view *view,
                               const mgk_mixture *mixture, real *memory,
                               mgk_mixture_problem<real> *out)
{
    mgk_mixture_problem<real> problem;
    problem.view = *view;
    problem.mixture = *mixture;
    problem.least_scale = mixture->scale[0];
    for (int r = 1; r < view->mixtures; r++)
        problem.least_scale = fmin(problem.least_scale, mixture->scale[r]);
    problem.bias = memory;
    *out = problem;
    return mgk_cuda_launch(device, mixture_bias<real>, mgk_cuda_blocks(mgk_mixture_biases(view)),
                           MGK_CUDA_BLOCK, 0, problem, memory);
}

template decltype(mgk_mixture_prepare<float>) mgk_mixture_prepare<float>;
template decltype(mgk_mixture_prepare<double>) mgk_mixture_prepare<double>;
