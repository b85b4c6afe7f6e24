/* SPDX-License-Identifier: MIT */
/* The explicit attention matrix of a mixture, and its responsibilities. */
#include "kernels/cuda/attention/mixture.h"
#include "kernels/cuda/attention/prior.h"
#include "kernels/cuda/operations.h"

/* A block computes the rows of a tile of queries, a tile of keys at a time. */
template <typename real, int DEPTH> using matrix_tiles = mgk_tiles<real, DEPTH, 1>;

/* The tile of a block in shared memory, and room for two tiles of keys. */
template <typename real, int DEPTH, bool TF32> struct tile_logits {
    typedef matrix_tiles<real, DEPTH> tiles;
    static const int blocks = tiles::blocks;
    const mgk_mixture_problem<real> &problem;
    real *queries, *keys;   /* keys: in `take`, those that are being copied */
    real *next;             /* and those that were used */
    real *beyond;           /* the shared memory after them */
    mgk_mixture_place tile; /* of queries */
    real half_square[2];    /* ‖q‖² / 2 of the thread's rows */

    __device__ tile_logits(const mgk_mixture_problem<real> &problem_) : problem(problem_)
    {
        queries = (real *)mgk_cuda_shared();
        keys = queries + tiles::rows * tiles::pitch;
        next = keys + tiles::columns * tiles::pitch;
        beyond = next + tiles::columns * tiles::pitch;
    }
    /* After a barrier behind the last use of another tile. */
    __device__ void load_queries(const mgk_mixture_place &other)
    {
        tile = other;
        mgk_copy_vectors<tiles::rows, DEPTH, tiles::threads>(
            queries, problem.query(tile.sample, tile.head, (size_t)tile.first),
            problem.view.query_stride, tile.first, tile.valid, problem.view.dim);
        mgk_wait_copies();
        for (int i = 0; i < 2; i++)
            half_square[i] = (real)mgk_half_square<DEPTH>(queries, i);
    }
    /* The offset of the thread's row i. */
    __device__ double offset(int i) const
    {
        return problem.mixture.gaussian ? problem.least_scale * (double)half_square[i] : 0;
    }
    /*
     * Calls take(key, r, logits) for the tiles of keys from `begin` on that begin before `end`, and
     * each component r. While a tile is used, the next one is copied.
     */
    template <typename Take> __device__ void for_each(int begin, int end, const Take &take)
    {
        const int mixtures = problem.view.mixtures;
        if (begin < end)
            mgk_mixture_copy_keys<tiles::columns, DEPTH, tiles::threads>(problem, tile, 0, begin,
                                                                         keys);
        for (int key = begin; key < end; key += tiles::columns)
            for (int r = 0; r < mixtures; r++) {
                const bool last = r + 1 == mixtures;
                const int after = last ? key + tiles::columns : key;
                mgk_wait_copies();
                if (after < end)
                    mgk_mixture_copy_keys<tiles::columns, DEPTH, tiles::threads>(
                        problem, tile, last ? 0 : r + 1, after, next);
                real logits[blocks][4];
                mgk_mixture_logits<DEPTH, TF32>(problem, tile.first, key, r, queries, keys,
                                                half_square, logits);
                mgk_swap(keys, next);
                take(key, r, logits);
            }
    }
};

/* Σ exp l = sum exp(largest), which does not overflow. */
template <typename real> struct exponential_sum {
    real largest = (real)-INFINITY, sum = 0;

    __device__ void add(real logit)
    {
        if (logit == (real)-INFINITY)
            return;
        const real e = mgk_mixture_exp(-fabs(logit - largest));
        sum = logit > largest ? sum * e + 1 : sum + e;
        largest = logit > largest ? logit : largest;
    }
};

/* The heads of which matrices are made: [count], in each sample. */
struct chosen_heads {
    const int32_t *numbers;
    int count;
};

/* The rows of one of the matrices [B, count] that a block computes. */
struct matrix_rows {
    size_t which;
    mgk_mixture_place tile;
    int end; /* no row sees this key or those after it */

