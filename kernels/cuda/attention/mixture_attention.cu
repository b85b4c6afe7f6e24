/* SPDX-License-Identifier: MIT */
/* The output of softmax attention over biased keys, tiled, with online normalisation. */
#include "kernels/cuda/attention/mixture.h"
#include "kernels/cuda/operations.h"

/* A row of online normalisation: the largest logit so far, and Σ exp(l − maximum). */
template <typename real> struct running {
    real maximum, sum;
};

/*
 * Adds a tile's logits: p += exp(l − maximum). Scales the row's earlier sum to the new maximum and
 * returns the factor. The 16 threads of a row share the maximum; each sums its own columns.
 */
template <typename real, int N>
__device__ static real add_logits(running<real> &row, const real (&logits)[N], real (&p)[N])
{
    real largest = logits[0];
    for (int j = 1; j < N; j++)
        largest = mgk_larger(logits[j], largest);
    largest = mgk_larger(row.maximum, mgk_lanes_max(largest, MGK_SIDE));
    if (largest == (real)-INFINITY)
        return 1;
    real factor = exp(row.maximum - largest);
    row.maximum = largest;
    row.sum *= factor;
    for (int j = 0; j < N; j++) {
        real e = exp(logits[j] - largest);
        p[j] = p[j] * factor + e;
        row.sum += e;
    }
    return factor;
}

template <typename real, int DEPTH>
__global__ void mixture_attention(mgk_mixture_problem<real> problem, real *output,
                                  size_t output_stride, real *statistic)
{
    const int n = mgk_tile<real, DEPTH>::per_thread, size = mgk_tile<real, DEPTH>::size;
    const int columns = DEPTH / MGK_SIDE, pitch = mgk_vectors<real, DEPTH>::pitch;
    const mgk_attention_view &view = problem.view;
    const mgk_mixture_place<real, DEPTH> place(view);
    const int x = (int)threadIdx.x % MGK_SIDE, y = (int)threadIdx.x / MGK_SIDE;
    const int first = place.first, valid = place.valid;
    double *offsets = (double *)mgk_cuda_shared();
    real *queries = (real *)(offsets + size);
    real *vectors = queries + mgk_vectors<real, DEPTH>::count; /* keys, then values */
    real *weights = vectors + mgk_vectors<real, DEPTH>::count; /* [T, T + 1] */

    mgk_load_vectors<real, DEPTH>(queries, problem.query(place.sample, place.head, (size_t)first),
                                  view.query_stride, first, valid, view.dim);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < size; i += MGK_SIDE * MGK_SIDE)
        offsets[i] = mgk_mixture_offset<real, DEPTH>(problem, queries, i);
    __syncthreads(); /* a tile that is all padding has no other */

    running<real> rows[n];
    real sum[n][columns];
    for (int i = 0; i < n; i++) {
        rows[i] = running<real>{(real)-INFINITY, 0};
        for (int c = 0; c < columns; c++)
            sum[i][c] = 0;
    }
    const int end = view.causal && first + size < valid ? first + size : valid;
    for (int key = 0; key < end && first < valid; key += size) {
        real p[n][n], best[n][n];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                p[i][j] = 0;
        for (int r = 0; r < view.mixtures; r++) {
            real logits[n][n];
            __syncthreads();
            mgk_load_vectors<real, DEPTH>(
                vectors, problem.key(place.sample, (size_t)r, place.head, (size_t)key),
                view.key_stride, key, valid, view.dim);
            __syncthreads();
            mgk_mixture_logits<real, DEPTH>(problem, place.sample, place.head, (size_t)r, first,
                                            key, valid, queries, vectors, offsets, logits);
            if (problem.mixture.hard) {
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < n; j++) {
                        best[i][j] = r > 0 ? mgk_larger(best[i][j], logits[i][j]) : logits[i][j];
                        logits[i][j] = best[i][j];
                    }
                if (r + 1 < view.mixtures)
                    continue;
            }
            for (int i = 0; i < n; i++) {
                real factor = add_logits(rows[i], logits[i], p[i]);
                for (int c = 0; c < columns; c++)
                    sum[i][c] *= factor;
            }
        }
        __syncthreads();
        mgk_load_vectors<real, DEPTH>(vectors, problem.value(place.sample, place.head, (size_t)key),
                                      view.value_stride, key, valid, view.dim);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                weights[(y + MGK_SIDE * i) * (size + 1) + x + MGK_SIDE * j] = p[i][j];
        __syncthreads();
        mgk_tile_product(size, weights, size + 1, 1, vectors, 1, pitch, sum);
    }

    for (int i = 0; i < n; i++) {
        const int row = y + MGK_SIDE * i, query = first + row;
        real total = mgk_lanes_sum(rows[i].sum, MGK_SIDE);
        if (query >= view.tokens)
            continue;
        real *out = output + (place.sample * (size_t)view.tokens + (size_t)query) * output_stride +
                    place.head * (size_t)view.dim;
        const bool blank = query < valid && rows[i].maximum == (real)-INFINITY;
        double divisor = (double)total;
        if (problem.mixture.normalizer_epsilon > 0)
            divisor +=
                problem.mixture.normalizer_epsilon * exp(offsets[row] - (double)rows[i].maximum);
        for (int c = 0; c < columns; c++) {
            const int d = x + MGK_SIDE * c;
            real mean = 0;
            if (d >= view.dim)
                continue;
            for (int j = 0; blank && j < mgk_mixture_visible(view, valid, query); j++)
                mean += mgk_mixture_blank(problem, valid, query) *
                        problem.value(place.sample, place.head, (size_t)j)[d];
            out[d] = query >= valid ? 0 : blank ? mean : (real)((double)sum[i][c] / divisor);
        }
        if (x == 0 && query < valid)
            statistic[(place.sample * (size_t)view.heads + place.head) * (size_t)view.tokens +
                      (size_t)query] =
                blank ? (real)-INFINITY : (real)((double)rows[i].maximum + log(divisor));
    }
}

template <typename real> struct run_attention {
    mgk_device *device;
    const mgk_mixture_problem<real> *problem;
    real *output;
    size_t output_stride;
    real *statistic;

    template <int DEPTH> mgk_status at() const
    {
        const mgk_attention_view *view = &problem->view;
        const size_t size = mgk_tile<real, DEPTH>::size;
        size_t shared = size * sizeof(double) +
                        (2 * mgk_vectors<real, DEPTH>::count + size * (size + 1)) * sizeof(real);
        return mgk_cuda_launch(
            device, mixture_attention<real, DEPTH>,
            mgk_mixture_tiles<real, DEPTH>(view) * (size_t)view->samples * (size_t)view->heads,
            MGK_SIDE * MGK_SIDE, shared, *problem, output, output_stride, statistic);
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
    return mgk_with_depth(view->dim, run_attention<real>{device, &problem, (real *)output,
                                                         output_stride, (real *)statistic});
}

MGK_CUDA_OPERATION(mgk_cuda_mixture_attention);
