/* SPDX-License-Identifier: MIT */
/*
 * The steps shared by the output of linear attention, its gradient, the explicit matrix and the
 * responsibilities: feature maps, packing a chunk of one head, and the state, which replaces all
 * keys before the chunk.
 *
 * With v' = [v, 1] the state T = Σ_j v'_j f_jᵀ holds the numerators (rows 0 … D − 1) and
 * normalizers (row D) of every query: [A V, 1]_i = φ(q_i) Tᵀ / Z_i. Causal attention adds the keys
 * of the query's own chunk as explicit scores. Chunks are summed separately before they are added
 * to the state, which keeps rounding errors of long sums small.
 *
 * kernels/feature.h has φ and its scales. If the scores of a row vanish nevertheless (priors
 * of 0, or features that are large in different elements), the row is uniform over the keys it sees
 * and passes no gradient to scores; with a normalizer_epsilon or a fixed normalizer it is 0.
 */
#ifndef MGK_KERNELS_CPU_LINEAR_H
#define MGK_KERNELS_CPU_LINEAR_H

#include "kernels/cpu/attention/tile.h"
#include "kernels/feature.h"

/* Tokens of a chunk: its scores cost as much as the state does for the usual D. */
enum { MGK_LINEAR_CHUNK = 32 };

/* One head of one sample in a thread's scratch memory, and one chunk of it. */
typedef struct mgk_linear_head {
    const mgk_attention_view *view;
    const mgk_linear *linear;
    size_t sample, head;
    size_t n;           /* valid tokens */
    size_t depth, wide; /* D and D + 1, padded to whole vectors */
    mgk_feature_scale key_scale;
    bool uniform;    /* some row has vanished and is uniform */
    real *inverse;   /* [N] 1 / Z_i; 0 where the row has vanished */
    real *state;     /* T [wide, depth] */
    real *chunk_sum; /* [wide, depth] */
    /* the chunk: tokens first … first + rows − 1 */
    size_t first, rows;
    mgk_feature_scale query_scale[MGK_LINEAR_CHUNK];
    real *query;     /* [MGK_LINEAR_CHUNK, depth] φ(q_i) */
    real *feature;   /* [MGK_LINEAR_CHUNK, depth] f_j */
    real *feature_t; /* [depth, MGK_LINEAR_CHUNK], causal only */
    real *value;     /* [MGK_LINEAR_CHUNK, wide] v'_j */
    real *scores;    /* [MGK_LINEAR_CHUNK, MGK_LINEAR_CHUNK] */
    real *scratch;   /* of the caller, zeroed */
} mgk_linear_head;

/* Reals of scratch memory per thread for one head, with `extra` reals of the caller. */
size_t MGK_CPU(linear_scratch)(const mgk_attention_view *view, size_t extra);

/*
 * Starts head `head_index` of sample `sample` in `memory` of linear_scratch reals: state 0, no
 * chunk.
 */
void MGK_CPU(linear_begin)(const mgk_attention_view *view, const mgk_linear *linear, size_t sample,
                           size_t head_index, size_t extra, real *memory, mgk_linear_head *out);

/* Packs the queries of the chunk that begins with token `first`. */
void MGK_CPU(linear_queries)(mgk_linear_head *head, size_t first);

/* Packs the values of the chunk that begins with token `first`, and the features of its keys. */
void MGK_CPU(linear_keys)(mgk_linear_head *head, size_t first);

/* state [wide, depth] += leftᵀ right over the chunk; left [·, wide], right [·, depth]. */
void MGK_CPU(linear_accumulate)(mgk_linear_head *head, const real *left, const real *right,
                                real *state);

/*
 * scores = left [·, stride] right_t [inner, MGK_LINEAR_CHUNK] for keys j <= i of the chunk, else 0.
 */
void MGK_CPU(linear_scores)(const mgk_linear_head *head, const real *left, size_t stride,
                            size_t inner, const real *right_t, real *scores);

/* 1 / Z_i of the chunk's rows, from the state and, if causal, the chunk's scores. */
void MGK_CPU(linear_normalizers)(mgk_linear_head *head);

/* 1 / Z of a row from the sum of its scaled scores; 0 if the scores have vanished. */
static inline real mgk_linear_inverse(const mgk_linear_head *head, mgk_feature_scale query,
                                      real sum)
{
    return mgk_feature_normalizer(head->linear, query, head->key_scale, sum);
}

/* Whether the row with this 1 / Z is uniform over the keys it sees. */
static inline bool mgk_linear_uniform(const mgk_linear_head *head, real inverse)
{
    return inverse == 0 && !(head->linear->normalizer_epsilon > 0);
}

/* Keys that query i sees: 0 … count − 1. */
static inline size_t mgk_linear_visible(const mgk_linear_head *head, size_t i)
{
    return head->view->causal ? i + 1 : head->n;
}

/* The index of π of component r for key j. */
static inline size_t mgk_linear_prior_index(const mgk_linear_head *head, size_t r, size_t j)
{
    const mgk_prior_view *prior = &head->linear->prior;
    return head->head * prior->head_stride + r * prior->component_stride + j * prior->key_stride;
}

/* π clamped to [0, 1]. */
static inline real mgk_linear_prior(const mgk_linear_head *head, size_t r, size_t j)
{
    const real *values = head->linear->prior.values;
    if (!values)
        return 1;
    return mgk_feature_prior(values[mgk_linear_prior_index(head, r, j)]);
}

/* The index of component r of key j in the keys and in their gradient. */
static inline size_t mgk_linear_key_index(const mgk_linear_head *head, size_t r, size_t j)
{
    const mgk_attention_view *view = head->view;
    return (head->sample * (size_t)view->tokens + j) * view->key_stride +
           (r * (size_t)view->heads + head->head) * (size_t)view->dim;
}

/*
 * The index of token j in an array [B, N, ·] of queries, values or outputs, tokens `stride` apart.
 */
static inline size_t mgk_linear_token_index(const mgk_linear_head *head, size_t stride, size_t j)
{
    return (head->sample * (size_t)head->view->tokens + j) * stride +
           head->head * (size_t)head->view->dim;
}

/* to [cols, to_stride] = the transpose of from [rows, from_stride]. */
static inline void mgk_linear_transpose(size_t rows, size_t cols, const real *from,
                                        size_t from_stride, real *to, size_t to_stride)
{
    for (size_t c = 0; c < cols; c++)
        for (size_t r = 0; r < rows; r++)
            to[c * to_stride + r] = from[r * from_stride + c];
}

#endif
