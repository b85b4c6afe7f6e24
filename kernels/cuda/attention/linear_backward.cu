/* SPDX-License-Identifier: MIT */
/* Gradients of linear attention in O(N); kernels/cpu/attention/linear_backward.c has the equations.
 */
#include "kernels/cuda/attention/linear.h"
#include "kernels/cuda/attention/prior.h"
#include "kernels/cuda/operations.h"

/* The arrays of the gradients, besides the problem. */
template <typename real> struct gradient_arrays {
    real *weighted; /* [B, H, N, D + 1] g'_i */
    real *dstate;   /* [B, H, D + 1, D] dT */
    real *dfeature; /* [B, H, N, D] df_j */
    real *dprior;   /* [B, H, M, N]; NULL: not requested */
    const real *output, *doutput;
    size_t output_stride;
    mgk_attention_gradient gradient;
};

/* 1 / Z_i and g'_i = [dO_i, −dO_i·o_i] / Z_i of a chunk; the state holds the keys before it. */
template <typename real>
__device__ static void weigh_gradient(const mgk_linear_head<real> &head,
                                      const gradient_arrays<real> &g, const real *scores, int first,
                                      int rows)
{
    const mgk_linear_problem<real> &problem = head.problem;
    const int dim = head.dim;
    for (int i = (int)threadIdx.x; i < rows; i += (int)blockDim.x) {
        const size_t at =
            problem.token_at(head.sample, head.head, (size_t)(first + i), g.output_stride);
        real sum = mgk_dot(dim, head.query + (size_t)(first + i) * dim, head.state + dim * dim);
        for (int j = 0; problem.view.causal && j <= i; j++)
            sum += scores[i * MGK_LINEAR_CHUNK + j];
        const real inverse = problem.inverse_of(head.query_scale[first + i], head.key_scale, sum);
        real *weighted = g.weighted + (head.row + (size_t)(first + i)) * (dim + 1);
        real dot = 0;
        for (int d = 0; d < dim; d++) {
            weighted[d] = inverse * g.doutput[at + (size_t)d];
            dot += weighted[d] * g.output[at + (size_t)d];
        }
        weighted[dim] = -dot;
        head.inverse[first + i] = inverse;
    }
}

/* φ(q_i)·f_j and its gradient g'_i·v'_j for the pairs of a chunk, j <= i. */
template <typename real>
__device__ static void chunk_scores(const mgk_linear_head<real> &head, int first, int rows,
                                    real *scores)
{
    for (int pair = (int)threadIdx.x; pair < rows * rows; pair += (int)blockDim.x) {
        const int i = pair / rows, j = pair % rows;
        if (j <= i)
            scores[i * MGK_LINEAR_CHUNK + j] =
                mgk_dot(head.dim, head.query + (size_t)(first + i) * head.dim,
                        head.feature + (size_t)(first + j) * head.dim);
    }
}

template <typename real>
__device__ static void chunk_dscores(const mgk_linear_head<real> &head,
                                     const gradient_arrays<real> &g, int first, int rows,
                                     real *dscores)
{
    for (int pair = (int)threadIdx.x; pair < rows * rows; pair += (int)blockDim.x) {
        const int i = pair / rows, j = pair % rows;
        const real *weighted = g.weighted + (head.row + (size_t)(first + i)) * (head.dim + 1);
        real sum = 0;
        for (int d = 0; j <= i && d <= head.dim; d++)
            sum += weighted[d] * head.value(first + j, d);
        if (j <= i)
            dscores[i * MGK_LINEAR_CHUNK + j] = sum;
    }
}

/* sum [D + 1, D] += Σ left_iᵀ right_i over the chunk, left given by a function of (i, d). */
template <typename real, typename Left>
__device__ static void accumulate(int dim, int first, int rows, const Left &left, const real *right,
                                  real *sum)
{
    for (int at = (int)threadIdx.x; at < (dim + 1) * dim; at += (int)blockDim.x) {
        real part = 0;
        for (int i = first; i < first + rows; i++)
            part += left(i, at / dim) * right[(size_t)i * dim + at % dim];
        sum[at] += part;
    }
}

template <typename real> struct value_of {
    const mgk_linear_head<real> &head;
    __device__ real operator()(int j, int d) const
    {
        return head.value(j, d);
    }
};

template <typename real> struct weighted_of {
    const real *weighted;
    int dim;
    __device__ real operator()(int i, int d) const
    {
        return weighted[(size_t)i * (dim + 1) + d];
    }
};

