/* SPDX-License-Identifier: MIT */
/* The explicit attention matrix of a mixture, and its responsibilities. */
#include "kernels/cuda/attention/mixture.h"
#include "kernels/cuda/attention/prior.h"
#include "kernels/cuda/operations.h"

/* Threads of a block; two blocks share a multiprocessor. */
enum { THREADS = MGK_SIDE * MGK_SIDE, TOGETHER = 2 };

/* The shared memory of a block. */
template <typename real, int DEPTH> struct matrix_memory {
    static const int pitch = mgk_tile<real, DEPTH>::size + MGK_SIDE;
    double *offsets;      /* [T] */
    real *queries, *keys; /* tiles of vectors */
    real *entries;        /* [T, pitch], a tile of the matrix, aligned to 16 bytes */

    __device__ matrix_memory()
    {
        offsets = (double *)mgk_cuda_shared();
        queries = (real *)(offsets + mgk_tile<real, DEPTH>::size);
        keys = queries + mgk_vectors<real, DEPTH>::count;
        entries = keys + mgk_vectors<real, DEPTH>::count;
    }
    static size_t bytes_of_vectors()
    {
        return mgk_tile<real, DEPTH>::size * sizeof(double) +
               2 * mgk_vectors<real, DEPTH>::count * sizeof(real);
    }
    static size_t bytes()
    {
        return bytes_of_vectors() + mgk_tile<real, DEPTH>::size * pitch * sizeof(real);
    }
};

/* The heads of which matrices are made: [count], in each sample. */
struct chosen_heads {
    const int32_t *numbers;
    int count;
};

/* The T rows of one of the matrices [B, count] that a block computes. */
template <typename real, int DEPTH> struct matrix_rows {
    size_t which, sample, head;
    int first, valid; /* the first query; tokens of the sample */
    int end;          /* no row sees this key or those after it */

    __device__ matrix_rows(const mgk_attention_view &view, const chosen_heads &heads)
    {
        const int size = mgk_tile<real, DEPTH>::size;
        const unsigned tiles = (unsigned)((view.tokens + size - 1) / size);
        which = blockIdx.x / tiles;
        sample = which / (size_t)heads.count;
        head = (size_t)heads.numbers[which % (size_t)heads.count];
        first = (int)(blockIdx.x % tiles) * size;
        valid = view.lengths[sample];
        end = first >= valid ? 0 : view.causal && first + size < valid ? first + size : valid;
    }
};

