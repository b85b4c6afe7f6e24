/* SPDX-License-Identifier: MIT */
/*
 * Attention as operations of a device: its arrays, the equations that it may follow, forward,
 * backward and as explicit matrices. The conventions are those of kernels/backend.h.
 */
#ifndef MGK_KERNELS_ATTENTION_OPERATIONS_H
#define MGK_KERNELS_ATTENTION_OPERATIONS_H

#include "kernels/device.h"

/*
 * The queries, keys and values of attention. Token t of sample b has its H·D query numbers at
 * query[(b N + t) query_stride + h D + d]; keys add the component:
 * key[(b N + t) key_stride + (r H + h) D + d]. Tokens t >= lengths[b] are padding.
 *
 * Keys may belong to another sequence than queries: then N is key_tokens in the indices of keys and
 * values, and keys t >= key_lengths[b] are padding. Values and outputs may have another width than
 * queries and keys: then D is value_dim in their indices. Both hold for mixtures on devices with
 * `all_parts`. There dim may also be 0: scores have no dot product, and queries and keys are NULL.
 */
typedef struct mgk_attention_view {
    int samples, heads, tokens, dim, mixtures; /* B, H, N, D, M */
    int key_tokens;                            /* of keys and values; 0: N */
    int value_dim;                             /* of values and outputs; 0: D */
    bool causal;                               /* query i sees keys j <= i */
    const int32_t *lengths;                    /* [B] */
    const int32_t *key_lengths;                /* [B]; NULL: lengths */
    /* [B, N], not 0: no query sees the key; NULL: all are seen. Kinds with `masks` alone, on the
     * CPU, without gradients. */
    const int32_t *masked;
    const void *query, *key, *value;
    size_t query_stride, key_stride, value_stride;
    const void *extra; /* further numbers of each token: E at extra[(b N + t) extra_stride] */
    size_t extra_stride, extra_width; /* E; 0: none */
} mgk_attention_view;

/* Keys per sample, with padding. */
static inline int mgk_view_keys(const mgk_attention_view *view)
{
    return view->key_tokens > 0 ? view->key_tokens : view->tokens;
}

/* Valid keys of each sample, [B]. */
static inline const int32_t *mgk_view_key_lengths(const mgk_attention_view *view)
{
    return view->key_lengths ? view->key_lengths : view->lengths;
}

/* A sample's keys that no query sees; NULL: none. */
static inline const int32_t *mgk_view_masked(const mgk_attention_view *view, size_t sample)
{
    return view->masked ? view->masked + sample * (size_t)mgk_view_keys(view) : NULL;
}

/* Numbers of a head's value and output. */
static inline int mgk_view_value_dim(const mgk_attention_view *view)
{
    return view->value_dim > 0 ? view->value_dim : view->dim;
}

/* The view of samples first … first + samples − 1 alone. */
static inline mgk_attention_view
mgk_view_samples(const mgk_device *device, const mgk_attention_view *view, int first, int samples)
{
    const size_t before = (size_t)first * (size_t)view->tokens;
    const size_t keys_before = (size_t)first * (size_t)mgk_view_keys(view);
    mgk_attention_view out = *view;
    out.samples = samples;
    out.lengths = view->lengths + first;
    out.key_lengths = view->key_lengths ? view->key_lengths + first : NULL;
    out.masked = view->masked ? view->masked + keys_before : NULL;
    out.query = mgk_at(device, view->query, before * view->query_stride);
    out.key = mgk_at(device, view->key, keys_before * view->key_stride);
    out.value = mgk_at(device, view->value, keys_before * view->value_stride);
    out.extra = mgk_at(device, view->extra, before * view->extra_stride);
    return out;
}

