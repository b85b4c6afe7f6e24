/* A source of synthetic matrices, which watches how it is used. */
#ifndef MGK_TEST_ANALYSIS_SOURCE_H
#define MGK_TEST_ANALYSIS_SOURCE_H

#include "analysis/run/source.h"

enum { TEST_SOURCE_MOST = 2048 };

/* The function that fails. */
typedef enum test_stage { TEST_NEXT, TEST_PREPARE, TEST_TAKE } test_stage;

/* Matrix i is head i % heads of layer i / heads % layers of sample i / heads / layers. */
typedef struct test_source {
    size_t count, heads, layers; /* matrices at most TEST_SOURCE_MOST */
    size_t n_max, ahead;
    size_t (*order)(const void *context, size_t i); /* n; the same for all heads of a layer */
    void (*fill)(const void *context, size_t i, size_t n, double *data);
    const void *context;
    const int32_t *sample_numbers, *layer_numbers;
    size_t failing; /* the matrix with which `stage` fails; SIZE_MAX: none */
    test_stage stage;

    /* What has happened. */
    size_t next;
    size_t groups, longest,
        most_prepared;               /* groups named, heads of the longest, matrices at once */
    int threads;                     /* that took matrices together */
    int taken[TEST_SOURCE_MOST];     /* how often */
    bool prepared[TEST_SOURCE_MOST]; /* that can be taken now */
    bool misused; /* called by several threads, for too much, or for what is not prepared */
} test_source;

/* The source as analysis sees it; borrows *s. */
mgk_source test_source_of(test_source *s);

#endif