    __device__ matrix_rows(const mgk_attention_view &view, const chosen_heads &heads, int size)
    {
        const unsigned tiles = (unsigned)((view.tokens + size - 1) / size);
        which = blockIdx.x / tiles;
        tile.sample = which / (size_t)heads.count;
        tile.head = (size_t)heads.numbers[which % (size_t)heads.count];
        tile.first = (int)(blockIdx.x % tiles) * size;
        tile.valid = view.lengths[tile.sample];
        end = tile.end(view, size);
    }
    static size_t blocks(const mgk_attention_view &view, const chosen_heads &heads, int size)
    {
        return (size_t)((view.tokens + size - 1) / size) * (size_t)view.samples *
               (size_t)heads.count;
    }
    /* The place of a query in arrays [B, count, N]. */
    __device__ size_t at(const mgk_attention_view &view, int query) const
    {
        return which * (size_t)view.tokens + (size_t)query;
    }
};

/*
 * How the scores of a row become its attention: A_ij = s_ij exp(−reference) inverse. The logarithm
 * of the sum alone would not do: it is rounded, and that would be an error of |l| 2^-24 of each
 * entry.
 */
template <typename real> struct row_scale {
    real reference; /* −inf: all scores of the row are 0 */
    real inverse;
};

/*
 * scales [B, count, N] from one pass over the logits. Each thread sums its own columns; the lanes
 * of a row meet at the end.
 */
template <typename real, int DEPTH, bool TF32>
__global__ void __launch_bounds__(matrix_tiles<real, DEPTH>::threads,
                                  matrix_tiles<real, DEPTH>::resident)
    scale_rows(mgk_mixture_problem<real> problem, chosen_heads heads, row_scale<real> *scales)
{
    typedef tile_logits<real, DEPTH, TF32> all_logits;
    const int blocks = all_logits::blocks, mixtures = problem.view.mixtures;
    const matrix_rows rows(problem.view, heads, matrix_tiles<real, DEPTH>::rows);
    exponential_sum<real> sums[2];
    real best[blocks][4]; /* hard-E: the largest logits of the components so far */
    all_logits logits_of(problem);
    logits_of.load_queries(rows.tile);
    mgk_for_sums<blocks>([&](int n, int k) { best[n][k] = (real)-INFINITY; });
    logits_of.for_each(0, rows.end, [&](int, int r, real(&logits)[blocks][4]) {
        mgk_for_sums<blocks>([&](int n, int k) {
            real logit = logits[n][k];
            if (problem.mixture.hard)
                best[n][k] = logit = mgk_larger(best[n][k], logit);
            if (problem.mixture.hard && r + 1 < mixtures)
                return;
            sums[k / 2].add(logit);
            best[n][k] = (real)-INFINITY;
        });
    });
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int query = rows.tile.first + mgk_own_row(i);
        const real largest = mgk_lanes_max(sums[i].largest, MGK_FRAGMENT_LANES);
        const real own = sums[i].sum == 0 ? 0 : sums[i].sum * exp(sums[i].largest - largest);
        const real total = mgk_lanes_sum(own, MGK_FRAGMENT_LANES);
        double divisor = (double)total;
        if (problem.mixture.normalizer_epsilon > 0)
            divisor +=
                problem.mixture.normalizer_epsilon * exp(logits_of.offset(i) - (double)largest);
        /* A row of NaN is not blank. */
        const real reference = total == 0 ? (real)-INFINITY : isnan(total) ? total : largest;
        if (query < rows.tile.valid && mgk_lane() % MGK_FRAGMENT_LANES == 0)
            scales[rows.at(problem.view, query)] = {reference, (real)(1 / divisor)};
    }
}

