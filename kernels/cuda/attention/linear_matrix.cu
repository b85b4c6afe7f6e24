/* SPDX-License-Identifier: MIT */
/* The explicit matrix of linear attention, and its responsibilities. */
#include "kernels/cuda/attention/linear.h"
#include "kernels/cuda/attention/prior.h"
#include "kernels/cuda/operations.h"

/* One block per row of each matrix, [B, count] of them. */
template <typename real>
__global__ void linear_matrix(mgk_linear_problem<real> problem, mgk_matrix_content content,
                              const int32_t *heads, size_t count, real *matrices)
{
    const size_t tokens = (size_t)problem.view.tokens, which = blockIdx.x / tokens;
    const size_t sample = which / count;
    const mgk_linear_head<real> head(problem, sample * (size_t)problem.view.heads +
                                                  (size_t)heads[which % count]);
    const int i = (int)(blockIdx.x % tokens), dim = head.dim;
    const int visible = i < head.valid ? problem.visible(i, head.valid) : 0;
    const mgk_feature_scale<real> scale = head.query_scale[i < head.valid ? i : 0];
    const real *query = head.query + (size_t)i * dim;
    real *row = matrices + (which * tokens + (size_t)i) * tokens;
    real sum = 0, factor;
    for (int j = (int)threadIdx.x; j < visible; j += (int)blockDim.x) {
        row[j] = mgk_dot(dim, query, head.feature + (size_t)j * dim);
        sum += row[j];
    }
    sum = mgk_block_sum(sum);
    bool uniform = false;
    if (content == MGK_MATRIX_SCORES) {
        factor = (real)(exp((double)scale.shift + (double)head.key_scale.shift) /
                        (double)scale.inverse / (double)head.key_scale.inverse);
    } else {
        factor = problem.inverse_of(scale, head.key_scale, sum);
        uniform = problem.uniform(factor);
    }
    for (int j = (int)threadIdx.x; j < problem.view.tokens; j += (int)blockDim.x)
        row[j] = j >= visible ? 0 : uniform ? 1 / (real)visible : factor * row[j];
}

/* One block per matrix; the problem has one sample and no causal mask. */
template <typename real>
__global__ void linear_factors(mgk_linear_problem<real> problem, const int32_t *heads, real *lefts,
                               real *rights)
{
    const mgk_linear_head<real> head(problem, (size_t)heads[blockIdx.x]);
    const int tokens = problem.view.tokens, dim = head.dim, depth = dim + 1;
    real *left = lefts + blockIdx.x * (size_t)tokens * (size_t)depth;
    real *right = rights + blockIdx.x * (size_t)tokens * (size_t)depth;
    double *sums = (double *)mgk_cuda_shared(); /* [D], sums of the keys' features */
    for (int d = (int)threadIdx.x; d < dim; d += (int)blockDim.x) {
        sums[d] = 0;
        for (int j = 0; j < head.valid; j++)
            sums[d] += (double)head.feature[(size_t)j * (size_t)dim + (size_t)d];
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < tokens; i += (int)blockDim.x) {
        const real *query = head.query + (size_t)i * (size_t)dim;
        const real *feature = head.feature + (size_t)i * (size_t)dim;
        const bool valid = i < head.valid;
        double sum = 0;
        for (int d = 0; valid && d < dim; d++)
            sum += (double)query[d] * sums[d];
        const real inverse =
            valid ? problem.inverse_of(head.query_scale[i], head.key_scale, (real)sum) : 0;
        for (int d = 0; d < dim; d++) {
            left[(size_t)i * (size_t)depth + (size_t)d] = valid ? inverse * query[d] : 0;
            right[(size_t)i * (size_t)depth + (size_t)d] = valid ? feature[d] : 0;
        }
        left[(size_t)i * (size_t)depth + (size_t)dim] =
            valid && problem.uniform(inverse) ? 1 / (real)head.valid : 0;
        right[(size_t)i * (size_t)depth + (size_t)dim] = valid ? 1 : 0;
    }
}

template <typename real>
mgk_status mgk_cuda_linear_factors(mgk_device *device, const mgk_attention_view *view,
                                   const mgk_linear *linear, int sample, const int32_t *heads,
                                   int count, void *left, void *right)
{
    const mgk_attention_view one = mgk_view_samples(device, view, sample, 1);
    void *memory;
    mgk_linear_problem<real> problem;
    TRY(mgk_cuda_scratch(device, mgk_linear_bytes<real>(&one), &memory));
    TRY(mgk_linear_prepare(device, &one, linear, memory, &problem));
    return mgk_cuda_launch(device, linear_factors<real>, (size_t)count, MGK_CUDA_BLOCK,
                           (size_t)view->dim * sizeof(double), problem, heads, (real *)left,
                           (real *)right);
}

