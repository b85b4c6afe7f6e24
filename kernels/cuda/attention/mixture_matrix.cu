/* SPDX-License-Identifier: MIT */
/* The explicit attention matrix of a mixture, and its responsibilities. */
#include "kernels/cuda/attention/mixture.h"
#include "kernels/cuda/attention/prior.h"
#include "kernels/cuda/operations.h"

/* The shared memory of a block. */
template <typename real, int DEPTH> struct matrix_memory {
    double *offsets;      /* [T] */
    real *queries, *keys; /* tiles of vectors */

    __device__ matrix_memory()
    {
        offsets = (double *)mgk_cuda_shared();
        queries = (real *)(offsets + mgk_tile<real, DEPTH>::size);
        keys = queries + mgk_vectors<real, DEPTH>::count;
    }
    static size_t bytes()
    {
        return mgk_tile<real, DEPTH>::size * sizeof(double) +
               2 * mgk_vectors<real, DEPTH>::count * sizeof(real);
    }
};

template <typename real, int DEPTH>
__device__ static void load_queries(const mgk_mixture_problem<real> &problem, size_t sample,
                                    size_t head, int first, int valid,
                                    const matrix_memory<real, DEPTH> &memory)
{
    mgk_load_vectors<real, DEPTH>(memory.queries, problem.query(sample, head, (size_t)first),
                                  problem.view.query_stride, first, valid, problem.view.dim);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < mgk_tile<real, DEPTH>::size; i += MGK_SIDE * MGK_SIDE)
        memory.offsets[i] = mgk_mixture_offset<real, DEPTH>(problem, memory.queries, i);
}

/* Loads a component's keys and computes the thread's logits. */
template <typename real, int DEPTH, int N>
__device__ static void key_logits(const mgk_mixture_problem<real> &problem, size_t sample,
                                  size_t head, size_t component, int query, int key, int valid,
                                  const matrix_memory<real, DEPTH> &memory, real (&logits)[N][N])
{
    __syncthreads();
    mgk_load_vectors<real, DEPTH>(memory.keys, problem.key(sample, component, head, (size_t)key),
                                  problem.view.key_stride, key, valid, problem.view.dim);
    __syncthreads();
    mgk_mixture_logits<real, DEPTH>(problem, sample, head, component, query, key, valid,
                                    memory.queries, memory.keys, memory.offsets, logits);
}

/* s_ij exp(−reference_i) of the thread's pairs, over all components. */
template <typename real, int DEPTH, int N>
__device__ static void scores_of_tile(const mgk_mixture_problem<real> &problem, size_t sample,
                                      size_t head, int query, int key, int valid,
                                      const matrix_memory<real, DEPTH> &memory,
                                      const real (&reference)[N], real (&scores)[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            scores[i][j] = 0;
    for (int r = 0; r < problem.view.mixtures; r++) {
        real logits[N][N];
        key_logits<real, DEPTH>(problem, sample, head, (size_t)r, query, key, valid, memory,
                                logits);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                real score = exp(logits[i][j] - reference[i]);
                scores[i][j] =
                    problem.mixture.hard ? mgk_larger(score, scores[i][j]) : scores[i][j] + score;
            }
    }
}

/* The largest logit of the thread's rows over all keys and components. */
template <typename real, int DEPTH, int N>
__device__ static void row_maxima(const mgk_mixture_problem<real> &problem, size_t sample,
                                  size_t head, int query, int end, int valid,
                                  const matrix_memory<real, DEPTH> &memory, real (&maximum)[N])
{
    for (int i = 0; i < N; i++)
        maximum[i] = (real)-INFINITY;
    for (int key = 0; key < end; key += mgk_tile<real, DEPTH>::size)
        for (int r = 0; r < problem.view.mixtures; r++) {
            real logits[N][N];
            key_logits<real, DEPTH>(problem, sample, head, (size_t)r, query, key, valid, memory,
                                    logits);
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++)
                    maximum[i] = mgk_larger(logits[i][j], maximum[i]);
        }
    for (int i = 0; i < N; i++)
        maximum[i] = mgk_lanes_max(maximum[i], MGK_SIDE);
}

/*
 * A block computes T rows of one matrix: the rows' maxima, their scores, and, for attention, the
 * scores divided by their sum. Reading the matrix once more is cheaper than computing its tiles a
 * second time.
 */
