/* SPDX-License-Identifier: MIT */
/*
 * The steps shared by the output of linear attention, its gradient, the explicit matrix and the
 * responsibilities: packing a chunk of one head, and the state, which replaces all keys before the
 * chunk.
 *
 * With v' = [v, 1] the state S = Σ_j f_j v'_jᵀ holds the numerators (columns 0 … D − 1) and
 * normalizers (column D) of every query: [A V, 1]_i = φ(q_i) S / Z_i. Causal attention adds the
 * keys of the query's own chunk as explicit scores. Chunks are summed separately before they are
 * added to the state, which keeps rounding errors of long sums small.
 *
 * Features of a chunk are transposed (features.h): products take them as left operands [·, R],
 * as right operands [R, ·], and never transpose them.
 *
 * kernels/feature.h has elu + 1 and its scales. Features that are exponentials have a shift
 * instead: key features are divided by exp(shift), where the shift is the largest exponent of the
 * keys up to the end of the chunk. When it grows, the state is rescaled; so a causal row does not
 * vanish because a later chunk has large keys; keys of its own chunk can still do that. Each chunk
 * keeps its shift for the gradient and the matrix.
 *
 * With a gate, g_j enters as weights of a chunk: the state before it reaches row i with Π g_l up to
 * i (`enter`), key j reaches the state behind the chunk with `leave`, and the pairs inside have
 * `within`.
 *
 * If the scores of a row vanish nevertheless (priors of 0, or features that are large in different
 * elements), the row is uniform over the keys it sees and passes no gradient to scores; with a
 * normalizer_epsilon, a fixed normalizer, a least sum, sparse or signed features it is 0.
 */
#ifndef MGK_KERNELS_CPU_LINEAR_H
#define MGK_KERNELS_CPU_LINEAR_H

#include "kernels/cpu/attention/features.h"
#include "kernels/cpu/transpose.h"
#include "kernels/feature.h"

/* One head of one sample in a thread's scratch memory, and one chunk of it. */
typedef struct mgk_linear_head {
    const mgk_attention_view *view;
    const mgk_linear *linear;
    size_t sample, head;
    size_t n;           /* valid tokens */
    size_t dim;         /* D */
    size_t depth, wide; /* rows of features, R padded to tiles; length of the rows of S and v' */
    bool is_elu;
    mgk_feature_scale
        key_scale;         /* of all keys; of exponentials the shift of the last chunk packed */
    bool shifts_known;     /* key shifts are those in `shifts`, and no longer chosen */
    bool uniform;          /* some row has vanished and is uniform */
    mgk_feature_work work; /* of the tokens that were packed last */
    real *inverse;         /* [N] 1 / Z_i; 0 where the row has vanished */
    real *own_sum;         /* [N] 1 if Z_i is the sum of the row, 0 if it is a constant */
    real *shifts;          /* [N / chunk] key_scale.shift of each chunk */
    real *state;           /* S [depth, wide] */
    real *chunk_sum;       /* [depth, wide] */
    /* the chunk: tokens first … first + rows − 1 */
    size_t first, rows;
    real *query_shift;   /* [MGK_LINEAR_CHUNK] and their factor, 1 / (largest + 1) for elu + 1 */
    real *query_inverse; /* [MGK_LINEAR_CHUNK] */
    real *query;         /* [depth, MGK_LINEAR_CHUNK] φ(q_i) */
    real *feature;       /* [depth, MGK_LINEAR_CHUNK] f_j */
    real *value;         /* [MGK_LINEAR_CHUNK, wide] v'_j */
    real *scores;        /* [MGK_LINEAR_CHUNK, MGK_LINEAR_CHUNK] */
    real *enter, *leave; /* [MGK_LINEAR_CHUNK] gates only */
    real *within;        /* [MGK_LINEAR_CHUNK, MGK_LINEAR_CHUNK] gates only */
    real carry;          /* of the state over the chunk; 1 without gates */
    real *scratch;       /* of the caller, zeroed */
} mgk_linear_head;

/* Reals of scratch memory per thread for one head, with `extra` reals of the caller. */
size_t MGK_CPU(linear_scratch)(const mgk_attention_view *view, const mgk_linear *linear,
                               size_t extra);

/*
 * Starts head `head_index` of sample `sample` in `memory` of linear_scratch reals: state 0, no
 * chunk.
 */
void MGK_CPU(linear_begin)(const mgk_attention_view *view, const mgk_linear *linear, size_t sample,
                           size_t head_index, size_t extra, real *memory, mgk_linear_head *out);

