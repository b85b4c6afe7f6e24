/* SPDX-License-Identifier: MIT */
/*
 * The registry of attention kinds. A kind is one file of kernels/attention/ and one row in
 * attention.c: how its keys are made, its scores (written with a device's operations, so a kind
 * runs on every device), and their cost.
 */
#ifndef MGK_KERNELS_ATTENTION_H
#define MGK_KERNELS_ATTENTION_H

#include "kernels/backend.h"

/* How the M keys of a position are made from its token vector x_j. */
typedef enum mgk_key_design {
    MGK_KEYS_PROJECTED, /* k_jr = W_Kr x_j: M projections (one for kinds with M = 1) */
    MGK_KEYS_SHIFTED    /* k_jr = W_K x_j + b_r: one projection, M learned shifts */
} mgk_key_design;

/* How the components of a mixture are weighed (paper, settings A, B, C). */
typedef enum mgk_prior_mode {
    MGK_PRIOR_LEARNED, /* A: π is a parameter */
    MGK_PRIOR_EM,      /* B, soft-E: π follows the responsibilities, Eqn. 11 */
    MGK_PRIOR_HARD     /* C, hard-E: the nearest component alone, no π */
} mgk_prior_mode;

/* The projections of a layer's attention. */
typedef enum mgk_projection {
    MGK_PROJECTION_QUERY,
    MGK_PROJECTION_KEY, /* of all keys of a position */
    MGK_PROJECTION_VALUE,
    MGK_PROJECTION_OUTPUT,
    MGK_PROJECTIONS
} mgk_projection;

/* Parameters of one layer's attention, besides queries, keys and values. */
typedef struct mgk_attention_layer {
    double scale;                      /* softmax: of q·k; 0: 1/√D */
    mgk_score_terms terms;             /* softmax. Layers with terms have no gradients */
    double variance[MGK_MAX_MIXTURES]; /* σ_r² of Gaussian scores */
    double normalizer_epsilon;
    double fixed_normalizer; /* linear kinds; see mgk_linear. Such layers have no gradients */
    bool mix_keys;           /* linear kinds; see mgk_linear. Such layers have no gradients */
    mgk_prior_mode prior_mode;
    mgk_prior_view prior; /* values NULL: none (M = 1 kinds, hard-E) */
} mgk_attention_layer;

/* The sizes that determine a cost. */
typedef struct mgk_attention_size {
    int heads, tokens, dim, mixtures; /* H, N, D, M */
    bool causal;
    mgk_score_terms terms; /* `bias` not NULL: there is one */
} mgk_attention_size;

typedef struct mgk_attention_kind {
    const char *name;  /* "mgk" */
    const char *score; /* a_ij before normalisation, for people */
    mgk_key_design keys;
    bool mixture;  /* M may exceed 1; there are priors */
    bool gaussian; /* there are variances, and hard-E is possible */
    bool terms;    /* scores may have a scale and mgk_score_terms */

    /* See the operations of the same purpose in backend.h, such as mixture_attention. */
    mgk_status (*forward)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                          void *output, size_t output_stride, void *statistic);
    mgk_status (*backward)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                           const void *output, const void *doutput, size_t output_stride,
                           const void *statistic, const mgk_attention_gradient *);
    mgk_status (*matrix)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                         mgk_matrix_content, int sample, const int32_t *heads, int count,
                         void *matrix);
    /* See linear_factors in backend.h; NULL for kinds whose matrices have no thin factors. */
    mgk_status (*factors)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                          int sample, const int32_t *heads, int count, void *left, void *right);
    /*
     * See mixture_matrix_output in backend.h; the device must have it. NULL for kinds whose output
     * costs little without the matrix.
     */
    mgk_status (*matrix_output)(mgk_device *, const mgk_attention_view *,
                                const mgk_attention_layer *, int sample, const int32_t *heads,
                                int count, void *matrix, void *output, size_t output_stride);
    /* Soft-E: computes new priors of the layer; NULL for kinds without priors. */
    mgk_status (*update_prior)(mgk_device *, const mgk_attention_view *,
                               const mgk_attention_layer *, void *prior);
    /*
     * Floating-point operations of one sample's forward pass from queries, keys and values to the
     * output, all heads; a multiply-add counts as two, an exponential as one.
     */
    double (*flops)(const mgk_attention_size *);
} mgk_attention_kind;

/* The kind with this name, or NULL. */
const mgk_attention_kind *mgk_attention_find(const char *name);

/* Row number `index` of the registry, NULL past its end. */
const mgk_attention_kind *mgk_attention_row(size_t index);

/* Pairs (i, j) where query i sees key j: N², or N (N + 1) / 2 when causal, less those outside a
 * window. */
double mgk_attention_pairs(const mgk_attention_size *size);

#endif
