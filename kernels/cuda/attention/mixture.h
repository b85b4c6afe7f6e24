/* SPDX-License-Identifier: MIT */
/*
 * Shared by the kernels of mixture attention. Outputs and gradients take their products from
 * fragments.h. Explicit matrices and responsibilities have a layout of their own: a block of 16 x
 * 16 threads processes tiles of T queries by T keys; thread (x, y) holds the pairs of rows y + 16 i
 * and columns x + 16 j. Their tiles of vectors in shared memory have one extra column, so that
 * reads along either side use all banks.
 *
 * Logits omit the row's offset, as on the CPU (kernels/cpu/attention/mixture.h explains why this is
 * correct and accurate).
 */
#ifndef MGK_KERNELS_CUDA_MIXTURE_H
#define MGK_KERNELS_CUDA_MIXTURE_H

#include <math.h>

#include "kernels/cuda/attention/fragments.h"
#include "kernels/cuda/sums.h"

enum { MGK_SIDE = 16 }; /* threads along one side of a tile */

/* The largest head dimension of the kernels. */
enum { MGK_MOST_DEPTH = 256 };

/*
 * Pairs per thread along one side, and T. Two tiles of vectors must fit the 99 KiB of shared memory
 * that a block can use on every architecture since 8.0.
 */
template <typename real, int DEPTH> struct mgk_tile {
    static const int most = sizeof(real) == 4 ? 4 : 2;
    static const int per_thread = DEPTH <= 64 ? most : DEPTH <= 128 ? most / 2 : 1;
    static const int size = MGK_SIDE * per_thread;
};

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

    __device__ mgk_mixture_place(const mgk_attention_view &view, int size)
    {
        const int tiles = (view.tokens + size - 1) / size;
        first = (int)(blockIdx.x % (unsigned)tiles) * size;
        head = blockIdx.x / (unsigned)tiles % (unsigned)view.heads;
        sample = blockIdx.x / (unsigned)tiles / (unsigned)view.heads;
        valid = view.lengths[sample];
    }
};

/* Blocks that take `size` tokens each, of all heads and samples. */
static inline size_t mgk_mixture_places(const mgk_attention_view *view, int size)
{
    return (size_t)((view->tokens + size - 1) / size) * (size_t)view->samples * (size_t)view->heads;
}

template <typename real, int DEPTH> static size_t mgk_mixture_tiles(const mgk_attention_view *view)
{
    const size_t size = mgk_tile<real, DEPTH>::size;
    return ((size_t)view->tokens + size - 1) / size;
}

/* A tile of vectors in shared memory, [T, DEPTH + 1]. */
template <typename real, int DEPTH> struct mgk_vectors {
    static const int pitch = DEPTH + 1;
    static const int count = mgk_tile<real, DEPTH>::size * pitch;
};

/*
 * Loads the vectors of tokens first … of an array, `source` being the vector of token `first`; 0
 * beyond `valid` and beyond D. The caller synchronises.
 */
template <typename real, int DEPTH>
__device__ void mgk_load_vectors(real *tile, const real *source, size_t stride, int first,
                                 int valid, int dim)
{
    for (int i = (int)threadIdx.x; i < mgk_tile<real, DEPTH>::size * DEPTH;
         i += MGK_SIDE * MGK_SIDE) {
        int row = i / DEPTH, d = i % DEPTH;
        bool inside = first + row < valid && d < dim;
        tile[row * mgk_vectors<real, DEPTH>::pitch + d] =
            inside ? source[(size_t)row * stride + (size_t)d] : 0;
    }
}

/*
 * sum[i][j] += Σ_k a[row_i, k] b[column_j, k] for the thread's rows y + 16 i and columns x + 16 j;
 * elements are a_row and a_k (b_column and b_k) apart.
 */
template <int ROWS, int COLUMNS, typename real>
__device__ void mgk_tile_product(int depth, const real *a, int a_row, int a_k, const real *b,
                                 int b_column, int b_k, real (&sum)[ROWS][COLUMNS])
{
    const int x = (int)threadIdx.x % MGK_SIDE, y = (int)threadIdx.x / MGK_SIDE;
    a += y * a_row;
    b += x * b_column;
#pragma unroll 4
    for (int k = 0; k < depth; k++) {
        real left[ROWS], right[COLUMNS];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            left[i] = a[i * MGK_SIDE * a_row + k * a_k];
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            right[j] = b[j * MGK_SIDE * b_column + k * b_k];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                sum[i][j] += left[i] * right[j];
    }
}

/* The row's offset, scale ‖q_i‖² / 2 for Gaussian scores, from a tile of queries. */
template <typename real, int DEPTH>
__device__ double mgk_mixture_offset(const mgk_mixture_problem<real> &problem, const real *queries,
                                     int row)
{
    double square = 0;
    for (int d = 0; d < problem.view.dim; d++) {
        double q = (double)queries[row * mgk_vectors<real, DEPTH>::pitch + d];
        square += q * q;
    }
    return problem.mixture.gaussian ? 0.5 * problem.least_scale * square : 0;
}

/*
 * The thread's logits of one component: queries of the tile at `first_query` with keys of the tile
 * at `first_key`, both loaded. offsets [T] of the queries; −inf where the query does not see the
 * key.
 */
template <typename real, int DEPTH>
__device__ void mgk_mixture_logits(
    const mgk_mixture_problem<real> &problem, size_t sample, size_t head, size_t component,
    int first_query, int first_key, int valid, const real *queries, const real *keys,
    const double *offsets,
    real (&logits)[mgk_tile<real, DEPTH>::per_thread][mgk_tile<real, DEPTH>::per_thread])
{
    const int n = mgk_tile<real, DEPTH>::per_thread, pitch = mgk_vectors<real, DEPTH>::pitch;
    const int x = (int)threadIdx.x % MGK_SIDE, y = (int)threadIdx.x / MGK_SIDE;
    const double scale = problem.mixture.scale[component];
    const double excess = problem.mixture.gaussian ? scale / problem.least_scale - 1 : 0;
    const real *bias = problem.biases(sample, component, head);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            logits[i][j] = 0;
    mgk_tile_product<mgk_tile<real, DEPTH>::per_thread, mgk_tile<real, DEPTH>::per_thread, real>(
        DEPTH, queries, pitch, 1, keys, pitch, 1, logits);
    for (int i = 0; i < n; i++) {
        int row = y + MGK_SIDE * i;
        real term = excess > 0 ? (real)(-excess * offsets[row]) : 0;
        for (int j = 0; j < n; j++) {
            int key = first_key + x + MGK_SIDE * j;
            bool seen = key < valid && !(problem.view.causal && key > first_query + row);
            logits[i][j] = seen ? (real)scale * logits[i][j] + bias[key] + term : (real)-INFINITY;
        }
    }
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

/* exp(x) of a difference of logits, by one instruction of the GPU in float32; x is rounded once
 * more, as it was when the logits were. */
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

#endif
