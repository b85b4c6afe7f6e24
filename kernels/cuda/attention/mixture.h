/* SPDX-License-Identifier: MIT */
/*
 * Shared by the kernels of mixture attention, which take their products from fragments.h.
 *
 * Logits omit the row's offset, as on the CPU (kernels/cpu/attention/mixture.h explains why this is
 * correct and accurate).
 */
#ifndef MGK_KERNELS_CUDA_MIXTURE_H
#define MGK_KERNELS_CUDA_MIXTURE_H

#include <math.h>

#include "kernels/cuda/attention/fragments.h"
#include "kernels/cuda/sums.h"

/* The largest head dimension of the kernels. */
enum { MGK_MOST_DEPTH = 256 };

/* One attention problem, passed to kernels by value. */
template <typename real> struct mgk_mixture_problem {
    mgk_attention_view view;
    mgk_mixture mixture;
    double least_scale;
    const real *bias; /* [B, H, M, N] log π_jr − scale_r ‖k_jr‖² / 2; −inf for padding */

    __device__ const real *query(size_t sample, size_t head, size_t token) const
    {
        return (const real *)view.query +
               (sample * (size_t)view.tokens + token) * view.query_stride + head * (size_t)view.dim;
    }
    __device__ size_t key_at(size_t sample, size_t component, size_t head, size_t token) const
    {
        return (sample * (size_t)view.tokens + token) * view.key_stride +
               (component * (size_t)view.heads + head) * (size_t)view.dim;
    }
    __device__ const real *key(size_t sample, size_t component, size_t head, size_t token) const
    {
        return (const real *)view.key + key_at(sample, component, head, token);
    }
    __device__ size_t value_at(size_t sample, size_t head, size_t token) const
    {
        return (sample * (size_t)view.tokens + token) * view.value_stride + head * (size_t)view.dim;
    }
    __device__ const real *value(size_t sample, size_t head, size_t token) const
    {
        return (const real *)view.value + value_at(sample, head, token);
    }
    __device__ const real *biases(size_t sample, size_t component, size_t head) const
    {
        return bias + ((sample * (size_t)view.heads + head) * (size_t)view.mixtures + component) *
                          (size_t)view.tokens;
    }
    __device__ size_t prior_at(size_t head, size_t component, size_t key) const
    {
        return head * mixture.prior.head_stride + component * mixture.prior.component_stride +
               key * mixture.prior.key_stride;
    }
};

/* The sample, head and tile of `size` tokens of a block. */
struct mgk_mixture_place {
    size_t sample, head;
    int first, valid; /* the tile's first token; tokens of the sample */

    mgk_mixture_place() = default;
    /* Of no block in particular. */
    __device__ mgk_mixture_place(size_t sample_, size_t head_, int first_, int valid_)
        : sample(sample_), head(head_), first(first_), valid(valid_)
    {
    }
    __device__ mgk_mixture_place(const mgk_attention_view &view, int size)
    {
        const int tiles = (view.tokens + size - 1) / size;
        first = (int)(blockIdx.x % (unsigned)tiles) * size;
        head = blockIdx.x / (unsigned)tiles % (unsigned)view.heads;
        sample = blockIdx.x / (unsigned)tiles / (unsigned)view.heads;
        valid = view.lengths[sample];
    }
    /* No query of the tile, of `size` tokens, sees this key or those after it. */
    __device__ int end(const mgk_attention_view &view, int size) const
    {
        const int seen = view.causal && first + size < valid ? first + size : valid;
        return first < valid ? seen : 0;
    }
};

/* Blocks that take `size` tokens each, of all heads and samples. */
static inline size_t mgk_mixture_places(const mgk_attention_view *view, int size)
{
    return (size_t)((view->tokens + size - 1) / size) * (size_t)view->samples * (size_t)view->heads;
}

/* Begins to copy keys of component r, from a token on, and their biases beside them. */
template <int ROWS, int DEPTH, int THREADS, typename real>
__device__ void mgk_mixture_copy_keys(const mgk_mixture_problem<real> &problem,
                                      const mgk_mixture_place &place, int r, int token, real *keys)
{
    typedef mgk_neighbours<real, 1> bias;
    mgk_copy_vectors<ROWS, DEPTH, THREADS>(
        keys, problem.key(place.sample, (size_t)r, place.head, (size_t)token),
        problem.view.key_stride, token, place.valid, problem.view.dim);
    mgk_copy_beside<ROWS, DEPTH>(keys,
                                 (const bias *)problem.biases(place.sample, (size_t)r, place.head),
                                 token, place.valid, bias{{(real)-INFINITY}});
}

/* Begins to copy values, from a token on. */
template <int ROWS, int DEPTH, int THREADS, typename real>
__device__ void mgk_mixture_copy_values(const mgk_mixture_problem<real> &problem,
                                        const mgk_mixture_place &place, int token, real *values)
{
    mgk_copy_vectors<ROWS, DEPTH, THREADS>(
        values, problem.value(place.sample, place.head, (size_t)token), problem.view.value_stride,
        token, place.valid, problem.view.dim);
}

/*
 * Logits of tiles that mgk_dots has multiplied. l = scale l + row_term[i] + factor c, c being the
 * number in place `slot` beside the column's vector.
 */
template <int DEPTH, int BLOCKS, typename real>
__device__ void mgk_mixture_add_terms(real scale, const real (&row_term)[2], const real *columns,
                                      int slot, real factor, real (&logits)[BLOCKS][4])
{
    mgk_for_sums<BLOCKS>([&](int n, int k) {
        const real column = columns[mgk_own_column(n, k % 2) * (DEPTH + MGK_BESIDE) + DEPTH + slot];
        logits[n][k] = scale * logits[n][k] + row_term[k / 2] + factor * column;
    });
}