/* Gradients of the view's arrays, with the same layout and strides. Overwritten. */
typedef struct mgk_attention_gradient {
    void *query, *key, *value, *extra;
    void *prior;      /* laid out like the prior, += ; NULL: no prior */
    void *bias;       /* of the scores, laid out like mgk_score_terms.bias, += ; NULL: not wanted */
    void *full;       /* laid out like mgk_score_terms.full, += ; NULL: not wanted */
    void *query_side; /* laid out like mgk_score_terms.query_side, += ; NULL: not wanted */
    void *gate; /* laid out like the gate of mgk_linear or the rate of mgk_delta; NULL: neither */
} mgk_attention_gradient;

enum { MGK_MAX_MIXTURES = 16 }; /* largest M, keys per head */

/* Prior π of component r for key j of head h: prior[h head_stride + r component_stride + j
 * key_stride]. */
typedef struct mgk_prior_view {
    const void *values; /* NULL: π = 1 */
    size_t head_stride, component_stride, key_stride;
    size_t count; /* number of elements */
} mgk_prior_view;

enum { MGK_PATTERN_TILE = 16 };

/*
 * Which keys each query sees, in tiles of 16 queries by 16 keys: tile t of block b (queries 16 b to
 * 16 b + 15) has keys 16 columns[t] to 16 columns[t] + 15, and query 16 b + i sees its key c if bit
 * c of masks[16 t + i] is set. The block's tiles are those from starts[b] to starts[b + 1] − 1, in
 * ascending order of columns. A tile that is not listed costs no work and no memory. Queries that
 * see no key have zeros in the matrix and in the output, and no gradient.
 *
 * All are plain arrays of the device that hold no addresses; a kind whose pattern follows from
 * content fills them itself. A causal mask, a window and lengths hold besides. Bits for keys that
 * do not exist are ignored.
 */
typedef struct mgk_pattern {
    const int32_t *starts;  /* of each variant [⌈N / 16⌉ + 1], numbers of tiles in `columns` */
    const int32_t *columns; /* [tiles] */
    const uint16_t *masks;  /* [tiles, 16] */
    const void *logits;     /* reals [tiles, 16, 16] that are added to the logits; NULL: none */
    /* From the starts of a sample or head to those of the next, in numbers; 0: one for all. */
    size_t sample_stride, head_stride;
} mgk_pattern;

/*
 * What is done to the score x_ij = scale q_i·k_j before normalisation:
 *     l_ij = cap tanh(x_ij / cap) + bias_h,j−i + full_bhij + …,   −∞ where |i − j| >= window.
 * All 0: l_ij = x_ij. Devices without `all_parts` ignore the terms. Gradients are defined with all
 * terms but key_side.
 */
typedef struct mgk_score_terms {
    int window; /* of query i, |i − j| < window; 0: all keys */
    double cap; /* > 0; 0: none */
    /* [H, 2 T − 1], reals of the device: bias[h (2 T − 1) + j − i + T − 1]; NULL: none. At least as
     * many tokens T as the view has queries and keys. */
    const void *bias;
    size_t bias_tokens; /* T */
    bool bias_by_key;   /* bias[h (2 T − 1) + j + T − 1], whatever i is */
    /* Reals full[b full_sample_stride + h full_head_stride + i full_row_stride + j]; a sample or
     * head stride of 0: one matrix for all; a row stride of 0: the view's keys with padding. NULL:
     * none. */
    const void *full;
    size_t full_sample_stride, full_head_stride, full_row_stride;
    /*
     * Distances that meet content: l_ij += query_side[i, h, p] + key_side[j, h, p], reals of the
     * device [B, N, H, P], with p = places[j − i + T − 1], [2 T − 1]; NULL: none. key_side may be
     * NULL alone. Of pairs with one of the first place_globals tokens, and one other, p is P − 1.
     */
    const void *query_side, *key_side;
    const int32_t *places;
    size_t sides, place_tokens; /* P, T */
    size_t place_globals;       /* 0: there are no such pairs */
} mgk_score_terms;

