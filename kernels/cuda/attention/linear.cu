/* SPDX-License-Identifier: MIT */
#include "kernels/cuda/attention/linear.h"

/* One block per head of each sample. */
template <typename real> __global__ void scale_keys(mgk_linear_problem<real> problem)
{
    __shared__ real parts[MGK_CUDA_BLOCK / MGK_WARP];
    const mgk_attention_view &view = problem.view;
    const size_t h = blockIdx.x % (unsigned)view.heads, b = blockIdx.x / (unsigned)view.heads;
    const size_t dim = (size_t)view.dim, components = problem.components();
    const size_t count = (size_t)view.lengths[b] * components * dim;
    real maximum = (real)-INFINITY;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
        real x = problem.key(b, i / dim % components, h, i / dim / components, i % dim);
        maximum = x > maximum ? x : maximum;
    }
    maximum = mgk_lanes_max(maximum, MGK_WARP);
    if (threadIdx.x % MGK_WARP == 0)
        parts[threadIdx.x / MGK_WARP] = maximum;
    __syncthreads();
    for (int warp = 0; warp < MGK_CUDA_BLOCK / MGK_WARP; warp++)
        maximum = parts[warp] > maximum ? parts[warp] : maximum;
    if (threadIdx.x == 0)
        problem.key_scale[blockIdx.x] = mgk_feature_scale_for(&problem.linear, maximum);
}

/* One warp per token of each head. */
template <typename real> __global__ void make_features(mgk_linear_problem<real> problem)
{
    const mgk_attention_view &view = problem.view;
    const size_t tokens = (size_t)view.tokens, heads = (size_t)view.heads;
    const size_t dim = (size_t)view.dim, count = (size_t)view.samples * heads * tokens;
    const size_t lane = threadIdx.x % MGK_WARP;
    for (size_t row = mgk_cuda_first() / MGK_WARP; row < count; row += mgk_cuda_step() / MGK_WARP) {
        const size_t j = row % tokens, h = row / tokens % heads, b = row / tokens / heads;
        if ((int)j >= view.lengths[b])
            continue;
        const real *query = (const real *)view.query + problem.token_at(b, h, j, view.query_stride);
        real maximum = (real)-INFINITY;
        for (size_t d = lane; d < dim; d += MGK_WARP)
            maximum = query[d] > maximum ? query[d] : maximum;
        const mgk_feature_scale<real> scale =
            mgk_feature_scale_for(&problem.linear, mgk_lanes_max(maximum, MGK_WARP));
        const mgk_feature_scale<real> key_scale = problem.key_scale[b * heads + h];
        if (lane == 0)
            problem.query_scale[row] = scale;
        for (size_t d = lane; d < dim; d += MGK_WARP) {
            real feature = 0;
            for (size_t r = 0; r < problem.components(); r++)
                feature += (problem.linear.mix_keys ? 1 : problem.prior(h, r, j)) *
                           mgk_feature(problem.key(b, r, h, j, d), key_scale);
            problem.query[row * dim + d] = mgk_feature(query[d], scale);
            problem.feature[row * dim + d] = feature;
        }
    }
}

template <typename real> size_t mgk_linear_bytes(const mgk_attention_view *view)
{
    const size_t heads = (size_t)view->samples * (size_t)view->heads, dim = (size_t)view->dim;
    return heads * (2 + (size_t)view->tokens * (3 + 2 * dim) + (dim + 1) * dim) * sizeof(real);
}

template <typename real>
mgk_status mgk_linear_prepare(mgk_device *device, const mgk_attention_view *view,
                              const mgk_linear *linear, void *memory, mgk_linear_problem<real> *out)
{
    const size_t heads = (size_t)view->samples * (size_t)view->heads;
    const size_t rows = heads * (size_t)view->tokens, dim = (size_t)view->dim;
    out->view = *view;
    out->linear = *linear;
    out->key_scale = (mgk_feature_scale<real> *)memory;
    out->query_scale = out->key_scale + heads;
    out->query = (real *)(out->query_scale + rows);
    out->feature = out->query + rows * dim;
    out->inverse = out->feature + rows * dim;
    out->state = out->inverse + rows;
    TRY(mgk_cuda_launch(device, scale_keys<real>, heads, MGK_CUDA_BLOCK, 0, *out));
    return mgk_cuda_launch(device, make_features<real>,
                           mgk_cuda_blocks(heads * (size_t)view->tokens * MGK_WARP), MGK_CUDA_BLOCK,
                           0, *out);
}

template decltype(mgk_linear_bytes<float>) mgk_linear_bytes<float>;
template decltype(mgk_linear_bytes<double>) mgk_linear_bytes<double>;
template decltype(mgk_linear_prepare<float>) mgk_linear_prepare<float>;
template decltype(mgk_linear_prepare<double>) mgk_linear_prepare<double>;
