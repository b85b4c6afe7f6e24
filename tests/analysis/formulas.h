/* SPDX-License-Identifier: MIT */
/* The measures as direct transcriptions of their formulas, in long double and without any code of
 * the library, so that they can tell it wrong. Slow: some take N^3 steps. */
#ifndef MGK_TEST_ANALYSIS_FORMULAS_H
#define MGK_TEST_ANALYSIS_FORMULAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEST_IMPORTANCES = 4 }; /* ablation, gradient, divergence, hidden */

/* One sample of a model; the arrays are owned by whoever made it. */
typedef struct test_sample {
    size_t layers, heads, n, dim, model_dim, mixtures, width, n_max;
    size_t columns, sigmas; /* keys of another sequence, or n; the smaller of both */
    bool causal, cross;     /* cross: they are of another sequence */
    double threshold;       /* of ranks */
    bool relative;          /* it is a multiple of sigma_1 */
    double *a;              /* [L, H, n, columns] */
    double *sigma;          /* [L, H, sigmas], singular values, descending */
    double *values;         /* [L, H, n, D] */
    double *outputs;        /* [L, n, C] */
    double *queries;        /* [L, H, n, D] */
    double *keys;           /* [L, H, M, n, D] */
    double *priors;         /* [L, H, M, n_max] */
    double *variances;      /* [L, H, M] */
    double *weights;        /* [L, H, M, width, D] */
    double *importances;    /* [L, H, TEST_IMPORTANCES], what the source says */
    size_t all_heads;       /* L H of the model */
    double *projections;    /* [4, L H, M D, width]: vectors of queries, keys, values and outputs,
                               M D of keys and D of the others */
    int32_t *tokens;        /* [n] */
    const int32_t *numbers; /* [L], the model's numbers of the layers; NULL: 0, 1, 2, ... */
} test_sample;

/* One of the four functions; NaN where the measure has no value. */
typedef struct test_formula {
    const char *name;
    long double (*head)(const test_sample *s, size_t layer, size_t head);
    /* of a component of a head */
    long double (*component)(const test_sample *s, size_t layer, size_t head, size_t r);
    long double (*pair)(const test_sample *s, size_t layer, size_t h, size_t g);
    long double (*layer)(const test_sample *s, size_t layer);
    double absolute, relative; /* the error that is allowed */
} test_formula;

/* NULL: there is none. */
const test_formula *test_formula_find(const char *name);

#endif
