/* SPDX-License-Identifier: MIT */
/* A source of synthetic matrices that records how it is used. */
#ifndef MGK_TEST_ANALYSIS_SOURCE_H
#define MGK_TEST_ANALYSIS_SOURCE_H

#include "analysis/run/source.h"

enum { TEST_SOURCE_MOST = 2048 };

/* The function that fails. */
typedef enum test_stage {
    TEST_NEXT,
    TEST_PREPARE,
    TEST_TAKE,
    TEST_VECTORS, /* of the layer that the matrix belongs to */
    TEST_TOKENS   /* of its sample */
} test_stage;

/* Matrix i is head i % heads of layer i / heads % layers of sample i / heads / layers. */
typedef struct test_source {
    size_t count, heads, layers; /* matrices at most TEST_SOURCE_MOST */
    size_t n_max, ahead;
    size_t (*order)(const void *context, size_t i); /* n; the same for all heads of a layer */
    /* The queries and keys of head i, known after they are prepared; NULL: n each. `fill` then
     * gives the matrix of both, [n, n], n the larger; rows after the queries are NaN. */
    void (*sides)(const void *context, size_t i, size_t *queries, size_t *keys);
    void (*fill)(const void *context, size_t i, size_t n, double *data);
    /* Value vectors [n, dim] of head i, and tokens [n] of its sample; NULL: the source has none. */
    void (*values)(const void *context, size_t i, size_t n, double *data);
    void (*tokens)(const void *context, size_t i, size_t n, int32_t *ids);
    /* Output [n, model_dim] of the layer of head i; NULL: none. */
    void (*output)(const void *context, size_t i, size_t n, double *data);
    size_t model_dim;
    size_t dim;
    /* Queries [n, dim] and keys [M, n, dim] of head i; its priors [M, n_max] and variances [M], and
     * component r of its key weights [width, dim]. M 0: none of these. */
    size_t mixtures, width;
    void (*queries)(const void *context, size_t i, size_t n, double *data);
    void (*keys)(const void *context, size_t i, size_t n, double *data);
    void (*mixture)(const void *context, size_t i, double *priors, double *variances);
    void (*key_weight)(const void *context, size_t i, size_t r, double *data);
    /* What head i is worth; NULL: not known. */
    double (*importance)(const void *context, size_t i, int which);
    /* Projection `which` of head i, [D or M D, width]; NULL: none. */
    void (*projection)(const void *context, size_t i, mgk_projection which, double *data);
    bool floats, causal;
    const void *context;
    const int32_t *sample_numbers, *layer_numbers, *head_numbers;
    size_t failing; /* index of the matrix with which `stage` fails; SIZE_MAX: none */
    test_stage stage;

    /* Recorded use. */
    size_t next;
    size_t groups, longest,
        most_prepared; /* number of groups, heads of the longest, most matrices prepared at once */
    int threads;       /* number of threads that took matrices at the same time */
    int inside;        /* threads in functions that one calls at a time */
    int taken[TEST_SOURCE_MOST];     /* how often */
    bool prepared[TEST_SOURCE_MOST]; /* matrices that may be taken now */
    bool misused; /* called by several threads, for too many matrices, or for unprepared ones */
} test_source;

/* The source for analysis; borrows *s. */
mgk_source test_source_of(test_source *s);

#endif
