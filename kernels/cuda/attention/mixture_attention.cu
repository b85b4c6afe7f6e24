/* SPDX-License-Identifier: MIT */
/* The output of softmax attention over biased keys, tiled, with online normalisation. */
#include "kernels/cuda/attention/mixture.h"
#include "kernels/cuda/operations.h"

/*
 * The thread's two rows of online normalisation: the largest logit so far, Σ exp(l − maximum) of
 * the thread's columns, and the factor from the maximum of the last output to the present one.
 */
template <typename real> struct running {
    real maximum[2], sum[2], factor[2];
};

/*
 * Adds a tile's logits: p += exp(l − maximum). The lanes of a row share the maximum, which ignores
 * NaN; the sum does not.
 */
template <typename real, int BLOCKS>
__device__ static void add_logits(running<real> &rows, const real (&logits)[BLOCKS][4],
                                  real (&p)[BLOCKS][4])
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        real largest = rows.maximum[i];
#pragma unroll
        for (int n = 0; n < BLOCKS; n++)
            largest = fmax(largest, fmax(logits[n][2 * i], logits[n][2 * i + 1]));
        largest = mgk_lanes_max(largest, MGK_FRAGMENT_LANES);
        const real reference = largest == (real)-INFINITY ? 0 : largest;
        const real factor = mgk_mixture_exp(rows.maximum[i] - reference);
        rows.maximum[i] = largest;
        rows.factor[i] *= factor;
        rows.sum[i] *= factor;
#pragma unroll
        for (int n = 0; n < BLOCKS; n++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const real score = mgk_mixture_exp(logits[n][2 * i + e] - reference);
                p[n][2 * i + e] = p[n][2 * i + e] * factor + score;
                rows.sum[i] += score;
            }
    }
}

/* The output of a row whose scores are all 0, written by the lanes of the row. */
template <typename real>
__device__ static void blank_output(const mgk_mixture_problem<real> &problem,
                                    const mgk_mixture_place &place, int query, real *out)
{
    const int visible = mgk_mixture_visible(problem.view, place.valid, query);
    const real weight = mgk_mixture_blank(problem, place.valid, query);
    for (int d = mgk_lane() % MGK_FRAGMENT_LANES; d < problem.view.dim; d += MGK_FRAGMENT_LANES) {
        real mean = 0;
        for (int j = 0; j < visible; j++)
            mean += weight * problem.value(place.sample, place.head, (size_t)j)[d];
        out[d] = mean;
    }
}

/* A block computes the output of a tile of queries. */
template <typename real, int DEPTH> using attention_tiles = mgk_tiles<real, DEPTH, 1>;

/*
 * For one tile of tokens after another, a block takes the keys of each component and then the
 * values. While it computes with a tile, the next one is copied.
 */
