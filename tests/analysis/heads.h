/* SPDX-License-Identifier: MIT */
/* Attention of a synthetic model, of a chosen kind, as a source; and its samples for formulas. */
#ifndef MGK_TEST_ANALYSIS_HEADS_H
#define MGK_TEST_ANALYSIS_HEADS_H

#include "analysis/formulas.h"
#include "analysis/run/record.h"
#include "analysis/source.h"

typedef enum test_kind {
    TEST_RANDOM,    /* softmax of normal logits */
    TEST_CAUSAL,    /* the same, of keys that are not after the query */
    TEST_FLOATS,    /* causal, of numbers that floats hold */
    TEST_PADDED,    /* samples of n, n / 2, 1 and 0 tokens */
    TEST_ONE_HOT,   /* each query attends to one key; no token repeats */
    TEST_UNIFORM,   /* 1 / n */
    TEST_SINK,      /* all queries attend to the first key, but for one of each head, to itself */
    TEST_RANK_ONE,  /* all queries of a head alike */
    TEST_IDENTICAL, /* all heads of a layer alike */
    TEST_DISJOINT,  /* no key is seen by two heads */
    TEST_ZERO_ROWS, /* every third query of a head sees nothing, of head 1 none sees anything */
    TEST_NEGATIVE,  /* some entries are negative, none in head 0 */
    TEST_WIDE,      /* cross-attention of n / 3 queries to n keys, and of n to n, by turns */
    TEST_TALL,      /* of n queries to n / 2 keys, and of n / 3 to n */
    TEST_KINDS
} test_kind;

/* Components of each head's keys, and C of their weights. */
enum { TEST_MIXTURES = 3, TEST_WIDTH = 10 };

typedef struct test_model {
    test_kind kind;
    size_t samples, layers, heads, n, dim; /* n: of the longest sample */
    bool without_values, without_tokens, without_outputs, without_mixtures, without_importance;
    const int32_t *layer_numbers; /* NULL: 0, 1, 2, ... */
} test_model;

/* The model as a source, which borrows it. */
test_source test_source_of_model(const test_model *model);

/* Sample number `sample` of the model for formulas, at threshold 1e-6; release with
 * test_sample_free. */
test_sample test_sample_of_model(const test_model *model, size_t sample);
void test_sample_free(test_sample *sample);

/* Records of all samples, as a run hands them over. */
typedef struct test_records {
    const mgk_record_layout *layout;
    double *values; /* [count, record], owned */
    size_t count;
    size_t first;   /* sample of the first record that is expected */
    bool misplaced; /* a record came out of order */
} test_records;

/* mgk_diversity_run_options.receive, with a test_records as state. */
mgk_status test_receive(void *records, size_t sample, double *record);
/* The values of a measure in a layer of the record of a sample. */
const double *test_values(const test_records *records, const char *name, size_t sample,
                          size_t layer);
void test_records_free(test_records *records);

#endif