/* Queries first to last; if causal, the state grows meanwhile. */
template <typename real>
__device__ static void query_gradients(const mgk_linear_head<real> &head,
                                       const gradient_arrays<real> &g, real *scores, real *dscores)
{
    const mgk_linear_problem<real> &problem = head.problem;
    const int dim = head.dim, valid = head.valid;
    const bool causal = problem.view.causal;
    const value_of<real> value = {head};
    for (int first = 0; !causal && first < valid; first += MGK_LINEAR_CHUNK)
        accumulate(dim, first, min(MGK_LINEAR_CHUNK, valid - first), value, head.feature,
                   head.state);
    for (int first = 0; first < valid; first += MGK_LINEAR_CHUNK) {
        const int rows = min(MGK_LINEAR_CHUNK, valid - first);
        if (causal)
            chunk_scores(head, first, rows, scores);
        __syncthreads();
        weigh_gradient(head, g, scores, first, rows);
        __syncthreads();
        if (causal)
            chunk_dscores(head, g, first, rows, dscores);
        __syncthreads();
        for (int at = (int)threadIdx.x; at < rows * dim; at += (int)blockDim.x) {
            const int i = at / dim, e = at % dim;
            const real *weighted = g.weighted + (head.row + (size_t)(first + i)) * (dim + 1);
            real sum = 0;
            for (int d = 0; d <= dim; d++)
                sum += weighted[d] * head.state[d * dim + e];
            for (int j = 0; causal && j <= i; j++)
                sum +=
                    dscores[i * MGK_LINEAR_CHUNK + j] * head.feature[(size_t)(first + j) * dim + e];
            const real feature = head.query[(size_t)(first + i) * dim + e];
            ((real *)g.gradient.query)[problem.token_at(head.sample, head.head, (size_t)(first + i),
                                                        problem.view.query_stride) +
                                       (size_t)e] =
                sum * mgk_feature_slope(feature, head.query_scale[first + i]);
        }
        __syncthreads();
        if (causal)
            accumulate(dim, first, rows, value, head.feature, head.state);
        __syncthreads();
    }
}

/* Uniform rows, whose scores have vanished: Σ_i dO_i / (keys i sees). */
template <typename real>
__device__ static real uniform_gradient(const mgk_linear_head<real> &head,
                                        const gradient_arrays<real> &g, int j, int d)
{
    const mgk_linear_problem<real> &problem = head.problem;
    real sum = 0;
    for (int i = problem.view.causal ? j : 0; i < head.valid; i++)
        if (problem.uniform(head.inverse[i]))
            sum += g.doutput[problem.token_at(head.sample, head.head, (size_t)i, g.output_stride) +
                             (size_t)d] /
                   (real)problem.visible(i, head.valid);
    return sum;
}

/* Keys and values last to first; if causal, dT grows meanwhile. */
template <typename real>
__device__ static void key_gradients(const mgk_linear_head<real> &head,
                                     const gradient_arrays<real> &g, real *dstate, bool uniform,
                                     real *scores, real *dscores)
{
    const mgk_linear_problem<real> &problem = head.problem;
    const int dim = head.dim, valid = head.valid;
    const bool causal = problem.view.causal;
    const weighted_of<real> weighted = {g.weighted + head.row * (size_t)(dim + 1), dim};
    for (int first = 0; !causal && first < valid; first += MGK_LINEAR_CHUNK)
        accumulate(dim, first, min(MGK_LINEAR_CHUNK, valid - first), weighted, head.query, dstate);
    __syncthreads();
    for (int chunk = (valid + MGK_LINEAR_CHUNK - 1) / MGK_LINEAR_CHUNK; chunk-- > 0;) {
        const int first = chunk * MGK_LINEAR_CHUNK, rows = min(MGK_LINEAR_CHUNK, valid - first);
        if (causal) {
            chunk_scores(head, first, rows, scores);
            chunk_dscores(head, g, first, rows, dscores);
        }
        __syncthreads();
        for (int at = (int)threadIdx.x; at < rows * dim; at += (int)blockDim.x) {
            const int j = at / dim, e = at % dim;
            real df = 0,
                 dv = mgk_dot(dim, head.feature + (size_t)(first + j) * dim, dstate + e * dim);
            for (int d = 0; d <= dim; d++)
                df += head.value(first + j, d) * dstate[d * dim + e];
            for (int i = j; causal && i < rows; i++) {
                df += dscores[i * MGK_LINEAR_CHUNK + j] * head.query[(size_t)(first + i) * dim + e];
                dv += scores[i * MGK_LINEAR_CHUNK + j] * weighted(first + i, e);
            }
            if (uniform)
                dv += uniform_gradient(head, g, first + j, e);
            g.dfeature[(head.row + (size_t)(first + j)) * dim + e] = df;
            ((real *)g.gradient.value)[problem.token_at(head.sample, head.head, (size_t)(first + j),
                                                        problem.view.value_stride) +
                                       (size_t)e] = dv;
        }
        __syncthreads();
        if (causal)
            accumulate(dim, first, rows, weighted, head.query, dstate);
        __syncthreads();
    }
}

