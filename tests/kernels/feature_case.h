/* SPDX-License-Identifier: MIT */
/*
 * A case of linear attention with a feature map: its arrays on the host, its formula in double —
 * explicit features, their products, and the matrix of these — and what the device computes.
 */
#ifndef MGK_TESTS_KERNELS_FEATURE_CASE_H
#define MGK_TESTS_KERNELS_FEATURE_CASE_H

#include "workspace.h"

enum { SAMPLES = 2, HEADS = 2, GAP = 3 };
enum { QUERY, KEY, VALUE, GATE, OUTPUT, ARRAYS };

typedef struct map_row {
    const char *name;
    mgk_features features; /* omega_rows 1: it has an omega */
} map_row;

enum { FEATURE_MAPS = 18 };
extern const map_row feature_maps[FEATURE_MAPS];

/* Arrays on the host in the layout of the device: tokens `stride` apart. */
typedef struct feature_case {
    const char *name;
    int tokens, dim;
    bool causal, gated;
    double epsilon, fixed_normalizer, least_sum;
    mgk_features features; /* omega on the host */
    size_t stride, gate_stride, count[ARRAYS];
    int32_t lengths[SAMPLES];
    double *host[ARRAYS], *omega;
} feature_case;

typedef struct placed {
    mgk_attention_view view;
    mgk_linear linear;
    void *output;
} placed;

/* Random arrays; omega_rows are of maps that have an omega. */
feature_case feature_make(workspace *space, const map_row *row, int tokens, int dim,
                          size_t omega_rows);

/* The arrays on the device. */
placed feature_place(workspace *space, const feature_case *p);

/* What the device computes. */
const double *feature_output(workspace *space, const feature_case *p);

/* The gradients of Σ weight · output. */
void feature_differentiate(workspace *space, const feature_case *p, const double *weight,
                           double *result[GATE + 1]);

/* Matrix, scores, factors and output of all heads against the reference. */
void feature_compare(workspace *space, const feature_case *p);

/* The derivative along a random direction in each array. */
void feature_compare_gradient(workspace *space, feature_case *p);

/* Whether number `at` of an array belongs to a head. */
bool feature_counts(const feature_case *p, int array, size_t at);

/* phi [R] of x [D] at a position. */
void feature_reference(const feature_case *p, int head, int position, const double *x, double *phi);

#endif