template <typename real, int DEPTH, bool TF32>
__global__ void __launch_bounds__(attention_tiles<real, DEPTH>::threads,
                                  attention_tiles<real, DEPTH>::resident)
    mixture_attention(mgk_mixture_problem<real> problem, real *output, size_t output_stride,
                      real *statistic)
{
    typedef attention_tiles<real, DEPTH> tiles;
    const int size = tiles::columns, blocks = tiles::blocks, threads = tiles::threads;
    const mgk_attention_view &view = problem.view;
    const mgk_mixture_place place(view, tiles::rows);
    const int first = place.first, valid = place.valid;
    real *queries = (real *)mgk_cuda_shared();
    real *buffers = queries + tiles::rows * tiles::pitch;

    const int end = place.end(view, tiles::rows);
    /* The place of ‖q_i‖² / 2. */
    const auto beside = [&](int i) { return queries + mgk_own_row(i) * tiles::pitch + DEPTH; };

    /* Begins to copy the keys of component r, or the values if r is M. */
    const auto copy = [&](real *to, int key, int r) {
        if (r < view.mixtures)
            mgk_mixture_copy_keys<size, DEPTH, threads>(problem, place, r, key, to);
        else
            mgk_mixture_copy_values<size, DEPTH, threads>(problem, place, key, to);
    };

    mgk_copy_vectors<tiles::rows, DEPTH, threads>(
        queries, problem.query(place.sample, place.head, (size_t)first), view.query_stride, first,
        valid, view.dim);
    mgk_wait_copies();
    running<real> rows;
    real p[blocks][4], sum[DEPTH / 8][4];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        rows.maximum[i] = (real)-INFINITY;
        rows.sum[i] = 0;
        rows.factor[i] = 1;
        const double half_square = mgk_half_square<DEPTH>(queries, i);
        if (mgk_lane() % MGK_FRAGMENT_LANES == 0)
            *beside(i) = (real)half_square;
    }
    mgk_for_sums<DEPTH / 8>([&](int c, int k) { sum[c][k] = 0; });

    real *vectors = buffers, *next = buffers + size * tiles::pitch;
    if (end > 0)
        copy(vectors, 0, 0);
    for (int key = 0; key < end; key += size) {
        for (int r = 0; r < view.mixtures; r++) {
            mgk_wait_copies();
            copy(next, key, r + 1);
            real logits[blocks][4];
            mgk_mixture_logits<DEPTH, TF32>(problem, first, key, r, queries, vectors,
                                            {*beside(0), *beside(1)}, logits);
            mgk_swap(vectors, next);
            const bool last = r + 1 == view.mixtures;
            if (problem.mixture.hard) { /* until the last component, p has the largest logits */
                if (r > 0)
                    mgk_for_sums<blocks>(
                        [&](int n, int k) { logits[n][k] = mgk_larger(p[n][k], logits[n][k]); });
                mgk_for_sums<blocks>([&](int n, int k) { p[n][k] = last ? 0 : logits[n][k]; });
            } else if (r == 0) {
                mgk_for_sums<blocks>([&](int n, int k) { p[n][k] = 0; });
            }
            if (last || !problem.mixture.hard)
                add_logits(rows, logits, p);
        }
        mgk_wait_copies();
        if (key + size < end)
            copy(next, key + size, 0);
        mgk_for_sums<DEPTH / 8>([&](int c, int k) { sum[c][k] *= rows.factor[k / 2]; });
        mgk_weigh<DEPTH, TF32>(p, vectors, sum);
        mgk_swap(vectors, next);
        rows.factor[0] = rows.factor[1] = 1;
    }

    real inverse[2];
    real *out[2]; /* NULL: not written by mgk_for_columns */
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int query = first + mgk_own_row(i);
        double divisor = (double)mgk_lanes_sum(rows.sum[i], MGK_FRAGMENT_LANES);
        const bool blank = query < valid && rows.maximum[i] == (real)-INFINITY && divisor == 0;
        out[i] = NULL;
        if (query >= view.tokens)
            continue;
        out[i] = output + (place.sample * (size_t)view.tokens + (size_t)query) * output_stride +
                 place.head * (size_t)view.dim;
        if (problem.mixture.normalizer_epsilon > 0 && query < valid) {
            const double offset =
                problem.mixture.gaussian ? problem.least_scale * (double)*beside(i) : 0;
            divisor += problem.mixture.normalizer_epsilon * exp(offset - (double)rows.maximum[i]);
        }
        inverse[i] = (real)(1 / divisor);
        if (query < valid && mgk_lane() % MGK_FRAGMENT_LANES == 0)
            statistic[(place.sample * (size_t)view.heads + place.head) * (size_t)view.tokens +
                      (size_t)query] =
                blank ? (real)-INFINITY : (real)((double)rows.maximum[i] + log(divisor));
        if (blank) {
            blank_output(problem, place, query, out[i]);
            out[i] = NULL;
        }
    }
    mgk_for_columns<DEPTH>(sum, [&](int i, int d, auto x) {
        if (!out[i])
            return;
#pragma unroll
        for (int j = 0; j < mgk_columns<DEPTH>::group; j++)
            x.at[j] = first + mgk_own_row(i) < valid ? x.at[j] * inverse[i] : 0;
        mgk_store_neighbours(out[i], d, view.dim, x);
    });
}

template <typename real> struct run_attention {
    mgk_device *device;
    const mgk_mixture_problem<real> *problem;
    real *output;
    size_t output_stride;
    real *statistic;

    template <int DEPTH, bool TF32> mgk_status at() const
    {
        typedef attention_tiles<real, DEPTH> tiles;
        static_assert(tiles::bytes(2) <= 99 * 1024 || tiles::words > 256,
                      "shared memory of every architecture");
        return mgk_cuda_launch(device, mixture_attention<real, DEPTH, TF32>,
                               mgk_mixture_places(&problem->view, tiles::rows), tiles::threads,
                               tiles::bytes(2), *problem, output, output_stride, statistic);
    }
};

template <typename real>
mgk_status mgk_cuda_mixture_attention(mgk_device *device, const mgk_attention_view *view,
                                      const mgk_mixture *mixture, void *output,
                                      size_t output_stride, void *statistic)
{
    real *memory;
    mgk_mixture_problem<real> problem;
    TRY(mgk_cuda_scratch(device, mgk_mixture_biases(view) * sizeof(real), &memory));
    TRY(mgk_mixture_prepare(device, view, mixture, memory, &problem));
    return mgk_mixture_launch(problem, run_attention<real>{device, &problem, (real *)output,
                                                           output_stride, (real *)statistic});
}

MGK_CUDA_OPERATION(mgk_cuda_mixture_attention);
