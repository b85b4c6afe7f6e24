/* SPDX-License-Identifier: MIT */
/*
 * A problem for any kind of attention, from what its row of the registry declares: sizes, settings,
 * random inputs on the host in double, and the calls of its methods on a device. Kinds that read
 * the layer below get a few layers.
 */
#ifndef MGK_TESTS_KERNELS_KIND_CASE_H
#define MGK_TESTS_KERNELS_KIND_CASE_H

#include "../workspace.h"
#include "kernels/attention.h"

enum { KIND_SAMPLES = 2, KIND_LAYERS = 3 };

/* The inputs of a layer; each has a gradient. */
typedef enum kind_input {
    KIND_QUERY, /* [B, N, H, D] */
    KIND_KEY,
    KIND_VALUE,
    KIND_EXTRA,     /* [B, N, E] */
    KIND_PARAMETERS /* the first of the kind's own */
} kind_input;

enum { KIND_INPUTS = KIND_PARAMETERS + MGK_KIND_PARAMETERS };

typedef struct kind_shape {
    const mgk_attention_kind *kind;
    mgk_attention_settings settings; /* 0: small numbers for tests */
    int heads, tokens, dim;          /* H, N, D; B is KIND_SAMPLES */
    bool causal;
    int length;     /* positions of the model; 0: N + 2 */
    int shortened;  /* sample 1 has so many tokens fewer */
    double epsilon; /* normalizer_epsilon of the layers */
} kind_shape;

typedef struct kind_layer {
    size_t count[KIND_INPUTS]; /* 0: there is no such input */
    double *input[KIND_INPUTS];
    double *gradient[KIND_INPUTS];
} kind_layer;

typedef struct kind_case {
    kind_shape shape; /* with the settings in use */
    int depth;        /* layers */
    int32_t lengths[KIND_SAMPLES];
    int parameter_count;
    mgk_kind_parameter parameters[MGK_KIND_PARAMETERS];
    kind_layer layers[KIND_LAYERS];
    size_t outputs, matrices; /* [B, N, H, D], [B, H, N, N] of a layer */
} kind_case;

/* Whether the kind can have this shape at all: a causal form, for example. */
bool kind_can(kind_shape shape);

/* A case with random inputs; the workspace keeps it. */
kind_case kind_case_make(workspace *space, kind_shape shape);

/* The sizes of a layer of the case. */
mgk_attention_size kind_case_size(const kind_case *problem, int layer);

/* On the workspace's device: outputs [depth] of kind_case.outputs numbers, and matrices [depth]
 * (NULL: not wanted). */
void kind_case_run(const workspace *space, const kind_case *problem, double *outputs,
                   mgk_matrix_content content, double *matrices);

/* The matrices of layer 0 of a case; the workspace keeps them. */
double *kind_case_matrices(workspace *space, const kind_case *problem);

/* x·y of vectors [count]. */
double kind_dot(int count, const double *x, const double *y);

/* The rank of a matrix [n, n], which is overwritten; entries below 1e-10 are 0. */
int kind_matrix_rank(int n, double *matrix);

/* Runs the tests, whose *state is a workspace, on the CPU in both precisions. Returns the number of
 * failures. */
int kind_run_tests(size_t count, const struct CMUnitTest *tests);

/* Fills the gradients of all inputs, for the gradients of outputs [depth]. */
void kind_case_gradients(const workspace *space, kind_case *problem, const double *doutputs);

#endif