/*
 * Attention by a softmax over M N biased keys (design: "MGK is softmax in
 * disguise"). The logit of query i for component r of key j is
 *     l_ijr = scale_r q_i·k_jr                                       (dot product)
 *     l_ijr = log π_jr − scale_r ‖q_i − k_jr‖² / 2, scale_r = 1/σ_r²  (Gaussian)
 * and the matrix is A_ij = s_ij / (Σ_j s_ij + normalizer_epsilon) with
 * s_ij = Σ_r exp l_ijr, or max_r exp l_ijr when `hard`. Computed in log space. Unnormalized rows
 * are A_ij = s_ij as it is. Devices without `all_parts` ignore `unnormalized` and the pattern.
 */
typedef struct mgk_mixture {
    double scale[MGK_MAX_MIXTURES];
    bool gaussian;
    bool hard;
    double normalizer_epsilon;
    mgk_prior_view prior;  /* clamped to [0, 1] when used */
    mgk_score_terms terms; /* the cap is for dot products */
    bool unnormalized;
    const mgk_pattern *pattern; /* NULL: all keys */
    /* Of responsibilities: > 0: γ_ijr = s_ijr / (Σ_r s_ijr + this), and the last γ_ij is what the
     * others leave of 1. Devices without `all_parts` ignore it. */
    double share_epsilon;
    /* Outputs and their gradients: entries A_ij become 0 with this probability, and the others
     * A_ij / (1 − dropout), by random words of (seed, stream + site) of *draw, in device memory.
     * Devices without `all_parts` ignore it. */
    double dropout;
    const mgk_draw *draw;
    uint64_t site;
} mgk_mixture;

/* The feature maps φ of linear attention; mgk_features has their numbers. x' = input_scale x. */
typedef enum mgk_feature_kind {
    MGK_FEATURES_ELU, /* elu(x) + 1, R = D */
    /* exp(w_r·x' − ‖x'‖²/2) / √R (Choromanski et al. 2021, FAVOR+); plus epsilon exp(m) / √R, m the
       largest w_r·x' of the query, or of all valid keys of the head, later ones too */
    MGK_FEATURES_POSITIVE,
    /* exp(± w_r·x' − ‖x'‖²/2) / √R, both signs of each w_r, + first; R = 2 omega_rows */
    MGK_FEATURES_HYPERBOLIC,
    /* exp(‖x'‖²/2) [sin w_r·x', cos w_r·x'] / √omega_rows, R = 2 omega_rows. Signed */
    MGK_FEATURES_TRIGONOMETRIC,
    /* [sin w_r·u, cos w_r·u] / √omega_rows, u = x' / (‖x'‖ + epsilon) and 0 for x = 0,
       R = 2 omega_rows (Peng et al. 2021, RFA). Signed */
    MGK_FEATURES_SPHERE,
    /* f(w_r·x') + epsilon (Choromanski et al. 2021, generalised attention), R = omega_rows; without
       omega f(x') + epsilon, R = D. Signed where f may be negative */
    MGK_FEATURES_KERNEL,
    /* relu(x) [cos θ_t, sin θ_t] at position t = 0, 1, …, θ_t = π t / (2 horizon), R = 2 D (Qin et
       al. 2022, cosFormer) */
    MGK_FEATURES_COSINE,
    /* y ∘ roll(y, r) for r = 1 … rolls, where y = [relu(x), relu(−x)] and roll(y, r)_e is
       y_(e − r mod 2 D); R = 2 D rolls (Schlag et al. 2021) */
    MGK_FEATURES_DPFP
} mgk_feature_kind;

/* f of MGK_FEATURES_KERNEL. */
typedef enum mgk_feature_function {
    MGK_FEATURE_RELU,
    MGK_FEATURE_SIGMOID,
    MGK_FEATURE_EXP,
    MGK_FEATURE_ABS,
    MGK_FEATURE_GELU, /* the exact form; signed, as all that follow */
    MGK_FEATURE_COS,
    MGK_FEATURE_TANH,
    MGK_FEATURE_IDENTITY
} mgk_feature_function;

