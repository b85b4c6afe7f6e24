/* SPDX-License-Identifier: MIT */
/* One attention problem: its sizes, its numbers on the host in double, and the calls of its kind on
 * a device. Tests set the fields of attention_shape; this helper handles the strides. */
#ifndef MGK_TESTS_KERNELS_ATTENTION_CASE_H
#define MGK_TESTS_KERNELS_ATTENTION_CASE_H

#include "kernels/attention.h"
#include "workspace.h"

/* The shapes a prior may have. */
typedef enum prior_shape {
    PRIOR_OF_COMPONENT, /* [M] */
    PRIOR_OF_HEAD,      /* [H, M] */
    PRIOR_OF_KEY        /* [H, M, N] */
} prior_shape;

enum { MOST_SAMPLES = 4 };

typedef struct attention_shape {
    const mgk_attention_kind *kind;
    mgk_prior_mode prior_mode;
    prior_shape prior;
    int samples, heads, tokens, dim,
        mixtures; /* B, H, N, D, M; mixtures is 1 for kinds with one key */
    bool causal;
    bool interleaved; /* a token's query, key and value are adjacent, followed by a gap */
    bool unequal;     /* variances differ between components */
    double normalizer_epsilon;
    double fixed_normalizer; /* these two are for linear kinds only, which then have no gradients */
    bool mix_keys;
    double scale; /* these four are for softmax on a device with all parts; gradients ignore them */
    int window;
    double cap;
    bool biased;   /* by distance; see `bias` of the case */
    bool by_key;   /* the bias; see mgk_score_terms */
    int sides;     /* P of distances that meet content; see `sides` of the case; 0: none */
    int masked;    /* of every so many keys of a sample the first is masked; 0: none */
    int shortened; /* sample b has N − b · shortened tokens, at least 0 */
} attention_shape;

/* The inputs of attention; each has a gradient. */
typedef enum attention_input {
    QUERY, /* [B, N, H, D] */
    KEY,   /* [B, N, M, H, D]; [B, N, H, D] if shifts are added */
    VALUE, /* [B, N, H, D] */
    PRIOR, /* as in prior_shape; none for one key and for hard-E */
    SHIFT, /* [M, H, D], if keys are shifted */
    INPUTS
} attention_input;

typedef struct attention_case {
    attention_shape shape;
    size_t count[INPUTS]; /* 0: the kind has no such input */
    double *input[INPUTS];
    double variance[MGK_MAX_MIXTURES];
    double *bias;     /* [H, 2 N + 1]: of T = N + 1 tokens; NULL: none */
    double *sides[2]; /* [B, N, H, P] of queries and of keys; NULL: none */
    int32_t *places;  /* [2 N + 1], below P */
    int32_t lengths[MOST_SAMPLES];
    int32_t *masked;          /* [B, N]; NULL: none */
    size_t outputs, matrices; /* sizes of output [B, N, H, D] and matrices [B, H, N, N] */
} attention_case;

/* Makes a case of that shape with random inputs; the workspace keeps it. */
attention_case attention_case_make(workspace *space, attention_shape shape);

/* Calls body(space, shape) for every kind of the registry and each of its prior modes. */
void attention_for_kinds(workspace *space, attention_shape shape,
                         void (*body)(workspace *, attention_shape));

/* The k_jr of a case, [B, N, M, H, D]; the workspace keeps them. */
const double *attention_case_keys(workspace *space, const attention_case *problem);

/* Index of π_jr of head h in input[PRIOR]. */
size_t attention_case_prior(const attention_case *problem, int head, int component, int key);

/* These compute on the workspace's device; results are double. */
void attention_case_output(const workspace *space, const attention_case *problem, double *output);
void attention_case_matrix(const workspace *space, const attention_case *problem,
                           mgk_matrix_content content, double *matrix);
/* Both at once; false: the kind or the device does not support that. */
bool attention_case_both(const workspace *space, const attention_case *problem, double *matrix,
                         double *output);
/* The product of the matrices' factors, which must not be negative; false: there are none. */
bool attention_case_product(const workspace *space, const attention_case *problem, double *matrix);
void attention_case_update_prior(const workspace *space, const attention_case *problem,
                                 double *prior);
/* The workspace keeps gradient[k] [count[k]]. */
void attention_case_gradient(workspace *space, const attention_case *problem, const double *doutput,
                             double *gradient[INPUTS]);

/* By definition, in double, without any step of the kernels: A_ij and s_ij, [B, H, N, N] each, and
 * new soft-E priors. */
void attention_reference_matrix(workspace *space, const attention_case *problem, double *attention,
                                double *scores);
void attention_reference_update_prior(workspace *space, const attention_case *problem,
                                      double *prior);
/* output = matrix · V. */
void attention_weigh_values(const attention_case *problem, const double *matrix, double *output);

/* Compares matrix, factors, scores and output of the workspace's device with these and with each
 * other. */
void attention_compare_case(workspace *space, const attention_case *problem);
/* The same for a case of that shape. */
void attention_compare(workspace *space, attention_shape shape);

/* For each row, |actual − expected| <= tolerance · largest |expected| of the row. */
void assert_rows_match(size_t rows, size_t cols, const double *actual, const double *expected,
                       double tolerance);

/* Runs the tests, whose *state is a workspace, on every device, in single precision (unless
 * `doubles_only`) and in double, with 1 and 3 threads. Returns the number of failures. */
int attention_run_tests(bool doubles_only, size_t count, const struct CMUnitTest *tests);
/* The same on the best device alone, in double; for tests that are too slow for all. */
int attention_run_best(size_t count, const struct CMUnitTest *tests);

#endif