/*
 * Logits of −inf where a causal query does not see a key. `row` and `column` are the first tokens
 * of the block's tile and of the other one; direction: 1 if columns are keys, −1 if rows are.
 */
template <int BLOCKS, typename real>
__device__ void mgk_mixture_hide(int row, int column, int direction, real (&logits)[BLOCKS][4])
{
    mgk_for_sums<BLOCKS>([&](int n, int k) {
        const int ahead = column + mgk_own_column(n, k % 2) - row - mgk_own_row(k / 2);
        if (ahead * direction > 0)
            logits[n][k] = (real)-INFINITY;
    });
}

/* exp(x) of a difference of logits. float32 takes one instruction, with one more rounding of x, as
 * small as that of the logits. */
__device__ static inline float mgk_mixture_exp(float x)
{
    return exp2f(x * (float)M_LOG2E);
}

__device__ static inline double mgk_mixture_exp(double x)
{
    return exp(x);
}

/* ‖q‖² / 2 of the thread's row i of a tile of queries. */
template <int DEPTH, typename real> __device__ double mgk_half_square(const real *queries, int i)
{
    const real *query = queries + mgk_own_row(i) * (DEPTH + MGK_BESIDE);
    double square = 0;
    for (int d = mgk_lane() % MGK_FRAGMENT_LANES; d < DEPTH; d += MGK_FRAGMENT_LANES)
        square += (double)query[d] * (double)query[d];
    return mgk_lanes_sum(square, MGK_FRAGMENT_LANES) / 2;
}

/* How much a component's scale exceeds the least one; its logits have a term −excess ‖q_i‖² / 2. */
template <typename real>
__device__ double mgk_mixture_excess(const mgk_mixture_problem<real> &problem, size_t component)
{
    return problem.mixture.gaussian ? problem.mixture.scale[component] - problem.least_scale : 0;
}

/*
 * The logits of component r: of the block's queries, from `first` on, and a tile of its keys, from
 * `key` on. half_square: ‖q‖² / 2 of the thread's rows.
 */
template <int DEPTH, bool TF32, int BLOCKS, typename real>
__device__ void mgk_mixture_logits(const mgk_mixture_problem<real> &problem, int first, int key,
                                   int r, const real *queries, const real *keys,
                                   const real (&half_square)[2], real (&logits)[BLOCKS][4])
{
    const real excess = (real)mgk_mixture_excess(problem, (size_t)r);
    const real term[2] = {-excess * half_square[0], -excess * half_square[1]};
    mgk_dots<DEPTH, TF32>(queries, keys, logits);
    mgk_mixture_add_terms<DEPTH>((real)problem.mixture.scale[r], term, keys, 0, (real)1, logits);
    if (problem.view.causal && key + 8 * BLOCKS > first)
        mgk_mixture_hide(first, key, 1, logits);
}

/* Keys that query i of a sample sees: 0 … count − 1. */
static __device__ inline int mgk_mixture_visible(const mgk_attention_view &view, int valid,
                                                 int query)
{
    return view.causal && query + 1 < valid ? query + 1 : valid;
}

/* The entries of a row whose scores are all 0: see kernels/cpu/attention/mixture.h. */
template <typename real>
__device__ real mgk_mixture_blank(const mgk_mixture_problem<real> &problem, int valid, int query)
{
    return problem.mixture.normalizer_epsilon > 0
               ? 0
               : 1 / (real)mgk_mixture_visible(problem.view, valid, query);
}

/*
 * Fills in a problem; its biases are stored in `memory`, mgk_mixture_biases reals of device memory,
 * owned by the caller.
 */
template <typename real>
mgk_status mgk_mixture_prepare(mgk_device *device, const mgk_attention_view *view,
                               const mgk_mixture *mixture, real *memory,
                               mgk_mixture_problem<real> *out);

/* Number of reals in a problem's biases. */
static inline size_t mgk_mixture_biases(const mgk_attention_view *view)
{
    return (size_t)view->samples * (size_t)view->heads * (size_t)view->mixtures *
           (size_t)view->tokens;
}

/* Calls run.at<DEPTH>() with the least DEPTH >= the head dimension. */
template <typename Run> static mgk_status mgk_with_depth(int dim, const Run &run)
{
    if (dim <= 16)
        return run.template at<16>();
    if (dim <= 32)
        return run.template at<32>();
    if (dim <= 64)
        return run.template at<64>();
    if (dim <= 128)
        return run.template at<128>();
    if (dim <= MGK_MOST_DEPTH)
        return run.template at<MGK_MOST_DEPTH>();
    return mgk_fail(STATUS_UNSUPPORTED, "head dimension %d: CUDA attention is made for up to %d",
                    dim, MGK_MOST_DEPTH);
}

/* Calls run.at<DEPTH, TF32>(), as the device multiplies. */
template <typename real, typename Run> struct mgk_mixture_way {
    const mgk_device *device;
    const Run &run;

    template <int DEPTH> mgk_status at() const
    {
        if constexpr (sizeof(real) == 4)
            if (device->tf32)
                return run.template at<DEPTH, true>();
        return run.template at<DEPTH, false>();
    }
};

template <typename real, typename Run>
mgk_status mgk_mixture_launch(const mgk_mixture_problem<real> &problem, const Run &run)
{
    return mgk_with_depth(problem.view.dim, mgk_mixture_way<real, Run>{run.device, run});
}

#endif
