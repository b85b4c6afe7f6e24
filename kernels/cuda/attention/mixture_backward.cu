/* SPDX-License-Identifier: MIT */
/*
 * Gradients of softmax attention over biased keys; kernels/cpu/attention/mixture_backward.c has the
 * equations. One kernel computes the gradients of keys and values, another those of queries. One
 * warp sums each number, in a fixed order.
 */
#include "kernels/cuda/attention/mixture.h"
#include "kernels/cuda/attention/prior.h"
#include "kernels/cuda/operations.h"

/*
 * The numbers of a row: the logarithm of its sum of scores (infinite without scores, so that
 * weights are 0), Σ_j A_ij G_ij = dO_i·O_i, ‖q_i‖² / 2, and A_ij if the row has no scores, else 0.
 */
enum { STATISTIC, DELTA, HALF_SQUARE, BLANK };
template <typename real> using row_numbers = mgk_neighbours<real, 4>;

/* Inputs of both kernels, besides the problem. */
template <typename real> struct gradient_inputs {
    const row_numbers<real> *rows; /* [B, H, N] */
    const real *doutput;
    size_t output_stride;
};

/* Eight lanes share a row. */
template <typename real>
__global__ void number_rows(mgk_mixture_problem<real> problem, const real *output,
                            const real *statistic, const real *doutput, size_t stride,
                            row_numbers<real> *out)
{
    const int lanes = 8;
    const mgk_attention_view &view = problem.view;
    const size_t tokens = (size_t)view.tokens, heads = (size_t)view.heads;
    const size_t count = (size_t)view.samples * heads * tokens;
    /* The rows of a warp, so that all its lanes take part in the sums. */
    size_t rows = mgk_cuda_first() / MGK_WARP * (MGK_WARP / lanes);
    for (; rows < count; rows += mgk_cuda_step() / lanes) {
        const size_t at = rows + threadIdx.x % MGK_WARP / lanes;
        const size_t i = at % tokens, h = at / tokens % heads, b = at / tokens / heads;
        const size_t row = (b * tokens + i) * stride + h * (size_t)view.dim;
        real dot = 0;
        double square = 0;
        for (int d = (int)threadIdx.x % lanes; at < count && d < view.dim; d += lanes) {
            const double q = (double)problem.query(b, h, i)[d];
            dot += output[row + (size_t)d] * doutput[row + (size_t)d];
            square += q * q;
        }
        dot = mgk_lanes_sum(dot, lanes);
        square = mgk_lanes_sum(square, lanes);
        if (at >= count || threadIdx.x % lanes != 0 || (int)i >= view.lengths[b])
            continue;
        const bool blank = statistic[at] == (real)-INFINITY;
        row_numbers<real> numbers;
        numbers.at[STATISTIC] = blank ? (real)INFINITY : statistic[at];
        numbers.at[DELTA] = dot;
        numbers.at[HALF_SQUARE] = (real)(square / 2);
        numbers.at[BLANK] = blank ? mgk_mixture_blank(problem, view.lengths[b], (int)i) : 0;
        out[at] = numbers;
    }
}

template <typename real, int DEPTH> using gradient_tiles = mgk_tiles<real, DEPTH, 2>;

/* Begins to copy ROWS queries, from a token on, their numbers beside them, and dO. */
template <int ROWS, typename real, int DEPTH>
__device__ static void
copy_queries(const mgk_mixture_problem<real> &problem, const gradient_inputs<real> &inputs,
             const mgk_mixture_place &place, int token, real *queries, real *doutput)
{
    const int threads = gradient_tiles<real, DEPTH>::threads, valid = place.valid;
    const mgk_attention_view &view = problem.view;
    mgk_copy_vectors<ROWS, DEPTH, threads>(queries,
                                           problem.query(place.sample, place.head, (size_t)token),
                                           view.query_stride, token, valid, view.dim);
    mgk_copy_beside<ROWS, DEPTH>(queries,
                                 inputs.rows + (place.sample * (size_t)view.heads + place.head) *
                                                   (size_t)view.tokens,
                                 token, valid, row_numbers<real>{{(real)INFINITY, 0, 0, 0}});
    mgk_copy_vectors<ROWS, DEPTH, threads>(
        doutput,
        inputs.doutput +
            (place.sample * (size_t)view.tokens + (size_t)token) * inputs.output_stride +
            place.head * (size_t)view.dim,
        inputs.output_stride, token, valid, view.dim);
}