/* A feature map. All 0: elu + 1. The model does not train omega. */
typedef struct mgk_features {
    mgk_feature_kind map;
    mgk_feature_function function;
    /* Row r of head h, w_r [D], is at omega[h omega_head_stride + r omega_stride], reals of the
       device; omega_head_stride 0: one for all heads.
       NULL with omega_rows 0: there is none. */
    const void *omega;
    size_t omega_rows, omega_stride, omega_head_stride;
    double input_scale; /* 0: D^(−1/4) for maps with an exponential of ‖x'‖², otherwise 1 */
    double epsilon;     /* >= 0, of SPHERE, KERNEL and POSITIVE; of that one without gradients */
    double horizon;     /* of COSINE, > 0 */
    int rolls;          /* of DPFP, > 0 */
    bool unit_sum;      /* DPFP: the features of a token are divided by their sum, if it is not 0 */
} mgk_features;

/* The number R of features of vectors of dimension D. */
static inline size_t mgk_feature_count(const mgk_features *features, size_t dim)
{
    switch (features->map) {
    case MGK_FEATURES_POSITIVE:
        return features->omega_rows;
    case MGK_FEATURES_HYPERBOLIC:
    case MGK_FEATURES_TRIGONOMETRIC:
    case MGK_FEATURES_SPHERE:
        return 2 * features->omega_rows;
    case MGK_FEATURES_KERNEL:
        return features->omega_rows > 0 ? features->omega_rows : dim;
    case MGK_FEATURES_COSINE:
        return 2 * dim;
    case MGK_FEATURES_DPFP:
        return 2 * dim * (size_t)features->rolls;
    case MGK_FEATURES_ELU:
        break;
    }
    return dim;
}

/* Whether features may be negative. */
static inline bool mgk_features_signed(const mgk_features *features)
{
    return features->map == MGK_FEATURES_TRIGONOMETRIC || features->map == MGK_FEATURES_SPHERE ||
           (features->map == MGK_FEATURES_KERNEL && features->function >= MGK_FEATURE_GELU);
}

/* Whether vectors may have no feature at all, not by rounding: rows without scores are then 0. */
static inline bool mgk_features_sparse(const mgk_features *features)
{
    return features->map == MGK_FEATURES_COSINE || features->map == MGK_FEATURES_DPFP;
}

/*
 * Linear attention: A_ij = s_ij / (Σ_j s_ij + normalizer_epsilon), s_ij = φ(q_i)·f_j,
 * f_j = Σ_r π_jr φ(k_jr). With φ = elu + 1: paper, Eqn. 14. Models of the paper's code differ:
 * they divide rows by a constant and mix keys before φ, see the two fields. Responsibilities of
 * mixtures always use the equation above and ignore these fields, and so do gradients on devices
 * without `all_parts`.
 *
 * Several keys per head (M > 1, prior, mix_keys) and responsibilities are for elu + 1 alone.
 * Devices without `all_parts` ignore `features`, `least_sum`, `feature_sum_epsilon` and `gate`.
 *
 * Rows whose scores vanish: with features that are not negative they are uniform over the keys they
 * see, or 0 if the features are sparse or there is a normalizer_epsilon; they pass no gradient to
 * scores. Of exponential features a causal row also vanishes if all keys it sees are below the
 * range of the precision (e^−87 in float32) next to a later key of the same block of 32 tokens.
 * Signed features may give negative and large entries: their rows are divided by their sum,
 * whatever its sign, and are 0 only where the sum itself is below the least normal number.
 */
