/* SPDX-License-Identifier: MIT */
/*
 * Gradients of softmax attention over biased keys; kernels/cpu/attention/mixture_backward.c has the
 * equations. One kernel computes the gradients of keys and values, a component at a time; another
 * those of queries. One thread sums each number, in a fixed order.
 */
#include "kernels/cuda/attention/mixture.h"
#include "kernels/cuda/attention/prior.h"
#include "kernels/cuda/operations.h"

/* Inputs of both kernels, besides the problem. */
template <typename real> struct gradient_inputs {
    const real *statistic; /* [B, H, N] */
    const real *delta;     /* [B, H, N] Σ_j A_ij G_ij = dO_i·O_i */
    const real *doutput;
    size_t output_stride;
};

template <typename real>
__global__ void output_dots(mgk_attention_view view, const real *output, const real *doutput,
                            size_t stride, real *delta)
{
    const size_t tokens = (size_t)view.tokens, heads = (size_t)view.heads;
    const size_t count = (size_t)view.samples * heads * tokens;
    for (size_t at = mgk_cuda_first(); at < count; at += mgk_cuda_step()) {
        size_t i = at % tokens, h = at / tokens % heads, b = at / tokens / heads;
        size_t row = (b * tokens + i) * stride + h * (size_t)view.dim;
        real dot = 0;
        for (int d = 0; d < view.dim; d++)
            dot += output[row + (size_t)d] * doutput[row + (size_t)d];
        delta[at] = dot;
    }
}

/* The shared memory of a block: tiles of vectors, pairs and the queries' offsets. */
template <typename real, int DEPTH> struct gradient_memory {
    double *offsets;                         /* [T] */
    real *queries, *doutput, *keys, *values; /* tiles of vectors */
    real *pairs;                             /* [T, T + 1] */

    __device__ gradient_memory()
    {
        const int size = mgk_tile<real, DEPTH>::size, vectors = mgk_vectors<real, DEPTH>::count;
        offsets = (double *)mgk_cuda_shared();
        queries = (real *)(offsets + size);
        doutput = queries + vectors;
        keys = doutput + vectors;
        values = keys + vectors;
        pairs = values + vectors;
    }
    static size_t bytes()
    {
        const size_t size = mgk_tile<real, DEPTH>::size;
        return size * sizeof(double) +
               (4 * mgk_vectors<real, DEPTH>::count + size * (size + 1)) * sizeof(real);
    }
};

template <typename real, int DEPTH>
__device__ static void load_queries(const mgk_mixture_problem<real> &problem,
                                    const gradient_inputs<real> &inputs, size_t sample, size_t head,
                                    int first, int valid,
                                    const gradient_memory<real, DEPTH> &memory)
{
    const mgk_attention_view &view = problem.view;
    const real *doutput = inputs.doutput +
                          (sample * (size_t)view.tokens + (size_t)first) * inputs.output_stride +
                          head * (size_t)view.dim;
    mgk_load_vectors<real, DEPTH>(memory.queries, problem.query(sample, head, (size_t)first),
                                  view.query_stride, first, valid, view.dim);
    mgk_load_vectors<real, DEPTH>(memory.doutput, doutput, inputs.output_stride, first, valid,
                                  view.dim);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < mgk_tile<real, DEPTH>::size; i += MGK_SIDE * MGK_SIDE)
        memory.offsets[i] = mgk_mixture_offset<real, DEPTH>(problem, memory.queries, i);
}

/* A_ijr and dl_ijr of one pair, from its logit. */
template <typename real> struct pair_gradient {
    real weight, dlogit;
};

/*
 * `wins`: whether the component's logit counts; always true except in hard-E. A row without scores
 * has a gradient only for its values; component 0 adds it.
 */