/* Tiles of a matrix on their way to memory; rows are aligned to 16 bytes. */
template <typename real, int DEPTH> struct entry_tiles {
    typedef matrix_tiles<real, DEPTH> tiles;
    static const int pitch = tiles::columns + 16 / (int)sizeof(real);
    static const int count = tiles::rows * pitch;
    /* Whether the room of a tile of keys that was used is enough. */
    static const bool in_keys = count <= tiles::columns * tiles::pitch;
    static const size_t bytes = in_keys ? 0 : count * sizeof(real);

    /* Writes rows and columns, at most those of a tile, to `out`, whose rows are `tokens` apart;
     * WIDTH neighbours at a time. */
    template <int WIDTH>
    __device__ static void write(const real *tile, int rows, int columns, size_t tokens, real *out)
    {
        typedef mgk_neighbours<real, WIDTH> neighbours;
        const int pieces = tiles::columns / WIDTH;
        for (int i = (int)threadIdx.x; i < tiles::rows * pieces; i += tiles::threads) {
            const int row = i / pieces, column = i % pieces * WIDTH;
            if (row < rows && column < columns)
                *(neighbours *)(out + (size_t)row * tokens + column) =
                    *(const neighbours *)(tile + row * pitch + column);
        }
    }
};

/*
 * The rows of a matrix from their scales [B, count, N]; scores have none. `wide`: rows of the
 * matrix are aligned to 16 bytes.
 */
template <typename real, int DEPTH, bool TF32>
__global__ void __launch_bounds__(matrix_tiles<real, DEPTH>::threads,
                                  matrix_tiles<real, DEPTH>::resident)
    mixture_matrix(mgk_mixture_problem<real> problem, mgk_matrix_content content,
                   const row_scale<real> *scales, chosen_heads heads, bool wide, real *matrices)
{
    typedef matrix_tiles<real, DEPTH> tiles;
    typedef entry_tiles<real, DEPTH> entries;
    typedef tile_logits<real, DEPTH, TF32> all_logits;
    const int blocks = all_logits::blocks, size = tiles::columns;
    const mgk_attention_view &view = problem.view;
    const size_t tokens = (size_t)view.tokens;
    const matrix_rows rows(view, heads, tiles::rows);
    const int first = rows.tile.first, valid = rows.tile.valid;
    real *out = matrices + (rows.which * tokens + (size_t)first) * tokens;
    all_logits logits_of(problem);
    const auto write = [&](const real *tile, int key) {
        const int height = view.tokens - first, width = view.tokens - key;
        if (wide)
            entries::template write<16 / sizeof(real)>(tile, height, width, tokens, out + key);
        else
            entries::template write<1>(tile, height, width, tokens, out + key);
    };

    logits_of.load_queries(rows.tile);
    real reference[2], inverse[2], scores[blocks][4];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int query = first + mgk_own_row(i);
        row_scale<real> scale = {(real)logits_of.offset(i), 1};
        if (content == MGK_MATRIX_ATTENTION && query < valid)
            scale = scales[rows.at(view, query)];
        reference[i] = scale.reference;
        inverse[i] = scale.inverse;
    }
    mgk_for_sums<blocks>([&](int n, int k) { scores[n][k] = 0; });
    logits_of.for_each(0, rows.end, [&](int key, int r, real(&logits)[blocks][4]) {
        mgk_for_sums<blocks>([&](int n, int k) {
            const real score = exp(logits[n][k] - reference[k / 2]);
            scores[n][k] =
                problem.mixture.hard ? mgk_larger(score, scores[n][k]) : scores[n][k] + score;
        });
        if (r + 1 < view.mixtures)
            return;
        real *tile = entries::in_keys ? logits_of.next : logits_of.beyond;
        if (entries::in_keys)
            __syncthreads();
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int row = mgk_own_row(i), query = first + row;
            const int visible = query < valid ? mgk_mixture_visible(view, valid, query) : 0;
            const bool blank = content == MGK_MATRIX_ATTENTION && reference[i] == (real)-INFINITY;
            const real uniform = blank ? mgk_mixture_blank(problem, valid, query) : 0;
#pragma unroll
            for (int n = 0; n < blocks; n++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const int column = mgk_own_column(n, e);
                    const real entry = blank ? uniform : scores[n][2 * i + e] * inverse[i];
                    tile[row * entries::pitch + column] = key + column < visible ? entry : 0;
                    scores[n][2 * i + e] = 0;
                }
        }
        __syncthreads();
        write(tile, key);
    });
    /* Keys that no row sees. */
    real *zeros = entries::in_keys ? logits_of.next : logits_of.beyond;
    __syncthreads();
    for (int i = (int)threadIdx.x; i < entries::count; i += tiles::threads)
        zeros[i] = 0;
    __syncthreads();
    for (int key = (rows.end + size - 1) / size * size; key < view.tokens; key += size)
        write(zeros, key);
}