template <typename real, int DEPTH>
__global__ void mixture_matrix(mgk_mixture_problem<real> problem, mgk_matrix_content content,
                               size_t sample, const int32_t *heads, real *matrices)
{
    const int n = mgk_tile<real, DEPTH>::per_thread, size = mgk_tile<real, DEPTH>::size;
    const mgk_attention_view &view = problem.view;
    const int x = (int)threadIdx.x % MGK_SIDE, y = (int)threadIdx.x / MGK_SIDE;
    const int tiles = (view.tokens + size - 1) / size, valid = view.lengths[sample];
    const int first = (int)(blockIdx.x % (unsigned)tiles) * size;
    const size_t which = blockIdx.x / (unsigned)tiles, tokens = (size_t)view.tokens;
    const size_t head = (size_t)heads[which];
    const int end = first >= valid ? 0 : view.causal && first + size < valid ? first + size : valid;
    const matrix_memory<real, DEPTH> memory;
    real reference[n], scores[n][n];
    double inverse[n];

    load_queries<real, DEPTH>(problem, sample, head, first, valid, memory);
    __syncthreads();
    for (int i = 0; i < n; i++) {
        reference[i] = (real)memory.offsets[y + MGK_SIDE * i];
        inverse[i] = 1;
    }
    if (content == MGK_MATRIX_ATTENTION) {
        real sum[n];
        row_maxima<real, DEPTH>(problem, sample, head, first, end, valid, memory, reference);
        for (int i = 0; i < n; i++)
            sum[i] = 0;
        for (int key = 0; key < end; key += size) {
            scores_of_tile<real, DEPTH>(problem, sample, head, first, key, valid, memory, reference,
                                        scores);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    sum[i] += scores[i][j];
        }
        for (int i = 0; i < n; i++) {
            double divisor = (double)mgk_lanes_sum(sum[i], MGK_SIDE);
            if (problem.mixture.normalizer_epsilon > 0)
                divisor += problem.mixture.normalizer_epsilon *
                           exp(memory.offsets[y + MGK_SIDE * i] - (double)reference[i]);
            inverse[i] = 1 / divisor;
        }
    }
    for (int key = 0; key < view.tokens; key += size) {
        if (key < end)
            scores_of_tile<real, DEPTH>(problem, sample, head, first, key, valid, memory, reference,
                                        scores);
        for (int i = 0; i < n; i++) {
            const int query = first + y + MGK_SIDE * i;
            for (int j = 0; query < view.tokens && j < n; j++) {
                const int column = key + x + MGK_SIDE * j;
                if (column >= view.tokens)
                    continue;
                const bool seen = query < valid && column < mgk_mixture_visible(view, valid, query);
                const bool blank =
                    content == MGK_MATRIX_ATTENTION && reference[i] == (real)-INFINITY;
                matrices[(which * tokens + (size_t)query) * tokens + (size_t)column] =
                    !seen   ? 0
                    : blank ? mgk_mixture_blank(problem, valid, query)
                            : (real)((double)scores[i][j] * inverse[i]);
            }
        }
    }
}

template <typename real> struct run_matrix {
    mgk_device *device;
    const mgk_mixture_problem<real> *problem;
    mgk_matrix_content content;
    size_t sample;
    const int32_t *heads;
    size_t count;
    real *matrix;

    template <int DEPTH> mgk_status at() const
    {
        return mgk_cuda_launch(device, mixture_matrix<real, DEPTH>,
                               mgk_mixture_tiles<real, DEPTH>(&problem->view) * count,
                               MGK_SIDE * MGK_SIDE, matrix_memory<real, DEPTH>::bytes(), *problem,
                               content, sample, heads, matrix);
    }
};

template <typename real>
mgk_status mgk_cuda_mixture_matrix(mgk_device *device, const mgk_attention_view *view,
                                   const mgk_mixture *mixture, mgk_matrix_content content,
                                   int sample, const int32_t *heads, int count, void *matrix)
{
    real *memory;
    mgk_mixture_problem<real> problem;
    TRY(mgk_cuda_scratch(device, mgk_mixture_biases(view) * sizeof(real), &memory));
    TRY(mgk_mixture_prepare(device, view, mixture, memory, &problem));
    return mgk_with_depth(view->dim, run_matrix<real>{device, &problem, content, (size_t)sample,
                                                      heads, (size_t)count, (real *)matrix});
}

/*
 * A block sums the responsibilities of component r for one tile of keys, over all queries and
 * samples: sums [H, M + 1, N]; the last row counts the queries, once.
 */