typedef struct mgk_linear {
    double normalizer_epsilon;
    double fixed_normalizer; /* > 0: A_ij = s_ij / fixed_normalizer; 0: as above */
    bool mix_keys;           /* f_j = φ(Σ_r π_jr k_jr) */
    bool unit_features; /* elu + 1: each φ is divided by the sum of its elements (Schlag et al.
                           2021); not with mix_keys. The CPU alone, without gradients */
    mgk_prior_view prior;
    mgk_features features;
    double least_sum; /* > 0: smaller sums, negative ones too, are replaced by it; 0: no */
    /* POSITIVE with epsilon: added to Σ_j f_j of each feature, which is divided by exp(m), before
     * the product with φ(q_i) normalises a row. Has no gradients. */
    double feature_sum_epsilon;
    /*
     * Causal attention only: decays g in (0, 1) per token and head, gate[(b N + t) gate_stride +
     * h], reals of the device: s_ij = (1 − g_j) (Π_{j < l <= i} g_l) φ(q_i)·f_j. This is the state
     * S_t = g_t S_{t−1} + (1 − g_t) f_t v_tᵀ (Peng et al. 2021). NULL: none. Where g has rounded to
     * 0 or 1 the part of its gradient that a sigmoid before it would multiply by 0 is 0.
     */
    const void *gate;
    size_t gate_stride;
} mgk_linear;

/*
 * The delta rule (Schlag et al. 2021; Yang et al. 2024), always causal. Queries and keys have R
 * numbers per head, values D:
 *     S_t = S_{t−1} + β_t k_t (v_t − S_{t−1}ᵀ k_t)ᵀ,   o_t = scale S_tᵀ q_t, and
 *     A = scale tril(Q Kᵀ) (I + tril(diag(β) K Kᵀ, −1))⁻¹ diag(β),
 * which is signed and not normalised. Of the view, `causal` is ignored, `mixtures` is 1, and head h
 * of a query or key begins at h R.
 */
typedef struct mgk_delta {
    double scale;
    size_t features;  /* R; 0: D */
    const void *rate; /* β: rate[(b N + t) rate_stride + h], reals of the device */
    size_t rate_stride;
} mgk_delta;

/* The content of an explicit matrix. */
typedef enum mgk_matrix_content {
    MGK_MATRIX_ATTENTION, /* rows normalised as above */
    MGK_MATRIX_SCORES     /* s_ij, before normalisation */
} mgk_matrix_content;

/* keys [rows, M, width] = base [rows, width] + shift [M, width]: "smgk", k_jr = W_K x_j + b_r. */
typedef mgk_status mgk_shift_keys_fn(mgk_device *, size_t rows, size_t mixtures, size_t width,
                                     const void *base, size_t base_stride, const void *shift,
                                     void *keys);
/* dbase = Σ_r dkeys_r, dshift += Σ_rows dkeys. */
typedef mgk_status mgk_shift_keys_backward_fn(mgk_device *, size_t rows, size_t mixtures,
                                              size_t width, const void *dkeys, void *dbase,
                                              size_t base_stride, void *dshift);

/*
 * Attention. output [B, N, H, D], tokens output_stride apart, 0 for padding. statistic [B, H, N]
 * receives one number per row for the backward operation, which takes both. Neither direction
 * stores an N x N matrix.
 */
typedef mgk_status mgk_mixture_attention_fn(mgk_device *, const mgk_attention_view *,
                                            const mgk_mixture *, void *output, size_t output_stride,
                                            void *statistic);
typedef mgk_status mgk_mixture_attention_backward_fn(mgk_device *, const mgk_attention_view *,
                                                     const mgk_mixture *, const void *output,
                                                     const void *statistic, const void *doutput,
                                                     size_t output_stride,
                                                     const mgk_attention_gradient *);
typedef mgk_status mgk_linear_attention_fn(mgk_device *, const mgk_attention_view *,
                                           const mgk_linear *, void *output, size_t output_stride);
typedef mgk_status mgk_linear_attention_backward_fn(mgk_device *, const mgk_attention_view *,
                                                    const mgk_linear *, const void *output,
                                                    const void *doutput, size_t output_stride,
                                                    const mgk_attention_gradient *);
/*
 * The explicit matrices of `count` heads of samples first … first + samples − 1: matrix [samples,
 * count, N, keys], zero in rows and columns of padding; mixtures only have other keys than N, see
 * mgk_attention_view.
 */
typedef mgk_status mgk_mixture_matrix_fn(mgk_device *, const mgk_attention_view *,
                                         const mgk_mixture *, mgk_matrix_content, int first,
                                         int samples, const int32_t *heads, int count,
                                         void *matrix);
