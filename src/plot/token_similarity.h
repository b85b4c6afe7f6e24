/* SPDX-License-Identifier: MIT */
/*
 * How alike tokens are to a model, by the attention between them, beside a reference such as
 * BLOSUM62.
 *
 * The value of tokens a and b is the mean of a_ij n_i over the pairs i != j of positions with these
 * tokens, in either order, of which query i sees key j and n_i keys: 1 if attention is even.
 */
#ifndef MGK_PLOT_TOKEN_SIMILARITY_H
#define MGK_PLOT_TOKEN_SIMILARITY_H

#include "plot/plot.h"
#include "plot/reference.h"

enum { MGK_SIMILAR_TOKENS = 128 };

/* A token of the vocabulary that occurs in the store. */
typedef struct mgk_similar_word {
    int32_t id;
    int class;    /* its row of the values, or -1 */
    size_t count; /* occurrences */
    mgk_plot_text text;
} mgk_similar_word;

typedef struct mgk_token_similarity {
    const char *path, *reference_path; /* of the inputs; NULL: there is no reference */
    mgk_store_reader *reader;
    const mgk_store_description *store;
    int32_t *layers, *heads, *layer_numbers, *head_numbers; /* chosen positions, and numbers */
    size_t layer_count, head_count;
    mgk_similar_word *words; /* [word_count], by id */
    size_t word_count;
    mgk_reference reference;
    int classes; /* K */
    mgk_plot_text labels[MGK_SIMILAR_TOKENS];
    const char *label_list[MGK_SIMILAR_TOKENS]; /* [K] */
    double *sums, *counts;                      /* [K, K], of queries and keys */
    double *values;                             /* [K, K]; NaN: these tokens never meet */
    double *known; /* [K, K], of the reference; NaN where it has none */
} mgk_token_similarity;

/*
 * Measures the store among the options' inputs, of which the other one is a reference or missing.
 * Its tokens are those of the reference that occur, or the most frequent ones. Release with
 * mgk_token_similarity_free, also after a failure. STATUS_USAGE: other inputs; STATUS_FORMAT: a
 * store without text of tokens; STATUS_SHAPE: fewer than two tokens.
 */
mgk_status mgk_token_similarity_measure(const mgk_plot_options *options, mgk_token_similarity *out);
void mgk_token_similarity_free(mgk_token_similarity *similarity);

/* Writes in words how values and reference correlate, or that they do not. */
void mgk_token_similarity_agreement(const mgk_token_similarity *similarity, char *text,
                                    size_t size);

#endif
