/* SPDX-License-Identifier: MIT */
/*
 * The output of linear attention in O(N): the state holds all keys, or those of all earlier chunks.
 */
#include "kernels/cuda/attention/linear.h"
#include "kernels/cuda/operations.h"

/* state [D + 1, D] += Σ v'_j f_jᵀ over the chunk; every element belongs to one thread. */
template <typename real>
__device__ static void add_keys(const mgk_linear_head<real> &head, int first, int rows)
{
    const int dim = head.dim;
    for (int at = (int)threadIdx.x; at < (dim + 1) * dim; at += (int)blockDim.x) {
        real sum = 0;
        for (int j = first; j < first + rows; j++)
            sum += head.value(j, at / dim) * head.feature[(size_t)j * dim + at % dim];
        head.state[at] += sum;
    }
}

/*
 * Element d of query i's numerator: Σ over the state and, if causal, over the keys of its own
 * chunk.
 */
template <typename real>
__device__ static real numerator(const mgk_linear_head<real> &head, const real *scores, int first,
                                 int i, int d)
{
    real sum =
        mgk_dot(head.dim, head.query + (size_t)(first + i) * head.dim, head.state + d * head.dim);
    for (int j = 0; head.problem.view.causal && j <= i; j++)
        sum += scores[i * MGK_LINEAR_CHUNK + j] * head.value(first + j, d);
    return sum;
}

template <typename real>
__global__ void linear_attention(mgk_linear_problem<real> problem, real *output,
                                 size_t output_stride)
{
    __shared__ real scores[MGK_LINEAR_CHUNK * MGK_LINEAR_CHUNK];
    const mgk_linear_head<real> head(problem, blockIdx.x);
    const int dim = head.dim, valid = head.valid, threads = (int)blockDim.x;
    const bool causal = problem.view.causal;
    for (int at = (int)threadIdx.x; at < (dim + 1) * dim; at += threads)
        head.state[at] = 0;
    for (int first = 0; !causal && first < valid; first += MGK_LINEAR_CHUNK)
        add_keys(head, first, min(MGK_LINEAR_CHUNK, valid - first));
    for (int first = 0; first < valid; first += MGK_LINEAR_CHUNK) {
        const int rows = min(MGK_LINEAR_CHUNK, valid - first);
        for (int pair = (int)threadIdx.x; causal && pair < rows * rows; pair += threads) {
            const int i = pair / rows, j = pair % rows;
            if (j <= i)
                scores[i * MGK_LINEAR_CHUNK + j] =
                    mgk_dot(dim, head.query + (size_t)(first + i) * dim,
                            head.feature + (size_t)(first + j) * dim);
        }
        __syncthreads();
        for (int i = (int)threadIdx.x; i < rows; i += threads)
            head.inverse[first + i] =
                problem.inverse_of(head.query_scale[first + i], head.key_scale,
                                   numerator(head, scores, first, i, dim));
        __syncthreads();
        for (int at = (int)threadIdx.x; at < rows * dim; at += threads) {
            const int i = at / dim, d = at % dim;
            const real inverse = head.inverse[first + i];
            real result = inverse * numerator(head, scores, first, i, d);
            if (problem.uniform(inverse)) {
                const int visible = problem.visible(first + i, valid);
                result = 0;
                for (int j = 0; j < visible; j++)
                    result += head.value(j, d);
                result /= (real)visible;
            }
            output[problem.token_at(head.sample, head.head, (size_t)(first + i), output_stride) +
                   (size_t)d] = result;
        }
        __syncthreads();
        if (causal)
            add_keys(head, first, rows);
        __syncthreads();
    }
    for (int at = valid * dim + (int)threadIdx.x; at < problem.view.tokens * dim; at += threads)
        output[problem.token_at(head.sample, head.head, (size_t)(at / dim), output_stride) +
               (size_t)(at % dim)] = 0;
}

template <typename real>
mgk_status mgk_cuda_linear_attention(mgk_device *device, const mgk_attention_view *view,
                                     const mgk_linear *linear, void *output, size_t output_stride)
{
    void *memory;
    mgk_linear_problem<real> problem;
    TRY(mgk_cuda_scratch(device, mgk_linear_bytes<real>(view), &memory));
    TRY(mgk_linear_prepare(device, view, linear, memory, &problem));
    return mgk_cuda_launch(device, linear_attention<real>,
                           (size_t)view->samples * (size_t)view->heads, MGK_CUDA_BLOCK, 0, problem,
                           (real *)output, output_stride);
}

MGK_CUDA_OPERATION(mgk_cuda_linear_attention);