/* Pairs of tiles, of queries and dO, that key_gradient has room for: one is used while another is
 * copied, if shared memory is large enough. */
template <typename real, int DEPTH> struct query_stages {
    static const int count = gradient_tiles<real, DEPTH>::words < 128 ? 2 : 1;
};

/*
 * dk_jr and dv_j; dbias [B, H, M, N] receives Σ_i dl_ijr. A block has a tile of keys, in the rows
 * of all sums, and takes one tile of queries after another, for each component.
 */
template <typename real, int DEPTH, bool TF32>
__global__ void __launch_bounds__(gradient_tiles<real, DEPTH>::threads,
                                  gradient_tiles<real, DEPTH>::resident)
    key_gradient(mgk_mixture_problem<real> problem, gradient_inputs<real> inputs, real *dkeys,
                 real *dvalues, real *dbias)
{
    typedef gradient_tiles<real, DEPTH> tiles;
    const int size = tiles::columns, blocks = tiles::blocks, pitch = tiles::pitch;
    const int threads = tiles::threads, stages = query_stages<real, DEPTH>::count;
    const mgk_attention_view &view = problem.view;
    const mgk_mixture_place place(view, tiles::rows);
    const int first = place.first, valid = place.valid;
    const size_t row = (place.sample * (size_t)view.heads + place.head) * (size_t)view.tokens;
    real *keys = (real *)mgk_cuda_shared(), *values = keys + tiles::rows * pitch;
    real *queries = values + tiles::rows * pitch, *next = queries + (stages - 1) * 2 * size * pitch;

    const auto copy_keys = [&](int r) {
        mgk_mixture_copy_keys<tiles::rows, DEPTH, threads>(problem, place, r, first, keys);
    };
    const auto copy_queries_to = [&](real *to, int query) {
        copy_queries<size, real, DEPTH>(problem, inputs, place, query, to, to + size * pitch);
    };

    real dkey[DEPTH / 8][4], dvalue[DEPTH / 8][4];
    mgk_for_sums<DEPTH / 8>([&](int c, int k) { dvalue[c][k] = 0; });
    mgk_mixture_copy_values<tiles::rows, DEPTH, threads>(problem, place, first, values);
    const int begin = view.causal ? first : 0, end = first < valid ? valid : 0;
    for (int component = 0; component < view.mixtures; component++) {
        real total[2] = {0, 0};
        mgk_for_sums<DEPTH / 8>([&](int c, int k) { dkey[c][k] = 0; });
        __syncthreads(); /* the keys of the last component have been used */
        copy_keys(component);
        if (stages > 1 && begin < end)
            copy_queries_to(queries, begin);
        for (int query = begin; query < end; query += size) {
            if (stages == 1) {
                __syncthreads();
                copy_queries_to(queries, query);
            }
            mgk_wait_copies();
            if (stages > 1 && query + size < end)
                copy_queries_to(next, query + size);

            real logits[blocks][4], g[blocks][4];
            unsigned lost = 0; /* a bit for each pair */
            /* The component itself is first; hard-E compares it with the others. */
            const int compared = problem.mixture.hard ? view.mixtures : 1;
            for (int turn = 0; turn < compared; turn++) {
                const int cyclic = component + turn;
                const int r = cyclic < view.mixtures ? cyclic : cyclic - view.mixtures;
                if (turn > 0) {
                    __syncthreads();
                    copy_keys(r);
                    mgk_wait_copies();
                }
                real rival[blocks][4], bias[2];
                for (int i = 0; i < 2; i++)
                    bias[i] = keys[mgk_own_row(i) * pitch + DEPTH];
                mgk_dots<DEPTH, TF32>(keys, queries, rival);
                mgk_mixture_add_terms<DEPTH>((real)problem.mixture.scale[r], bias, queries,
                                             HALF_SQUARE,
                                             (real)-mgk_mixture_excess(problem, (size_t)r), rival);
                if (view.causal && query < first + tiles::rows)
                    mgk_mixture_hide(first, query, -1, rival);
                mgk_for_sums<blocks>([&](int n, int k) {
                    if (turn == 0)
                        logits[n][k] = rival[n][k];
                    else if (rival[n][k] > logits[n][k] ||
                             (r < component && rival[n][k] == logits[n][k]))
                        lost |= 1u << (4 * n + k);
                });
            }
            if (compared > 1) {
                __syncthreads();
                copy_keys(component);
            }
            mgk_dots<DEPTH, TF32>(values, queries + size * pitch, g);
            mgk_for_sums<blocks>([&](int n, int k) {
                const int other = mgk_own_column(n, k % 2), key = first + mgk_own_row(k / 2);
                const real *numbers = queries + other * pitch + DEPTH;
                real weight = mgk_mixture_exp(logits[n][k] - numbers[STATISTIC]);
                if (lost >> (4 * n + k) & 1)
                    weight = 0;
                const real dlogit = weight * (g[n][k] - numbers[DELTA]);
                /* A row without scores has a gradient only for its values. */
                if (component == 0 && numbers[BLANK] > 0 && key < valid &&
                    !(view.causal && key > query + other))
                    weight = numbers[BLANK];
                total[k / 2] += dlogit;
                logits[n][k] = weight;
                g[n][k] = dlogit;
            });
            mgk_weigh<DEPTH, TF32>(logits, queries + size * pitch, dvalue);
            mgk_weigh<DEPTH, TF32>(g, queries, dkey);
            mgk_swap(queries, next);
        }

        mgk_wait_copies();
        const real scale = (real)problem.mixture.scale[component];
        for (int i = 0; i < 2; i++) {
            const int key = first + mgk_own_row(i);
            total[i] = mgk_lanes_sum(total[i], MGK_FRAGMENT_LANES);
            if (dbias && key < view.tokens && mgk_lane() % MGK_FRAGMENT_LANES == 0)
                dbias[row * (size_t)view.mixtures + (size_t)component * (size_t)view.tokens +
                      (size_t)key] = total[i];
        }
        mgk_for_columns<DEPTH>(dkey, [&](int i, int d, auto x) {
            const int local = mgk_own_row(i);
            const real square = problem.mixture.gaussian ? total[i] : 0;
            if (first + local >= view.tokens)
                return;
#pragma unroll
            for (int j = 0; j < mgk_columns<DEPTH>::group; j++)
                x.at[j] = scale * (x.at[j] - square * keys[local * pitch + d + j]);
            mgk_store_neighbours(dkeys + problem.key_at(place.sample, (size_t)component, place.head,
                                                        (size_t)(first + local)),
                                 d, view.dim, x);
        });
    }
    mgk_for_columns<DEPTH>(dvalue, [&](int i, int d, auto x) {
        const int key = first + mgk_own_row(i);
        if (key < view.tokens)
            mgk_store_neighbours(dvalues + problem.value_at(place.sample, place.head, (size_t)key),
                                 d, view.dim, x);
    });
}