template <typename real>
__global__ void linear_backward(mgk_linear_problem<real> problem, gradient_arrays<real> g)
{
    __shared__ real scores[MGK_LINEAR_CHUNK * MGK_LINEAR_CHUNK];
    __shared__ real dscores[MGK_LINEAR_CHUNK * MGK_LINEAR_CHUNK];
    const mgk_linear_head<real> head(problem, blockIdx.x);
    const int dim = head.dim;
    real *dstate = g.dstate + (size_t)blockIdx.x * (size_t)((dim + 1) * dim);
    for (int at = (int)threadIdx.x; at < (dim + 1) * dim; at += (int)blockDim.x)
        head.state[at] = dstate[at] = 0;
    __syncthreads();
    query_gradients(head, g, scores, dscores);
    int uniform = 0;
    for (int i = (int)threadIdx.x; i < head.valid; i += (int)blockDim.x)
        uniform |= problem.uniform(head.inverse[i]);
    uniform = mgk_block_sum(uniform);
    key_gradients(head, g, dstate, uniform > 0, scores, dscores);
}

/* dk_jr and the parts of dπ_jr from df_j; padding gets 0. One warp per token of each head. */
template <typename real>
__global__ void component_gradients(mgk_linear_problem<real> problem, gradient_arrays<real> g)
{
    const mgk_attention_view &view = problem.view;
    const size_t tokens = (size_t)view.tokens, heads = (size_t)view.heads, dim = (size_t)view.dim;
    const size_t mixtures = (size_t)view.mixtures, count = (size_t)view.samples * heads * tokens;
    const size_t lane = threadIdx.x % MGK_WARP;
    for (size_t row = mgk_cuda_first() / MGK_WARP; row < count; row += mgk_cuda_step() / MGK_WARP) {
        const size_t j = row % tokens, h = row / tokens % heads, b = row / tokens / heads;
        const bool padding = (int)j >= view.lengths[b];
        const mgk_feature_scale<real> scale = problem.key_scale[b * heads + h];
        for (size_t d = lane; padding && d < dim; d += MGK_WARP) {
            ((real *)g.gradient.query)[problem.token_at(b, h, j, view.query_stride) + d] = 0;
            ((real *)g.gradient.value)[problem.token_at(b, h, j, view.value_stride) + d] = 0;
        }
        for (size_t r = 0; r < mixtures; r++) {
            const real *key = (const real *)view.key + problem.key_at(b, r, h, j);
            real *dkey = (real *)g.gradient.key + problem.key_at(b, r, h, j);
            const real p = padding ? 0 : problem.prior(h, r, j);
            real dot = 0;
            for (size_t d = lane; d < dim; d += MGK_WARP) {
                const real df = padding ? 0 : g.dfeature[row * dim + d];
                const real feature = padding ? 0 : mgk_feature(key[d], scale);
                dot += df * feature;
                dkey[d] = p * df * mgk_feature_slope(feature, scale);
            }
            dot = mgk_lanes_sum(dot, MGK_WARP);
            if (g.dprior && lane == 0)
                g.dprior[((b * heads + h) * mixtures + r) * tokens + j] = dot;
        }
    }
}

template <typename real>
mgk_status mgk_cuda_linear_attention_backward(mgk_device *device, const mgk_attention_view *view,
                                              const mgk_linear *linear, const void *output,
                                              const void *doutput, size_t output_stride,
                                              const mgk_attention_gradient *gradient)
{
    const size_t heads = (size_t)view->samples * (size_t)view->heads, dim = (size_t)view->dim;
    const size_t rows = heads * (size_t)view->tokens;
    const size_t bytes = mgk_linear_bytes<real>(view);
    const size_t reals = rows * (2 * dim + 1 + (size_t)view->mixtures) + heads * (dim + 1) * dim;
    unsigned char *memory;
    mgk_linear_problem<real> problem;
    gradient_arrays<real> g;
    TRY(mgk_cuda_scratch(device, bytes + reals * sizeof(real), &memory));
    TRY(mgk_linear_prepare(device, view, linear, memory, &problem));
    g.weighted = (real *)(memory + bytes);
    g.dstate = g.weighted + rows * (dim + 1);
    g.dfeature = g.dstate + heads * (dim + 1) * dim;
    g.dprior = gradient->prior ? g.dfeature + rows * dim : NULL;
    g.output = (const real *)output;
    g.doutput = (const real *)doutput;
    g.output_stride = output_stride;
    g.gradient = *gradient;
    TRY(mgk_cuda_launch(device, linear_backward<real>, heads, MGK_CUDA_BLOCK, 0, problem, g));
    TRY(mgk_cuda_launch(device, component_gradients<real>, mgk_cuda_blocks(rows * MGK_WARP),
                        MGK_CUDA_BLOCK, 0, problem, g));
    if (!gradient->prior)
        return STATUS_OK;
    return mgk_add_prior_gradient(device, &linear->prior, view, false, g.dprior, gradient->prior);
}

MGK_CUDA_OPERATION(mgk_cuda_linear_attention_backward);
