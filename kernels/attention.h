/*
 * The registry of attention kinds. A kind is one file of kernels/attention/ and one row in
 * attention.c: how its keys are made, which scores they give (in terms of a device's
 * operations, so a kind runs on every device), and what that costs.
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

/* One layer's attention beyond its queries, keys and values. */
typedef struct mgk_attention_layer {
    double variance[MGK_MAX_MIXTURES]; /* σ_r² of Gaussian scores */
    double normalizer_epsilon;
    double fixed_normalizer; /* linear kinds; see mgk_linear. Such layers have no gradients */
    bool mix_keys;           /* nor have these */
    mgk_prior_mode prior_mode;
    mgk_prior_view prior; /* values NULL: none (M = 1 kinds, hard-E) */
} mgk_attention_layer;

/* Sizes that a cost depends on. */
typedef struct mgk_attention_size {
    int heads, tokens, dim, mixtures; /* H, N, D, M */
    bool causal;
} mgk_attention_size;

typedef struct mgk_attention_kind {
    const char *name;  /* "mgk" */
    const char *score; /* a_ij before normalisation, for people */
    mgk_key_design keys;
    bool mixture;  /* M may exceed 1; there are priors */
    bool gaussian; /* there are variances, and hard-E is possible */

    /* See mixture_attention and its neighbours in backend.h; a kind calls them. */
    mgk_status (*forward)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                          void *output, size_t output_stride, void *statistic);
    mgk_status (*backward)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                           const void *output, const void *doutput, size_t output_stride,
                           const void *statistic, const mgk_attention_gradient *);
    mgk_status (*matrix)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                         mgk_matrix_content, int sample, const int32_t *heads, int count,
                         void *matrix);
    /* See linear_factors in backend.h; NULL for kinds whose matrices are no such products. */
    mgk_status (*factors)(mgk_device *, const mgk_attention_view *, const mgk_attention_layer *,
                          int sample, const int32_t *heads, int count, void *left, void *right);
    /* See mixture_matrix_output in backend.h, which the device must have; NULL for kinds whose
     * output takes little without the matrix. */
    mgk_status (*matrix_output)(mgk_device *, const mgk_attention_view *,
                                const mgk_attention_layer *, int sample, const int32_t *heads,
                                int count, void *matrix, void *output, size_t output_stride);
    /* Soft-E: new priors for the layer's; NULL for kinds without. */
    mgk_status (*update_prior)(mgk_device *, const mgk_attention_view *,
                               const mgk_attention_layer *, void *prior);
    /*
     * Floating-point operations of one sample's forward pass from queries, keys and values to the
     * output, all heads; a multiply-add is two, an exponential one.
     */
    double (*flops)(const mgk_attention_size *);
} mgk_attention_kind;

/* The kind of that name, or NULL. */
const mgk_attention_kind *mgk_attention_find(const char *name);

/* Row number `index` of the registry, NULL past its end. */
const mgk_attention_kind *mgk_attention_row(size_t index);

/* Pairs (i, j) that see each other: N², or N (N + 1) / 2 when causal. */
double mgk_attention_pairs(const mgk_attention_size *size);

#endif