/*
 * dq_i; `squared`: whether Σ_r scale_r Σ_j dl_ijr can be other than 0 in exact arithmetic. A block
 * has a tile of queries, in the rows of all sums. For one tile of tokens after another it takes the
 * values and then the keys of all components; while it computes with a tile, the next is copied.
 */
template <typename real, int DEPTH, bool TF32>
__global__ void __launch_bounds__(gradient_tiles<real, DEPTH>::threads,
                                  gradient_tiles<real, DEPTH>::resident)
    query_gradient(mgk_mixture_problem<real> problem, gradient_inputs<real> inputs, bool squared,
                   real *dqueries)
{
    typedef gradient_tiles<real, DEPTH> tiles;
    const int size = tiles::columns, blocks = tiles::blocks, pitch = tiles::pitch;
    const int threads = tiles::threads;
    const mgk_attention_view &view = problem.view;
    const mgk_mixture_place place(view, tiles::rows);
    const int first = place.first;
    real *queries = (real *)mgk_cuda_shared(), *doutput = queries + tiles::rows * pitch;
    real *vectors = doutput + tiles::rows * pitch, *next = vectors + size * pitch;

    /* Hard-E visits the components twice: to find the largest logit, and to use it. */
    const int turns = (problem.mixture.hard ? 2 : 1) * view.mixtures;
    const auto component = [&](int turn) {
        return turn <= view.mixtures ? turn - 1 : turn - 1 - view.mixtures;
    };
    /* Begins to copy the values, or the keys of a turn from 1 on. */
    const auto copy = [&](real *to, int key, int turn) {
        if (turn == 0)
            mgk_mixture_copy_values<size, DEPTH, threads>(problem, place, key, to);
        else
            mgk_mixture_copy_keys<size, DEPTH, threads>(problem, place, component(turn), key, to);
    };

    const auto beside = [&](int i) { return queries + mgk_own_row(i) * pitch + DEPTH; };
    const int end = place.end(view, tiles::rows);
    copy_queries<tiles::rows, real, DEPTH>(problem, inputs, place, first, queries, doutput);
    if (end > 0)
        copy(vectors, 0, 0);
    real dquery[DEPTH / 8][4], squares[2] = {0, 0};
    mgk_for_sums<DEPTH / 8>([&](int c, int k) { dquery[c][k] = 0; });
    for (int key = 0; key < end; key += size) {
        real g[blocks][4], best[blocks][4];
        unsigned taken = 0; /* a bit for each pair: an earlier component had the largest logit */
        mgk_wait_copies();
        copy(next, key, 1);
        mgk_dots<DEPTH, TF32>(doutput, vectors, g);
        mgk_swap(vectors, next);
        for (int turn = 1; turn <= turns; turn++) {
            const int r = component(turn);
            const bool searching = problem.mixture.hard && turn <= view.mixtures;
            const real scale = (real)problem.mixture.scale[r];
            real logits[blocks][4];
            mgk_wait_copies();
            if (turn < turns)
                copy(next, key, turn + 1);
            else if (key + size < end)
                copy(next, key + size, 0);
            mgk_mixture_logits<DEPTH, TF32>(problem, first, key, r, queries, vectors,
                                            {beside(0)[HALF_SQUARE], beside(1)[HALF_SQUARE]},
                                            logits);
            if (searching) {
                mgk_for_sums<blocks>([&](int n, int k) {
                    if (r == 0 || logits[n][k] > best[n][k])
                        best[n][k] = logits[n][k];
                });
            } else {
                mgk_for_sums<blocks>([&](int n, int k) {
                    const unsigned bit = 1u << (4 * n + k);
                    real weight = mgk_mixture_exp(logits[n][k] - beside(k / 2)[STATISTIC]);
                    if (problem.mixture.hard && (logits[n][k] < best[n][k] || (taken & bit) != 0))
                        weight = 0;
                    else
                        taken |= bit;
                    logits[n][k] = scale * weight * (g[n][k] - beside(k / 2)[DELTA]);
                    squares[k / 2] += logits[n][k];
                });
                mgk_weigh<DEPTH, TF32>(logits, vectors, dquery);
            }
            mgk_swap(vectors, next);
        }
    }

    mgk_wait_copies(); /* of a tile that is all padding */
    for (int i = 0; i < 2; i++)
        squares[i] = squared ? mgk_lanes_sum(squares[i], MGK_FRAGMENT_LANES) : 0;
    mgk_for_columns<DEPTH>(dquery, [&](int i, int d, auto x) {
        const int local = mgk_own_row(i);
        const size_t query = (size_t)(first + local);
        if (first + local >= view.tokens)
            return;
#pragma unroll
        for (int j = 0; j < mgk_columns<DEPTH>::group; j++)
            x.at[j] -= squares[i] * queries[local * pitch + d + j];
        mgk_store_neighbours(dqueries +
                                 (place.sample * (size_t)view.tokens + query) * view.query_stride +
                                 place.head * (size_t)view.dim,
                             d, view.dim, x);
    });
}