template <typename real>
mgk_status mgk_cuda_linear_matrix(mgk_device *device, const mgk_attention_view *whole,
                                  const mgk_linear *linear, mgk_matrix_content content, int first,
                                  int samples, const int32_t *heads, int count, void *matrix)
{
    const mgk_attention_view view = mgk_view_samples(device, whole, first, samples);
    void *memory;
    mgk_linear_problem<real> problem;
    TRY(mgk_cuda_scratch(device, mgk_linear_bytes<real>(&view), &memory));
    TRY(mgk_linear_prepare(device, &view, linear, memory, &problem));
    return mgk_cuda_launch(device, linear_matrix<real>,
                           (size_t)samples * (size_t)count * (size_t)view.tokens, MGK_CUDA_BLOCK, 0,
                           problem, content, heads, (size_t)count, (real *)matrix);
}

/* The most components of a key. */
enum { MOST_MIXTURES = MGK_MAX_MIXTURES };

/*
 * One block per key of each head: sums [H, M + 1, N] of the responsibilities over the queries of
 * all samples; the last row counts the queries. Each key has its own scale, which cancels between
 * its components.
 */
template <typename real>
__global__ void sum_responsibilities(mgk_linear_problem<real> problem, double *sums)
{
    const mgk_attention_view &view = problem.view;
    const size_t tokens = (size_t)view.tokens, heads = (size_t)view.heads, dim = (size_t)view.dim;
    const size_t mixtures = (size_t)view.mixtures, j = blockIdx.x % tokens, h = blockIdx.x / tokens;
    real *features = (real *)mgk_cuda_shared(); /* [M, D] π_jr φ(k_jr) */
    double own[MOST_MIXTURES], seen = 0;
    for (size_t r = 0; r < mixtures; r++)
        own[r] = 0;
    for (size_t b = 0; b < (size_t)view.samples; b++) {
        const int valid = view.lengths[b];
        if ((int)j >= valid)
            continue;
        real maximum = (real)-INFINITY;
        for (size_t i = 0; i < mixtures * dim; i++) {
            real x = ((const real *)view.key)[problem.key_at(b, i / dim, h, j) + i % dim];
            maximum = x > maximum ? x : maximum;
        }
        const mgk_feature_scale<real> scale = mgk_feature_scale_for(&problem.linear, maximum);
        __syncthreads();
        for (size_t i = threadIdx.x; i < mixtures * dim; i += blockDim.x)
            features[i] =
                problem.prior(h, i / dim, j) *
                mgk_feature(((const real *)view.key)[problem.key_at(b, i / dim, h, j) + i % dim],
                            scale);
        __syncthreads();
        for (int i = (int)threadIdx.x + (view.causal ? (int)j : 0); i < valid;
             i += (int)blockDim.x) {
            const real *query = problem.query + ((b * heads + h) * tokens + (size_t)i) * dim;
            real score[MOST_MIXTURES], total = 0;
            for (size_t r = 0; r < mixtures; r++) {
                score[r] = mgk_dot((int)dim, query, features + r * dim);
                total += score[r];
            }
            if (mgk_feature_sum_vanished(total))
                continue;
            seen += 1;
            for (size_t r = 0; r < mixtures; r++)
                own[r] += (double)(score[r] / total);
        }
    }
    double *out = sums + h * (mixtures + 1) * tokens + j;
    for (size_t r = 0; r <= mixtures; r++) {
        double sum = mgk_block_sum(r < mixtures ? own[r] : seen);
        if (threadIdx.x == 0)
            out[r * tokens] = sum;
    }
}

template <typename real>
mgk_status mgk_cuda_linear_responsibilities(mgk_device *device, const mgk_attention_view *view,
                                            const mgk_linear *linear, double *sums)
{
    const size_t tokens = (size_t)view->tokens, heads = (size_t)view->heads;
    const size_t count = heads * ((size_t)view->mixtures + 1) * tokens;
    double *parts; /* [H, M + 1, N], then the problem */
    mgk_linear_problem<real> problem;
    TRY(mgk_cuda_scratch(device, count * sizeof(double) + mgk_linear_bytes<real>(view), &parts));
    TRY(mgk_linear_prepare(device, view, linear, parts + count, &problem));
    TRY(mgk_cuda_launch(device, sum_responsibilities<real>, heads * tokens, MGK_CUDA_BLOCK,
                        (size_t)view->mixtures * (size_t)view->dim * sizeof(real), problem, parts));
    return mgk_gather_responsibilities(device, &linear->prior, view, parts, sums);
}

MGK_CUDA_OPERATION(mgk_cuda_linear_matrix);
MGK_CUDA_OPERATION(mgk_cuda_linear_factors);
MGK_CUDA_OPERATION(mgk_cuda_linear_responsibilities);