/* Packs the queries of the chunk that begins with token `first`. */
void MGK_CPU(linear_queries)(mgk_linear_head *head, size_t first);

/*
 * Packs the values and gates of the chunk that begins with token `first`, and the features of its
 * keys; rescales the state if the shift grows.
 */
void MGK_CPU(linear_keys)(mgk_linear_head *head, size_t first);

/*
 * state [depth, wide] = carry state + Σ_i feature_i right_iᵀ over the chunk; feature [depth,
 * MGK_LINEAR_CHUNK], right [MGK_LINEAR_CHUNK, wide], of which column D too.
 */
void MGK_CPU(linear_accumulate)(mgk_linear_head *head, const real *feature, const real *right,
                                real *state);

/* The same for the chunk's keys and values. */
void MGK_CPU(linear_add_keys)(mgk_linear_head *head);

/* scores = φ(q_i)·f_j for keys j <= i of the chunk, with their gates; else 0. */
void MGK_CPU(linear_scores)(const mgk_linear_head *head);

/* 1 / Z_i of the chunk's rows, from the state and, if causal, the chunk's scores. */
void MGK_CPU(linear_normalizers)(mgk_linear_head *head);

/* The index of the gate of token j. */
static inline size_t mgk_linear_gate_index(const mgk_linear_head *head, size_t j)
{
    return (head->sample * (size_t)head->view->tokens + j) * head->linear->gate_stride + head->head;
}

static inline real mgk_linear_gate(const mgk_linear_head *head, size_t j)
{
    return ((const real *)head->linear->gate)[mgk_linear_gate_index(head, j)];
}

/* What scores of a query with this scale are multiplied by. */
static inline double mgk_linear_scale(const mgk_linear_head *head, mgk_feature_scale query)
{
    return exp(-((double)query.shift + (double)head->key_scale.shift)) * (double)query.inverse *
           (double)head->key_scale.inverse;
}

/*
 * 1 / Z of a row from the sum of its scaled scores; 0 if the scores have vanished. *own_sum: 0 if Z
 * does not depend on the scores.
 */
static inline real mgk_linear_inverse(const mgk_linear_head *head, mgk_feature_scale query,
                                      real sum, real *own_sum)
{
    const mgk_linear *linear = head->linear;
    *own_sum = (real)(linear->fixed_normalizer > 0 ? 0 : 1);
    if (linear->fixed_normalizer > 0)
        return (real)(1 / linear->fixed_normalizer);
    if (linear->least_sum > 0) {
        const real least = (real)(linear->least_sum * mgk_linear_scale(head, query));
        *own_sum = (real)(sum >= least ? 1 : 0);
        return 1 / (sum >= least ? sum : least);
    }
    if (mgk_features_signed(&linear->features)) {
        if (linear->normalizer_epsilon > 0)
            sum += (real)(linear->normalizer_epsilon * mgk_linear_scale(head, query));
        return mgk_feature_sum_vanished(sum < 0 ? -sum : sum) ? 0 : 1 / sum;
    }
    return mgk_feature_normalizer(linear, query, head->key_scale, sum);
}

/* Whether the row with this 1 / Z is uniform over the keys it sees. */
static inline bool mgk_linear_uniform(const mgk_linear_head *head, real inverse)
{
    const mgk_linear *linear = head->linear;
    return inverse == 0 && !(linear->normalizer_epsilon > 0) && !(linear->least_sum > 0) &&
           !mgk_features_sparse(&linear->features) && !mgk_features_signed(&linear->features);
}

/* The scale of the features of the chunk's query i. */
static inline mgk_feature_scale mgk_linear_query_scale(const mgk_linear_head *head, size_t i)
{
    return (mgk_feature_scale){head->query_shift[i], head->query_inverse[i]};
}

/* Keys that query i sees: 0 … count − 1, but those that are masked. */
static inline size_t mgk_linear_visible(const mgk_linear_head *head, size_t i)
{
    return head->view->causal ? i + 1 : head->n;
}

static inline bool mgk_linear_masked(const mgk_linear_head *head, size_t j)
{
    const int32_t *masked = mgk_view_masked(head->view, head->sample);
    return masked && masked[j];
}

/* The entries of a uniform row of so many keys. */
static inline real mgk_linear_blank(size_t seen)
{
    return seen > 0 ? 1 / (real)seen : 0;
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

#endif