template <typename real> struct run_backward {
    mgk_device *device;
    const mgk_mixture_problem<real> *problem;
    gradient_inputs<real> inputs;
    const mgk_attention_gradient *gradient;
    real *dbias;

    bool squares_matter() const
    {
        const mgk_mixture *mixture = &problem->mixture;
        bool unequal = mixture->normalizer_epsilon > 0;
        for (int r = 1; r < problem->view.mixtures; r++)
            unequal = unequal || mixture->scale[r] != mixture->scale[0];
        return mixture->gaussian && unequal;
    }
    template <int DEPTH, bool TF32> mgk_status at() const
    {
        typedef gradient_tiles<real, DEPTH> tiles;
        const size_t blocks = mgk_mixture_places(&problem->view, tiles::rows);
        constexpr size_t shared = tiles::bytes(2 * query_stages<real, DEPTH>::count);
        static_assert(shared <= 99 * 1024 || tiles::words > 256,
                      "shared memory of every architecture");
        TRY(mgk_cuda_launch(device, key_gradient<real, DEPTH, TF32>, blocks, tiles::threads, shared,
                            *problem, inputs, (real *)gradient->key, (real *)gradient->value,
                            dbias));
        return mgk_cuda_launch(device, query_gradient<real, DEPTH, TF32>, blocks, tiles::threads,
                               tiles::bytes(2), *problem, inputs, squares_matter(),
                               (real *)gradient->query);
    }
};