/*
 * Attention matrices of one sample, and the output of the same heads, [N, H, D] as in
 * mixture_attention; both use the same logits. NULL if the device does not gain by it.
 */
typedef mgk_status mgk_mixture_matrix_output_fn(mgk_device *, const mgk_attention_view *,
                                                const mgk_mixture *, int sample,
                                                const int32_t *heads, int count, void *matrix,
                                                void *output, size_t output_stride);
typedef mgk_status mgk_linear_matrix_fn(mgk_device *, const mgk_attention_view *,
                                        const mgk_linear *, mgk_matrix_content, int first,
                                        int samples, const int32_t *heads, int count, void *matrix);
/*
 * Thin factors A = L Rᵀ, of rank at most R + 1 for R features, of the attention matrices of `count`
 * heads of one sample, without a causal mask: left and right [count, N, R + 1], not negative unless
 * the features are signed, zero beyond the valid tokens. Row i of L is φ(q_i) divided by the row's
 * sum, row j of R is f_j. The last column of L is 0 and of R 1, except in uniform rows: there L has
 * 1 / valid tokens in the last column.
 */
typedef mgk_status mgk_linear_factors_fn(mgk_device *, const mgk_attention_view *,
                                         const mgk_linear *, int sample, const int32_t *heads,
                                         int count, void *left, void *right);
/*
 * φ of every token and head, as it is, without shifts: queries and keys for the delta rule. Head h
 * of token t of sample b is at x[(b N + t) x_stride + h D] and y[(b N + t) y_stride + h R]; t is
 * the position. The backward operation takes x and dy, dx is laid out like x and overwritten. NULL
 * for a device without all_parts.
 */
typedef mgk_status mgk_feature_map_fn(mgk_device *, const mgk_features *, size_t samples,
                                      size_t tokens, size_t heads, size_t dim, const void *x,
                                      size_t x_stride, void *y, size_t y_stride);
typedef mgk_status mgk_feature_map_backward_fn(mgk_device *, const mgk_features *, size_t samples,
                                               size_t tokens, size_t heads, size_t dim,
                                               const void *x, size_t x_stride, const void *dy,
                                               size_t y_stride, void *dx);
/*
 * The delta rule: output and matrix are laid out as for linear attention, gradient->gate is that of
 * β. Both directions take O(N) memory and do not use the output. NULL for a device without
 * all_parts.
 */
typedef mgk_status mgk_delta_attention_fn(mgk_device *, const mgk_attention_view *,
                                          const mgk_delta *, void *output, size_t output_stride);
typedef mgk_status mgk_delta_attention_backward_fn(mgk_device *, const mgk_attention_view *,
                                                   const mgk_delta *, const void *doutput,
                                                   size_t output_stride,
                                                   const mgk_attention_gradient *);
typedef mgk_status mgk_delta_matrix_fn(mgk_device *, const mgk_attention_view *, const mgk_delta *,
                                       int sample, const int32_t *heads, int count, void *matrix);
/*
 * Soft-E priors (paper, Eqn. 11): sums [2, P] += Σ of γ_ijr = s_ijr / Σ_r s_ijr over the queries i
 * that see key j, over the batch, and over the dimensions that the prior does not have; and the
 * number of these queries. P = mixture->prior.count, laid out alike.
 */
typedef mgk_status mgk_responsibilities_fn(mgk_device *, const mgk_attention_view *,
                                           const mgk_mixture *, double *sums);
/* The same for linear mixtures, s_ijr = π_jr φ(q_i)·φ(k_jr). */
typedef mgk_status mgk_linear_responsibilities_fn(mgk_device *, const mgk_attention_view *,
                                                  const mgk_linear *, double *sums);
/* prior [count] = the mean of such sums [2, count]; a key that no query has seen keeps its prior.
 */
typedef mgk_status mgk_mean_responsibilities_fn(mgk_device *, size_t count, const double *sums,
                                                void *prior);

#endif