template <typename real> struct run_scales {
    mgk_device *device;
    const mgk_mixture_problem<real> &problem;
    chosen_heads heads;
    row_scale<real> *scales;

    template <int DEPTH, bool TF32> mgk_status at() const
    {
        typedef matrix_tiles<real, DEPTH> tiles;
        return mgk_cuda_launch(device, scale_rows<real, DEPTH, TF32>,
                               matrix_rows::blocks(problem.view, heads, tiles::rows),
                               tiles::threads, tiles::bytes(2), problem, heads, scales);
    }
};

template <typename real> struct run_matrix {
    mgk_device *device;
    const mgk_mixture_problem<real> &problem;
    mgk_matrix_content content;
    const row_scale<real> *scales;
    chosen_heads heads;
    real *matrix;

    template <int DEPTH, bool TF32> mgk_status at() const
    {
        typedef matrix_tiles<real, DEPTH> tiles;
        const bool wide =
            (size_t)problem.view.tokens * sizeof(real) % 16 == 0 && (uintptr_t)matrix % 16 == 0;
        return mgk_cuda_launch(device, mixture_matrix<real, DEPTH, TF32>,
                               matrix_rows::blocks(problem.view, heads, tiles::rows),
                               tiles::threads, tiles::bytes(2) + entry_tiles<real, DEPTH>::bytes,
                               problem, content, scales, heads, wide, matrix);
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
        TRY(mgk_mixture_launch(problem, run_scales<real>{device, problem, heads, scales}));
    return mgk_mixture_launch(
        problem, run_matrix<real>{device, problem, content, scales, heads, (real *)matrix});
}

/* Where a block gathers the sums of its threads: of each column, those of two rows at a time. */
template <typename real, int DEPTH> struct responsibility_sums {
    static const int parts = matrix_tiles<real, DEPTH>::rows / 2;
    double sum[matrix_tiles<real, DEPTH>::columns][parts],
        seen[matrix_tiles<real, DEPTH>::columns][parts];
};

/*
 * A block sums the responsibilities of component r for one tile of keys, over all queries and
 * samples: sums [H, M + 1, N]; the last row counts the queries, once. Pairs whose scores are all 0
 * do not count.
 */
template <typename real, int DEPTH, bool TF32>
__global__ void __launch_bounds__(matrix_tiles<real, DEPTH>::threads,
                                  matrix_tiles<real, DEPTH>::resident)
    sum_responsibilities(mgk_mixture_problem<real> problem, double *sums)
{
    typedef matrix_tiles<real, DEPTH> tiles;
    typedef tile_logits<real, DEPTH, TF32> all_logits;
    typedef responsibility_sums<real, DEPTH> gathered;
    const int blocks = all_logits::blocks, size = tiles::columns;
    const mgk_attention_view &view = problem.view;
    const int tokens = view.tokens, mixtures = view.mixtures;
    const unsigned key_tiles = (unsigned)((tokens + size - 1) / size);
    const int first = (int)(blockIdx.x % key_tiles) * size;
    const int component = (int)(blockIdx.x / key_tiles) % mixtures;
    const size_t head = blockIdx.x / key_tiles / (unsigned)mixtures;
    double own[blocks][2];
    int seen[blocks][2];
    all_logits logits_of(problem);
    mgk_for_sums<blocks>([&](int n, int k) { own[n][k % 2] = seen[n][k % 2] = 0; });

    for (size_t b = 0; b < (size_t)view.samples; b++) {
        const int valid = view.lengths[b];
        const int begin = view.causal ? first / tiles::rows * tiles::rows : 0;
        for (int query = begin; query < valid && first < valid; query += tiles::rows) {
            exponential_sum<real> scores[blocks][4];
            real part[blocks][4];
            mgk_for_sums<blocks>([&](int n, int k) { part[n][k] = 0; });
            __syncthreads();
            logits_of.load_queries(mgk_mixture_place(b, head, query, valid));
            logits_of.for_each(first, first + 1, [&](int, int r, real(&logits)[blocks][4]) {
                mgk_for_sums<blocks>([&](int n, int k) {
                    scores[n][k].add(logits[n][k]);
                    if (r == component)
                        part[n][k] = logits[n][k];
                });
            });
            mgk_for_sums<blocks>([&](int n, int k) {
                if (query + mgk_own_row(k / 2) < valid && scores[n][k].sum > 0) {
                    own[n][k % 2] += (double)(mgk_mixture_exp(part[n][k] - scores[n][k].largest) /
                                              scores[n][k].sum);
                    seen[n][k % 2]++;
                }
            });
        }
    }

    gathered &all = *(gathered *)mgk_cuda_shared();
    const int place = (int)threadIdx.x / MGK_FRAGMENT_LANES;
    __syncthreads();
    mgk_for_sums<blocks>([&](int n, int k) {
        all.sum[mgk_own_column(n, k % 2)][place] = own[n][k % 2];
        all.seen[mgk_own_column(n, k % 2)][place] = seen[n][k % 2];
    });
    __syncthreads();
    const int column = (int)threadIdx.x, key = first + column;
    if (column < size && key < tokens) {
        double sum = 0, count = 0;
        for (int i = 0; i < gathered::parts; i++) {
            sum += all.sum[column][i];
            count += all.seen[column][i];
        }
        double *out = sums + head * (size_t)(mixtures + 1) * (size_t)tokens + (size_t)key;
        out[(size_t)component * (size_t)tokens] = sum;
        if (component == 0)
            out[(size_t)mixtures * (size_t)tokens] = count;
    }
}

template <typename real> struct run_responsibilities {
    mgk_device *device;
    const mgk_mixture_problem<real> &problem;
    double *sums;

    template <int DEPTH, bool TF32> mgk_status at() const
    {
        typedef matrix_tiles<real, DEPTH> tiles;
        const mgk_attention_view &view = problem.view;
        const size_t key_tiles = ((size_t)view.tokens + tiles::columns - 1) / tiles::columns;
        const size_t gathered = sizeof(responsibility_sums<real, DEPTH>);
        const size_t vectors = tiles::bytes(2);
        return mgk_cuda_launch(device, sum_responsibilities<real, DEPTH, TF32>,
                               key_tiles * (size_t)view.mixtures * (size_t)view.heads,
                               tiles::threads, gathered > vectors ? gathered : vectors, problem,
                               sums);
    }
};

template <typename real>
mgk_status mgk_cuda_responsibilities(mgk_device *device, const mgk_attention_view *view,
                                     const mgk_mixture *mixture, double *sums)
{
    const size_t rows = (size_t)view->heads * ((size_t)view->mixtures + 1);
    double *parts; /* [H, M + 1, N], then the biases */
    mgk_mixture_problem<real> problem;
    const size_t count = rows * (size_t)view->tokens;
    TRY(mgk_cuda_scratch(device, count * sizeof(double) + mgk_mixture_biases(view) * sizeof(real),
                         &parts));
    TRY(mgk_mixture_prepare(device, view, mixture, (real *)(parts + count), &problem));
    TRY(mgk_mixture_launch(problem, run_responsibilities<real>{device, problem, parts}));
    return mgk_gather_responsibilities(device, &mixture->prior, view, parts, sums);
}

MGK_CUDA_OPERATION(mgk_cuda_mixture_matrix);
MGK_CUDA_OPERATION(mgk_cuda_responsibilities);