template <typename real>
__device__ static pair_gradient<real>
gradient_of_pair(const mgk_mixture_problem<real> &problem, const gradient_inputs<real> &inputs,
                 size_t row, size_t component, int query, int key, int valid, real logit, real g,
                 bool wins)
{
    pair_gradient<real> pair = {0, 0};
    if (query >= valid)
        return pair;
    const real statistic = inputs.statistic[row + (size_t)query];
    if (statistic == (real)-INFINITY) {
        if (component == 0 && key < mgk_mixture_visible(problem.view, valid, query))
            pair.weight = mgk_mixture_blank(problem, valid, query);
        return pair;
    }
    pair.weight = wins ? exp(logit - statistic) : 0;
    pair.dlogit = pair.weight * (g - inputs.delta[row + (size_t)query]);
    return pair;
}

/* dk_jr and dv_j of one component r; dbias [B, H, M, N] receives Σ_i dl_ijr. */
template <typename real, int DEPTH>
__global__ void key_gradient(mgk_mixture_problem<real> problem, gradient_inputs<real> inputs,
                             size_t component, real *dkeys, real *dvalues, real *dbias)
{
    const int n = mgk_tile<real, DEPTH>::per_thread, size = mgk_tile<real, DEPTH>::size;
    const int columns = DEPTH / MGK_SIDE, pitch = mgk_vectors<real, DEPTH>::pitch;
    const mgk_attention_view &view = problem.view;
    const mgk_mixture_place<real, DEPTH> place(view);
    const int x = (int)threadIdx.x % MGK_SIDE, y = (int)threadIdx.x / MGK_SIDE;
    const int first = place.first, valid = place.valid;
    const size_t row = (place.sample * (size_t)view.heads + place.head) * (size_t)view.tokens;
    const gradient_memory<real, DEPTH> memory;
    real dkey[n][columns], dvalue[n][columns], column = 0;
    for (int i = 0; i < n; i++)
        for (int c = 0; c < columns; c++)
            dkey[i][c] = dvalue[i][c] = 0;

    mgk_load_vectors<real, DEPTH>(memory.values,
                                  problem.value(place.sample, place.head, (size_t)first),
                                  view.value_stride, first, valid, view.dim);
    for (int query = view.causal ? first : 0; query < valid && first < valid; query += size) {
        real logits[n][n], g[n][n];
        bool wins[n][n];
        __syncthreads();
        load_queries<real, DEPTH>(problem, inputs, place.sample, place.head, query, valid, memory);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                wins[i][j] = true;
                g[i][j] = 0;
            }
        /* The component itself is first; hard-E compares it with the others. */
        const int compared = problem.mixture.hard ? view.mixtures : 1;
        for (int turn = 0; turn < compared; turn++) {
            const size_t r = (component + (size_t)turn) % (size_t)view.mixtures;
            real rival[n][n];
            __syncthreads();
            mgk_load_vectors<real, DEPTH>(memory.keys,
                                          problem.key(place.sample, r, place.head, (size_t)first),
                                          view.key_stride, first, valid, view.dim);
            __syncthreads();
            mgk_mixture_logits<real, DEPTH>(problem, place.sample, place.head, r, query, first,
                                            valid, memory.queries, memory.keys, memory.offsets,
                                            rival);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    if (turn == 0)
                        logits[i][j] = rival[i][j];
                    else if (rival[i][j] > logits[i][j] ||
                             (r < component && rival[i][j] == logits[i][j]))
                        wins[i][j] = false;
                }
        }
        mgk_tile_product(DEPTH, memory.doutput, pitch, 1, memory.values, pitch, 1, g);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                pair_gradient<real> pair = gradient_of_pair(
                    problem, inputs, row, component, query + y + MGK_SIDE * i,
                    first + x + MGK_SIDE * j, valid, logits[i][j], g[i][j], wins[i][j]);
                memory.pairs[(y + MGK_SIDE * i) * (size + 1) + x + MGK_SIDE * j] = pair.weight;
                logits[i][j] = pair.dlogit;
            }
        __syncthreads();
        mgk_tile_product(size, memory.pairs, 1, size + 1, memory.doutput, 1, pitch, dvalue);
        __syncthreads();
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                memory.pairs[(y + MGK_SIDE * i) * (size + 1) + x + MGK_SIDE * j] = logits[i][j];
        __syncthreads();
        mgk_tile_product(size, memory.pairs, 1, size + 1, memory.queries, 1, pitch, dkey);
        for (int i = 0; (int)threadIdx.x < size && i < size; i++)
            column += memory.pairs[i * (size + 1) + (int)threadIdx.x];
    }

    /*
     * Shares the column sums, by key, with all threads, and loads the component's own keys again.
     */
    __syncthreads();
    if ((int)threadIdx.x < size)
        memory.pairs[threadIdx.x] = column;
    mgk_load_vectors<real, DEPTH>(memory.keys,
                                  problem.key(place.sample, component, place.head, (size_t)first),
                                  view.key_stride, first, valid, view.dim);
    __syncthreads();
    const real scale = (real)problem.mixture.scale[component];
    for (int i = 0; i < n; i++) {
        const int local = y + MGK_SIDE * i, key = first + local;
        if (key >= view.tokens)
            continue;
        const real square = problem.mixture.gaussian ? memory.pairs[local] : 0;
        real *dk = dkeys + problem.key_at(place.sample, component, place.head, (size_t)key);
        real *dv = dvalues + problem.value_at(place.sample, place.head, (size_t)key);
        for (int c = 0; c < columns; c++) {
            const int d = x + MGK_SIDE * c;
            if (d >= view.dim)
                continue;
            dk[d] = scale * (dkey[i][c] - square * memory.keys[local * pitch + d]);
            dv[d] = component == 0 ? dvalue[i][c] : dv[d] + dvalue[i][c];
        }
        if (dbias && x == 0)
            dbias[(row * (size_t)view.mixtures) + component * (size_t)view.tokens + (size_t)key] =
                memory.pairs[local];
    }
}