template <typename real>
mgk_status mgk_cuda_mixture_attention_backward(mgk_device *device, const mgk_attention_view *view,
                                               const mgk_mixture *mixture, const void *output,
                                               const void *statistic, const void *doutput,
                                               size_t output_stride,
                                               const mgk_attention_gradient *gradient)
{
    const size_t biases = mgk_mixture_biases(view);
    const size_t rows = (size_t)view->samples * (size_t)view->heads * (size_t)view->tokens;
    row_numbers<real> *numbers; /* [B, H, N], then bias and dbias [B, H, M, N] */
    mgk_mixture_problem<real> problem;
    TRY(mgk_cuda_scratch(device, rows * sizeof(row_numbers<real>) + 2 * biases * sizeof(real),
                         &numbers));
    real *bias = (real *)(numbers + rows), *dbias = bias + biases;
    TRY(mgk_mixture_prepare(device, view, mixture, bias, &problem));
    TRY(mgk_cuda_launch(device, number_rows<real>, mgk_cuda_blocks(8 * rows), MGK_CUDA_BLOCK, 0,
                        problem, (const real *)output, (const real *)statistic,
                        (const real *)doutput, output_stride, numbers));
    run_backward<real> run = {device,
                              &problem,
                              {numbers, (const real *)doutput, output_stride},
                              gradient,
                              gradient->prior ? dbias : NULL};
    TRY(mgk_mixture_launch(problem, run));
    if (!gradient->prior)
        return STATUS_OK;
    return mgk_add_prior_gradient(device, &mixture->prior, view, true, dbias, gradient->prior);
}

MGK_CUDA_OPERATION(mgk_cuda_mixture_attention_backward);
