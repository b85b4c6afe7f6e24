/* SPDX-License-Identifier: MIT */
/* Attention through a pattern of tiles and with the terms of scores: one problem, and what its
 * formula gives, written down without any step of the kernels. */
#ifndef MGK_TESTS_KERNELS_TILE_CASE_H
#define MGK_TESTS_KERNELS_TILE_CASE_H

#include "kernels/attention/pattern.h"
#include "workspace.h"

enum { TILE_SAMPLES = 3, TILE_HEADS = 2 };

typedef struct tile_shape {
    int queries, keys; /* keys 0: as many */
    int dim, value_dim, mixtures;
    bool causal, gaussian, hard, unnormalized;
    bool ragged; /* samples have all, half and none of the queries and keys */
    bool pattern, by_sample, by_head, tile_logits;
    int window;
    double cap, epsilon;
    bool bias, by_key;
    bool full, full_by_sample, full_by_head;
    bool prior; /* of each key; those of the second half are 0 */
} tile_shape;

/* The inputs; each has a gradient. */
typedef enum tile_input {
    TILE_QUERY, /* [B, N, H, D] */
    TILE_KEY,   /* [B, K, M, H, D] */
    TILE_VALUE, /* [B, K, H, E] */
    TILE_PRIOR, /* [H, M, K] */
    TILE_BIAS,  /* [H, 2 T − 1] */
    TILE_FULL,  /* [variants, N, K] */
    TILE_INPUTS
} tile_input;

typedef struct tile_case {
    tile_shape shape;
    size_t count[TILE_INPUTS]; /* 0: there is none */
    double *input[TILE_INPUTS];
    int32_t lengths[TILE_SAMPLES], key_lengths[TILE_SAMPLES];
    mgk_pattern pattern;  /* in host memory, which is the device's */
    size_t tiles;         /* of the pattern */
    double *tile_logits;  /* [tiles, 16, 16]; NULL: none */
    size_t outputs, rows; /* B N H E and B H N */
    size_t matrix;        /* N K */
} tile_case;

/* Makes a case with random inputs and a random pattern; release it with tile_case_release. */
tile_case tile_case_make(workspace *space, tile_shape shape);
void tile_case_release(tile_case *problem);

/* Whether query i sees key j in the pattern of a sample and head: its definition. */
bool tile_case_sees(const tile_shape *shape, int sample, int head, int i, int j);

/* By the formula, in double: matrices [B, H, N, K] before and after normalisation, and the output.
 */
void tile_case_reference(const tile_case *problem, double *scores, double *attention,
                         double *output);
/* New soft-E priors [H, M, K]. */
void tile_case_reference_prior(const tile_case *problem, double *prior);

/* The view and the scores of a case on the device; *pattern is used by *mixture. */
void tile_case_upload(workspace *space, const tile_case *problem, mgk_attention_view *view,
                      mgk_mixture *mixture, mgk_pattern *pattern);

#endif