/* dq_i; `squared`: whether Σ_r scale_r Σ_j dl_ijr can be other than 0 in exact arithmetic. */
template <typename real, int DEPTH>
__global__ void query_gradient(mgk_mixture_problem<real> problem, gradient_inputs<real> inputs,
                               bool squared, real *dqueries)
{
    const int n = mgk_tile<real, DEPTH>::per_thread, size = mgk_tile<real, DEPTH>::size;
    const int columns = DEPTH / MGK_SIDE, pitch = mgk_vectors<real, DEPTH>::pitch;
    const mgk_attention_view &view = problem.view;
    const mgk_mixture_place<real, DEPTH> place(view);
    const int x = (int)threadIdx.x % MGK_SIDE, y = (int)threadIdx.x / MGK_SIDE;
    const int first = place.first, valid = place.valid;
    const size_t row = (place.sample * (size_t)view.heads + place.head) * (size_t)view.tokens;
    const gradient_memory<real, DEPTH> memory;
    real dquery[n][columns], squares[n];
    for (int i = 0; i < n; i++) {
        squares[i] = 0;
        for (int c = 0; c < columns; c++)
            dquery[i][c] = 0;
    }

    load_queries<real, DEPTH>(problem, inputs, place.sample, place.head, first, valid, memory);
    const int end = view.causal && first + size < valid ? first + size : valid;
    for (int key = 0; key < end && first < valid; key += size) {
        real g[n][n], best[n][n];
        int winner[n][n];
        __syncthreads();
        mgk_load_vectors<real, DEPTH>(memory.values,
                                      problem.value(place.sample, place.head, (size_t)key),
                                      view.value_stride, key, valid, view.dim);
        __syncthreads();
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                g[i][j] = 0;
        mgk_tile_product(DEPTH, memory.doutput, pitch, 1, memory.values, pitch, 1, g);
        /* Hard-E visits the components twice: to find the winner, and to use it. */
        const int turns = (problem.mixture.hard ? 2 : 1) * view.mixtures;
        for (int turn = 0; turn < turns; turn++) {
            const int r = turn % view.mixtures;
            const bool searching = problem.mixture.hard && turn < view.mixtures;
            const real scale = (real)problem.mixture.scale[r];
            real logits[n][n];
            __syncthreads();
            mgk_load_vectors<real, DEPTH>(
                memory.keys, problem.key(place.sample, (size_t)r, place.head, (size_t)key),
                view.key_stride, key, valid, view.dim);
            __syncthreads();
            mgk_mixture_logits<real, DEPTH>(problem, place.sample, place.head, (size_t)r, first,
                                            key, valid, memory.queries, memory.keys, memory.offsets,
                                            logits);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    if (searching && (r == 0 || logits[i][j] > best[i][j])) {
                        best[i][j] = logits[i][j];
                        winner[i][j] = r;
                    }
                    if (searching)
                        continue;
                    pair_gradient<real> pair =
                        gradient_of_pair(problem, inputs, row, (size_t)r, first + y + MGK_SIDE * i,
                                         key + x + MGK_SIDE * j, valid, logits[i][j], g[i][j],
                                         !problem.mixture.hard || winner[i][j] == r);
                    squares[i] += scale * pair.dlogit;
                    memory.pairs[(y + MGK_SIDE * i) * (size + 1) + x + MGK_SIDE * j] =
                        scale * pair.dlogit;
                }
            if (searching)
                continue;
            __syncthreads();
            mgk_tile_product(size, memory.pairs, size + 1, 1, memory.keys, 1, pitch, dquery);
        }
    }
    for (int i = 0; i < n; i++) {
        const int local = y + MGK_SIDE * i, query = first + local;
        const real square = squared ? mgk_lanes_sum(squares[i], MGK_SIDE) : 0;
        for (int c = 0; query < view.tokens && c < columns; c++) {
            const int d = x + MGK_SIDE * c;
            if (d < view.dim)
                dqueries[(place.sample * (size_t)view.tokens + (size_t)query) * view.query_stride +
                         place.head * (size_t)view.dim + (size_t)d] =
                    dquery[i][c] - square * memory.queries[local * pitch + d];
        }
    }
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
    template <int DEPTH> mgk_status at() const
    {
        const mgk_attention_view *view = &problem->view;
        const size_t shared = gradient_memory<real, DEPTH>::bytes();
        const size_t blocks =
            mgk_mixture_tiles<real, DEPTH>(view) * (size_t)view->samples * (size_t)view->heads;
        for (size_t r = 0; r < (size_t)view->mixtures; r++)
            TRY(mgk_cuda_launch(device, key_gradient<real, DEPTH>, blocks, MGK_SIDE * MGK_SIDE,
                                shared, *problem, inputs, r, (real *)gradient->key,
                                (real *)gradient->value, dbias));
        return mgk_cuda_launch(device, query_gradient<real, DEPTH>, blocks, MGK_SIDE * MGK_SIDE,
                               shared, *problem, inputs, squares_matter(), (real *)gradient->query);
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
    real *bias; /* [B, H, M, N], then dbias, then delta [B, H, N] */
    mgk_mixture_problem<real> problem;
    TRY(mgk_cuda_scratch(device, (2 * biases + rows) * sizeof(real), &bias));
    real *dbias = bias + biases, *delta = dbias + biases;
    TRY(mgk_mixture_prepare(device, view, mixture, bias, &problem));
    TRY(mgk_cuda_launch(device, output_dots<real>, mgk_cuda_blocks(rows), MGK_CUDA_BLOCK, 0, *view,
                        (const real *)output, (const real *)doutput, output_stride, delta));
    run_backward<real> run = {
        device,
        &problem,
        {(const real *)statistic, delta, (const real *)doutput, output_stride},
        gradient,
        gradient->prior ? dbias : NULL};
    TRY(mgk_with_depth(view->dim, run));
    if (!gradient->prior)
        return STATUS_OK;
    return mgk_add_prior_gradient(device, &mixture->prior, view, true, dbias, gradient->prior);
}

MGK_CUDA_OPERATION(mgk_cuda_mixture_attention_backward);
