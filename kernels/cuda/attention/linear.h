/* SPDX-License-Identifier: MIT */
/*
 * Shared by the kernels of linear attention. They compute the features of all tokens first; then a
 * block processes one head, a chunk of tokens at a time, with a state that replaces the keys seen
 * so far. kernels/cpu/attention/linear.h explains the state and rows whose scores vanish.
 */
#ifndef MGK_KERNELS_CUDA_LINEAR_H
#define MGK_KERNELS_CUDA_LINEAR_H

#include "kernels/cuda/sums.h"
#include "kernels/feature.h"

enum { MGK_LINEAR_CHUNK = 32 };

/* One attention problem, passed to kernels by value; the arrays are scratch memory. */
template <typename real> struct mgk_linear_problem {
    mgk_attention_view view;
    mgk_linear linear;
    mgk_feature_scale<real> *key_scale;   /* [B, H] */
    mgk_feature_scale<real> *query_scale; /* [B, H, N] */
    real *query;                          /* [B, H, N, D] φ(q_i) */
    real *feature;                        /* [B, H, N, D] f_j */
    real *inverse;                        /* [B, H, N] 1 / Z_i; 0 where the row has vanished */
    real *state;                          /* [B, H, D + 1, D] */

    __device__ size_t key_at(size_t b, size_t r, size_t h, size_t j) const
    {
        return (b * (size_t)view.tokens + j) * view.key_stride +
               (r * (size_t)view.heads + h) * (size_t)view.dim;
    }
    __device__ size_t token_at(size_t b, size_t h, size_t j, size_t stride) const
    {
        return (b * (size_t)view.tokens + j) * stride + h * (size_t)view.dim;
    }
    /* π of component r for key j, clamped to [0, 1]. */
    __device__ real prior(size_t h, size_t r, size_t j) const
    {
        if (!linear.prior.values)
            return 1;
        return mgk_feature_prior(
            ((const real *)linear.prior
                 .values)[h * linear.prior.head_stride + r * linear.prior.component_stride +
                          j * linear.prior.key_stride]);
    }
    /* Element d of component r of key j; with mix_keys, of Σ_r π_jr k_jr for any r. */
    __device__ real key(size_t b, size_t r, size_t h, size_t j, size_t d) const
    {
        const real *keys = (const real *)view.key + d;
        if (!linear.mix_keys)
            return keys[key_at(b, r, h, j)];
        real sum = 0;
        for (size_t k = 0; k < (size_t)view.mixtures; k++)
            sum += prior(h, k, j) * keys[key_at(b, k, h, j)];
        return sum;
    }
    /* Vectors per key that features are computed from. */
    __device__ size_t components() const
    {
        return linear.mix_keys ? 1 : (size_t)view.mixtures;
    }
    __device__ int visible(int i, int valid) const
    {
        return view.causal ? i + 1 : valid;
    }
    /* 1 / Z of a row from the sum of its scaled scores; 0 if the scores have vanished. */
    __device__ real inverse_of(mgk_feature_scale<real> of_query, mgk_feature_scale<real> of_key,
                               real sum) const
    {
        return mgk_feature_normalizer(&linear, of_query, of_key, sum);
    }
    __device__ bool uniform(real row_inverse) const
    {
        return row_inverse == 0 && !(linear.normalizer_epsilon > 0);
    }
};

/* One head of one sample, processed by one block. */
template <typename real> struct mgk_linear_head {
    const mgk_linear_problem<real> &problem;
    size_t sample, head, row; /* row: index of token 0 in [B, H, N] arrays */
    int valid, dim;
    const real *query, *feature;
    const mgk_feature_scale<real> *query_scale;
    mgk_feature_scale<real> key_scale;
    real *inverse, *state;

    __device__ mgk_linear_head(const mgk_linear_problem<real> &p, size_t index) : problem(p)
    {
        const size_t tokens = (size_t)p.view.tokens, width = (size_t)p.view.dim;
        sample = index / (size_t)p.view.heads;
        head = index % (size_t)p.view.heads;
        row = index * tokens;
        valid = p.view.lengths[sample];
        dim = p.view.dim;
        query = p.query + row * width;
        feature = p.feature + row * width;
        query_scale = p.query_scale + row;
        key_scale = p.key_scale[index];
        inverse = p.inverse + row;
        state = p.state + index * (width + 1) * width;
    }
    /* v'_j = [v_j, 1]. */
    __device__ real value(int j, int d) const
    {
        return d == dim ? 1
                        : ((const real *)
                               problem.view.value)[problem.token_at(sample, head, (size_t)j,
                                                                    problem.view.value_stride) +
                                                   (size_t)d];
    }
};

/* Σ a[k] b[k]. */
template <typename real> __device__ real mgk_dot(int count, const real *a, const real *b)
{
    real sum = 0;
    for (int k = 0; k < count; k++)
        sum += a[k] * b[k];
    return sum;
}

/*
 * Bytes of scratch memory of a problem, and its preparation in that memory: computes everything
 * except the state and the inverses.
 */
template <typename real> size_t mgk_linear_bytes(const mgk_attention_view *view);
template <typename real>
mgk_status mgk_linear_prepare(mgk_device *device, const mgk_attention_view *view,
                              const mgk_linear *linear, void *memory,
                              mgk_linear_problem<real> *out);

#endif