/* Σ exp l, without overflow: sum exp(largest). */
template <typename real> struct exponential_sum {
    real largest = (real)-INFINITY, sum = 0;

    __device__ void add(real logit)
    {
        if (logit == (real)-INFINITY)
            return;
        const real e = exp(-fabs(logit - largest));
        sum = logit > largest ? sum * e + 1 : sum + e;
        largest = logit > largest ? logit : largest;
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
    for (int i = (int)threadIdx.x; i < mgk_tile<real, DEPTH>::size; i += THREADS)
        memory.offsets[i] = mgk_mixture_offset<real, DEPTH>(problem, memory.queries, i);
    __syncthreads();
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

/*
 * What makes attention of the scores of a row: A_ij = s_ij exp(−reference) inverse. Not one number,
 * their logarithm, as mixture_attention leaves it: its rounding would be an error of |l| 2^-24 of
 * each entry, and rows would not sum to 1.
 */
template <typename real> struct row_scale {
    real reference, inverse; /* −inf: all scores of the row are 0 */
};

/*
 * scales [B, count, N] from one pass over the logits. Each thread sums its own columns; the 16
 * threads of a row meet at the end.
 */
template <typename real, int DEPTH>
__global__ void __launch_bounds__(THREADS, TOGETHER)
    scale_rows(mgk_mixture_problem<real> problem, chosen_heads heads, row_scale<real> *scales)
{
    const int n = mgk_tile<real, DEPTH>::per_thread, size = mgk_tile<real, DEPTH>::size;
    const mgk_attention_view &view = problem.view;
    const int x = (int)threadIdx.x % MGK_SIDE, y = (int)threadIdx.x / MGK_SIDE;
    const matrix_rows<real, DEPTH> rows(view, heads);
    const matrix_memory<real, DEPTH> memory;
    exponential_sum<real> sums[n];

    load_queries<real, DEPTH>(problem, rows.sample, rows.head, rows.first, rows.valid, memory);
    for (int key = 0; key < rows.end; key += size) {
        real best[n][n];
        for (int r = 0; r < view.mixtures; r++) {
            real logits[n][n];
            key_logits<real, DEPTH>(problem, rows.sample, rows.head, (size_t)r, rows.first, key,
                                    rows.valid, memory, logits);
#pragma unroll /* otherwise the sums are not in registers */
            for (int i = 0; i < n; i++)
#pragma unroll
                for (int j = 0; j < n; j++) {
                    const bool several = problem.mixture.hard && r > 0;
                    best[i][j] = several ? mgk_larger(best[i][j], logits[i][j]) : logits[i][j];
                    if (!problem.mixture.hard || r + 1 == view.mixtures)
                        sums[i].add(best[i][j]);
                }
        }
    }
    for (int i = 0; i < n; i++) {
        const int row = y + MGK_SIDE * i, query = rows.first + row;
        const real largest = mgk_lanes_max(sums[i].largest, MGK_SIDE);
        const real own = sums[i].sum == 0 ? 0 : sums[i].sum * exp(sums[i].largest - largest);
        const real total = mgk_lanes_sum(own, MGK_SIDE);
        double divisor = (double)total;
        if (problem.mixture.normalizer_epsilon > 0)
            divisor +=
                problem.mixture.normalizer_epsilon * exp(memory.offsets[row] - (double)largest);
        /* A row of NaN is not blank. */
        const real reference = total == 0 ? (real)-INFINITY : isnan(total) ? total : largest;
        if (x == 0 && query < rows.valid)
            scales[rows.which * (size_t)view.tokens + (size_t)query] = {reference,
                                                                        (real)(1 / divisor)};
    }
}

/* s_ij exp(−reference_i) of the thread's pairs, over all components. */
template <typename real, int DEPTH, int N>
__device__ static void scores_of_tile(const mgk_mixture_problem<real> &problem,
                                      const matrix_rows<real, DEPTH> &rows, int key,
                                      const matrix_memory<real, DEPTH> &memory,
                                      const real (&reference)[N], real (&scores)[N][N])
{
    for (int r = 0; r < problem.view.mixtures; r++) {
        real logits[N][N];
        key_logits<real, DEPTH>(problem, rows.sample, rows.head, (size_t)r, rows.first, key,
                                rows.valid, memory, logits);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                real score = exp(logits[i][j] - reference[i]);
                scores[i][j] =
                    problem.mixture.hard ? mgk_larger(score, scores[i][j]) : scores[i][j] + score;
            }
    }
}

/* WIDTH entries of a row, which one thread writes at a time. */
template <typename real, int WIDTH> struct alignas(WIDTH * sizeof(real)) neighbours {
    real entries[WIDTH];
};

/* Writes the first rows and columns of a tile to `out`, whose rows are `tokens` apart. */
template <typename real, int DEPTH, int WIDTH>
__device__ static void write_tile(const real *tile, int rows, int columns, size_t tokens, real *out)
{
    typedef neighbours<real, WIDTH> piece;
    const int size = mgk_tile<real, DEPTH>::size, pieces = size / WIDTH;
    for (int i = (int)threadIdx.x; i < size * pieces; i += THREADS) {
        const int row = i / pieces, column = i % pieces * WIDTH;
        if (row < rows && column < columns)
            *(piece *)(out + (size_t)row * tokens + column) =
                *(const piece *)(tile + row * matrix_memory<real, DEPTH>::pitch + column);
    }
}

/*
 * A block computes T rows of one matrix from their scales [B, count, N], a tile at a time. Scores
 * have none. `wide`: rows of the matrix are aligned to 16 bytes.
 */
template <typename real, int DEPTH>
__global__ void __launch_bounds__(THREADS, TOGETHER)
    mixture_matrix(mgk_mixture_problem<real> problem, mgk_matrix_content content,
                   const row_scale<real> *scales, chosen_heads heads, bool wide, real *matrices)
{
    const int n = mgk_tile<real, DEPTH>::per_thread, size = mgk_tile<real, DEPTH>::size;
    const mgk_attention_view &view = problem.view;
    const int x = (int)threadIdx.x % MGK_SIDE, y = (int)threadIdx.x / MGK_SIDE;
    const size_t tokens = (size_t)view.tokens;
    const matrix_rows<real, DEPTH> rows(view, heads);
    const matrix_memory<real, DEPTH> memory;
    real *out = matrices + (rows.which * tokens + (size_t)rows.first) * tokens;
    real reference[n], inverse[n];

    load_queries<real, DEPTH>(problem, rows.sample, rows.head, rows.first, rows.valid, memory);
    for (int i = 0; i < n; i++) {
        const int row = y + MGK_SIDE * i, query = rows.first + row;
        row_scale<real> scale = {(real)memory.offsets[row], 1};
        if (content == MGK_MATRIX_ATTENTION && query < rows.valid)
            scale = scales[rows.which * tokens + (size_t)query];
        reference[i] = scale.reference;
        inverse[i] = scale.inverse;
    }
    for (int key = 0; key < view.tokens; key += size) {
        real scores[n][n];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                scores[i][j] = 0;
        if (key < rows.end)
            scores_of_tile<real, DEPTH>(problem, rows, key, memory, reference, scores);
        for (int i = 0; i < n; i++) {
            const int row = y + MGK_SIDE * i, query = rows.first + row;
            const int visible =
                query < rows.valid ? mgk_mixture_visible(view, rows.valid, query) : 0;
            const bool blank = content == MGK_MATRIX_ATTENTION && reference[i] == (real)-INFINITY;
            for (int j = 0; j < n; j++) {
                const int column = x + MGK_SIDE * j;
                memory.entries[row * memory.pitch + column] =
                    key + column >= visible ? 0
                    : blank                 ? mgk_mixture_blank(problem, rows.valid, query)
                                            : scores[i][j] * inverse[i];
            }
        }
        __syncthreads();
        const int height = view.tokens - rows.first, width = view.tokens - key;
        if (wide)
            write_tile<real, DEPTH, 16 / sizeof(real)>(memory.entries, height, width, tokens,
                                                       out + key);
        else
            write_tile<real, DEPTH, 1>(memory.entries, height, width, tokens, out + key);
        __syncthreads();
    }
}

template <typename real> struct run_scales {
    mgk_device *device;
    const mgk_mixture_problem<real> *problem;
    chosen_heads heads;
    row_scale<real> *scales;

    template <int DEPTH> mgk_status at() const
    {
        const mgk_attention_view *view = &problem->view;
        return mgk_cuda_launch(
            device, scale_rows<real, DEPTH>,
            mgk_mixture_tiles<real, DEPTH>(view) * (size_t)view->samples * (size_t)heads.count,
            THREADS, matrix_memory<real, DEPTH>::bytes_of_vectors(), *problem, heads, scales);
    }
};

template <typename real> struct run_matrix {
    mgk_device *device;
    const mgk_mixture_problem<real> *problem;
    mgk_matrix_content content;
    const row_scale<real> *scales;
    chosen_heads heads;
    real *matrix;

    template <int DEPTH> mgk_status at() const
    {
        const mgk_attention_view *view = &problem->view;
        const bool wide =
            (size_t)view->tokens * sizeof(real) % 16 == 0 && (uintptr_t)matrix % 16 == 0;
        return mgk_cuda_launch(device, mixture_matrix<real, DEPTH>,
                               mgk_mixture_tiles<real, DEPTH>(view) * (size_t)view->samples *
                                   (size_t)heads.count,
                               THREADS, matrix_memory<real, DEPTH>::bytes(), *problem, content,
                               scales, heads, wide, matrix);
    }
};

template <typename real>
mgk_status mgk_cuda_mixture_matrix(mgk_device *device, const mgk_attention_view *whole,
                                   const mgk_mixture *mixture, mgk_matrix_content content,
                                   int first, int samples, const int32_t *numbers, int count,
                                   void *matrix)
{
    const mgk_attention_view view = mgk_view_samples(device, whole, first, samples);
    const chosen_heads heads = {numbers, count};
    const size_t rows = (size_t)samples * (size_t)count * (size_t)view.tokens;
    row_scale<real> *scales; /* then the biases */
    mgk_mixture_problem<real> problem;
    TRY(mgk_cuda_scratch(device, rows * sizeof(*scales) + mgk_mixture_biases(&view) * sizeof(real),
                         &scales));
    TRY(mgk_mixture_prepare(device, &view, mixture, (real *)(scales + rows), &problem));
    if (content == MGK_MATRIX_ATTENTION)
        TRY(mgk_with_depth(view.dim, run_scales<real>{device, &problem, heads, scales}));
    return mgk_with_depth(
        view.dim, run_matrix<real>{device, &problem, content, scales, heads, (real *)matrix});
}

/*
 * A block sums the responsibilities of component r for one tile of keys, over all queries and
 * samples: sums [H, M + 1, N]; the last row counts the queries, once. Pairs whose scores are all 0
 * do not count.
 */
template <typename real, int DEPTH>
__global__ void __launch_bounds__(THREADS, TOGETHER)
    sum_responsibilities(mgk_mixture_problem<real> problem, double *sums)
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
            exponential_sum<real> scores[n][n];
            real part[n][n];
            __syncthreads();
            load_queries<real, DEPTH>(problem, b, head, query, valid, memory);
            for (size_t r = 0; r < mixtures; r++) {
                real logits[n][n];
                key_logits<real, DEPTH>(problem, b, head, r, query, first, valid, memory, logits);
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < n; j++) {
                        scores[i][j].add(logits[i][j]);
                        if (r == component)
                            part[i][j] = logits[i][j];
                    }
            }
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    if (query + y + MGK_SIDE * i < valid && scores[i][j].sum > 0) {
                        own[j] +=
                            (double)(exp(part[i][j] - scores[i][j].largest) / scores[i][j].sum);
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
        const size_t tiles = matrix_memory<real, DEPTH>::bytes_of_vectors();
        return mgk_cuda_launch(device, sum_responsibilities<real, DEPTH>,
                               mgk_mixture_tiles<real, DEPTH>(view) * (size_t)view->mixtures *
                                   (size_t)view->heads,
                               THREADS, columns > tiles ? columns : tiles, *problem, sums);
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