template <typename real, int DEPTH>
__global__ void sum_responsibilities(mgk_mixture_problem<real> problem, double *sums)
{
    const int n = mgk_tile<real, DEPTH>::per_thread, size = mgk_tile<real, DEPTH>::size;
    const mgk_attention_view &view = problem.view;
    const size_t tokens = (size_t)view.tokens, mixtures = (size_t)view.mixtures;
    const int x = (int)threadIdx.x % MGK_SIDE, y = (int)threadIdx.x / MGK_SIDE;
    const unsigned tiles = (unsigned)((view.tokens + size - 1) / size);
    const int first = (int)(blockIdx.x % tiles) * size;
    const size_t component = blockIdx.x / tiles % mixtures, head = blockIdx.x / tiles / mixtures;
    const matrix_memory<real, DEPTH> memory;
    double own[n], seen[n];
    for (int j = 0; j < n; j++)
        own[j] = seen[j] = 0;

    for (size_t b = 0; b < (size_t)view.samples; b++) {
        const int valid = view.lengths[b];
        for (int query = view.causal ? first : 0; query < valid && first < valid; query += size) {
            real largest[n][n], part[n][n], total[n][n];
            __syncthreads();
            load_queries<real, DEPTH>(problem, b, head, query, valid, memory);
            for (int turn = 0; turn < 2 * view.mixtures; turn++) {
                const size_t r = (size_t)turn % mixtures;
                real logits[n][n];
                key_logits<real, DEPTH>(problem, b, head, r, query, first, valid, memory, logits);
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < n; j++) {
                        if (turn < view.mixtures) {
                            if (turn == 0 || logits[i][j] > largest[i][j])
                                largest[i][j] = logits[i][j];
                            total[i][j] = 0;
                            continue;
                        }
                        /* Pairs whose scores are all 0 do not count. */
                        const bool some = largest[i][j] > (real)-INFINITY;
                        real e = some ? exp(logits[i][j] - largest[i][j]) : 0;
                        total[i][j] += e;
                        if (r == component)
                            part[i][j] = e;
                    }
            }
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    if (query + y + MGK_SIDE * i < valid && total[i][j] > 0) {
                        own[j] += (double)(part[i][j] / total[i][j]);
                        seen[j] += 1;
                    }
        }
    }

    double *columns = (double *)mgk_cuda_shared(); /* [T, 16, 2] */
    __syncthreads();
    for (int j = 0; j < n; j++) {
        double *column = columns + ((x + MGK_SIDE * j) * MGK_SIDE + y) * 2;
        column[0] = own[j];
        column[1] = seen[j];
    }
    __syncthreads();
    const int key = first + (int)threadIdx.x;
    if ((int)threadIdx.x < size && key < view.tokens) {
        double sum = 0, count = 0;
        for (int part = 0; part < MGK_SIDE; part++) {
            sum += columns[(threadIdx.x * MGK_SIDE + (unsigned)part) * 2];
            count += columns[(threadIdx.x * MGK_SIDE + (unsigned)part) * 2 + 1];
        }
        double *out = sums + head * (mixtures + 1) * tokens + (size_t)key;
        out[component * tokens] = sum;
        if (component == 0)
            out[mixtures * tokens] = count;
    }
}

template <typename real> struct run_responsibilities {
    mgk_device *device;
    const mgk_mixture_problem<real> *problem;
    double *sums;

    template <int DEPTH> mgk_status at() const
    {
        const mgk_attention_view *view = &problem->view;
        const size_t columns = (size_t)mgk_tile<real, DEPTH>::size * MGK_SIDE * 2 * sizeof(double);
        const size_t tiles = matrix_memory<real, DEPTH>::bytes();
        return mgk_cuda_launch(
            device, sum_responsibilities<real, DEPTH>,
            mgk_mixture_tiles<real, DEPTH>(view) * (size_t)view->mixtures * (size_t)view->heads,
            MGK_SIDE * MGK_SIDE, columns > tiles ? columns : tiles, *problem, sums);
    }
};

template <typename real>
mgk_status mgk_cuda_responsibilities(mgk_device *device, const mgk_attention_view *view,
                                     const mgk_mixture *mixture, void *prior)
{
    const size_t rows = (size_t)view->heads * ((size_t)view->mixtures + 1);
    double *sums; /* [H, M + 1, N], then the biases */
    mgk_mixture_problem<real> problem;
    const size_t count = rows * (size_t)view->tokens;
    TRY(mgk_cuda_scratch(device, count * sizeof(double) + mgk_mixture_biases(view) * sizeof(real),
                         &sums));
    TRY(mgk_mixture_prepare(device, view, mixture, (real *)(sums + count), &problem));
    TRY(mgk_with_depth(view->dim, run_responsibilities<real>{device, &problem, sums}));
    return mgk_mean_responsibilities<real>(device, &mixture->prior, view, sums, prior);
}

MGK_CUDA_OPERATION(mgk_cuda_mixture_matrix);
MGK_CUDA_OPERATION(mgk_cuda_responsibilities);
