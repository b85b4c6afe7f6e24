/* SPDX-License-Identifier: MIT */
/*
 * A measure of attention diversity: one number for a head, a pair of heads or a layer, on one
 * sample. Each is a constant in a file of this folder, with a row in registry.c.
 *
 * A measure gives one of the functions below, or an importance. The run (analysis/run/diversity.h)
 * computes what they take once for all measures: spectra, column sums, sums over pairs of rows,
 * outputs. A function returns NaN where its value is not defined.
 */
#ifndef MGK_ANALYSIS_MEASURE_H
#define MGK_ANALYSIS_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/measures/importance.h"
#include "analysis/measures/rank.h"
#include "kernels/attention.h"
#include "kernels/rows.h"

typedef enum mgk_measure_level {
    MGK_MEASURE_HEAD,
    MGK_MEASURE_PAIR, /* two heads of a layer, or across layers; symmetric */
    MGK_MEASURE_LAYER
} mgk_measure_level;

enum { MGK_MEASURE_LEVELS = MGK_MEASURE_LAYER + 1, MGK_MEASURES_MOST = 128 };

/* "head", "pair", "layer". */
extern const char *const mgk_measure_level_names[MGK_MEASURE_LEVELS];

/* What a measure takes besides the matrices of its group: a set of bits. */
enum {
    MGK_NEEDS_SPECTRUM = 1 << 0,          /* singular values */
    MGK_NEEDS_DISTRIBUTION = 1 << 1,      /* no entry is negative; otherwise the value is empty */
    MGK_NEEDS_TOKENS = 1 << 2,            /* the sample's token ids */
    MGK_NEEDS_ENTROPIES = 1 << 3,         /* mgk_rows.entropies */
    MGK_NEEDS_SORTED = 1 << 4,            /* mgk_rows.sorted */
    MGK_NEEDS_PRODUCTS = 1 << 5,          /* mgk_pair_sums.products */
    MGK_NEEDS_ROOTS = 1 << 6,             /* mgk_pair_sums.affinities and .hellinger */
    MGK_NEEDS_DIVERGENCES = 1 << 7,       /* mgk_pair_sums.divergences */
    MGK_NEEDS_VALUES = 1 << 8,            /* the value vectors of each head */
    MGK_NEEDS_ENERGIES = 1 << 9,          /* mgk_outputs.energies and .squares */
    MGK_NEEDS_NEXT_LAYER = 1 << 10,       /* the matrices of two layers that follow each other */
    MGK_NEEDS_ROLLOUT = 1 << 11,          /* the attention of all layers so far */
    MGK_NEEDS_ROLLOUT_SPECTRUM = 1 << 12, /* and its singular values */
    MGK_NEEDS_LAYER_OUTPUT = 1 << 13,     /* the output of the layer, mgk_layer_output */
    MGK_NEEDS_QUERIES = 1 << 14,          /* queries and keys, mgk_mixture_view */
    MGK_NEEDS_KEYS = 1 << 15,
    MGK_NEEDS_MIXTURE = 1 << 16,     /* several Gaussian keys per position */
    MGK_NEEDS_KEY_WEIGHTS = 1 << 17, /* several key projections of a head */
    MGK_NEEDS_IMPORTANCE = 1 << 18,  /* runs of the model without heads, or its gradient */
    MGK_NEEDS_PROJECTIONS = 1 << 19, /* all projections of a head */
    MGK_NEEDS_POSITIONS = 1 << 20    /* queries and keys are tokens of one sequence */
};

/* Up to MGK_ROWS_MOST consecutive rows of a matrix. */
enum { MGK_ROWS_MOST = MGK_SORT_ROWS };

typedef struct mgk_rows {
    const mgk_row_kernels *kernels;
    size_t n;                /* distance of rows; order of the matrix if it is square */
    size_t keys;             /* columns of the matrix, at most n; entries beyond them are 0 */
    size_t first, count;     /* the rows: first … first + count − 1 */
    const double *a;         /* [count, n] */
    bool causal;             /* query i sees the keys 0 … i; otherwise all of them */
    const double *sums;      /* [count], of the rows */
    const double *largest;   /* [count], entries; at least 0 */
    const double *entropies; /* [count], -sum_j a_ij ln a_ij */
    /* [longest, MGK_ROWS_MOST]: column r is row r, ascending; keys that its query does not see, but
     * that of the block's last row does, are zeros in front. */
    const double *sorted;
    size_t longest; /* the keys of the last row */
    /* [2 n − 1], |k − (n − 1)|: the distances of the keys from query i begin at n − 1 − i. */
    const double *distances;
} mgk_rows;

/* Row r of the block, the number of its query, and the number V of keys that this query sees. */
static inline const double *mgk_row(const mgk_rows *rows, size_t r)
{
    return rows->a + r * rows->n;
}

static inline size_t mgk_row_query(const mgk_rows *rows, size_t r)
{
    return rows->first + r;
}

static inline size_t mgk_row_keys(const mgk_rows *rows, size_t r)
{
    return rows->causal ? rows->first + r + 1 : rows->keys;
}

/* The entries of row r that kernels take: those of keys that the query sees, and zeros. */
static inline size_t mgk_row_entries(const mgk_rows *rows, size_t r)
{
    return mgk_row_whole(mgk_row_keys(rows, r), rows->n);
}

/* A token of a sample and where it stands. */
typedef struct mgk_place {
    int32_t token, position;
} mgk_place;

/* One attention matrix A. */
typedef struct mgk_matrix_view {
    const mgk_row_kernels *kernels;
    size_t queries, keys, n;   /* n: the larger of both, which are equal in a square matrix */
    const double *a;           /* [queries, n], 0 beyond the keys */
    bool causal;               /* as in mgk_rows */
    const double *row_sums;    /* [queries] */
    const double *column_sums; /* [keys] */
    double frobenius;          /* the norm */
    const bool *zero_rows;     /* [queries], rows that are all zeros */
    const mgk_place *places;   /* [n], with MGK_NEEDS_TOKENS: sorted by token, then by position */
    double *scratch;           /* [n] */
} mgk_matrix_view;

/* The spectrum of one matrix. */
typedef struct mgk_spectrum_view {
    size_t n;                    /* their number: the order of a square matrix */
    const double *sigma;         /* [n], descending */
    const mgk_rank_row *row;     /* its measures */
    const mgk_rank_count *count; /* its rank at the threshold of the run */
} mgk_spectrum_view;

/*
 * Sums over the queries of some heads of a sample, for each pair: [H, H], symmetric. All but
 * `products` are sums over the queries whose rows are not all zeros in both heads, `queries` in
 * number.
 */
typedef struct mgk_pair_sums {
    size_t heads;
    const double *products;    /* sum_ij a_ij b_ij */
    const double *affinities;  /* sum_i sum_j √(a_ij b_ij) */
    const double *hellinger;   /* sum_i √(½ sum_j (√a_ij − √b_ij)²) */
    const double *divergences; /* sum_i JS(a_i, b_i), in nats */
    const double *queries;
} mgk_pair_sums;

/* The value vectors of a group, and the outputs O = A V of its heads. */
typedef struct mgk_outputs {
    const mgk_row_kernels *kernels;
    size_t heads, n;
    /* Of all pairs [H, H], summed over tokens: products of vectors divided by their lengths. */
    const double *value_products, *output_products;
    const bool *zero_values, *zero_outputs; /* [H, n], vectors of length 0 */
    /* Of X, the outputs with the mean of each column subtracted, with MGK_NEEDS_ENERGIES: */
    const double *energies; /* [H, H], g <= h: ||X_hᵀ X_g||_F² */
    const double *squares;  /* [H, n], squared lengths of the rows of X */
} mgk_outputs;

/* The output X of a layer: the hidden states that the next layer reads. */
typedef struct mgk_layer_output {
    const mgk_row_kernels *kernels;
    size_t n, dim;
    const double *x; /* [n, C] */
    double *scratch; /* [3, C] */
} mgk_layer_output;

/* The mixture of Gaussian keys of one head: a_ij ~ sum_r pi_jr exp(-|q_i - k_jr|^2 / (2
 * sigma_r^2)). Members that the measure does not need may be NULL. */
typedef struct mgk_mixture_view {
    size_t n, dim, mixtures; /* N, D, M > 1 */
    bool causal;             /* as in mgk_rows */
    const double *queries;   /* [n, D] */
    const double *keys;      /* [M, n, D] */
    const double *priors;    /* [M, prior_pitch], of each key */
    size_t prior_pitch;
    const double *variances; /* [M] */
    double *scratch;         /* mgk_mixture_scratch numbers */
} mgk_mixture_view;

/* Queries that a mixture's scores are computed for at a time. */
enum { MGK_MIXTURE_QUERIES = 32 };

static inline size_t mgk_mixture_scratch(size_t n, size_t mixtures)
{
    return (3 * MGK_MIXTURE_QUERIES + mixtures) * n;
}

/* A layer among the layers of a sample. */
typedef struct mgk_depth_view {
    const mgk_row_kernels *kernels;
    size_t heads, n;
    const double *cosines;             /* [H], of the matrices of a head in the layer and in the
                                          next one; NULL: no next one, or not requested */
    const double *rollout;             /* [n, n], rows sum to 1; NULL: not requested */
    const mgk_spectrum_view *spectrum; /* of the rollout */
} mgk_depth_view;

/* An orthonormal basis of what a projection of a head reads of the tokens, or writes to them. */
typedef struct mgk_basis {
    const double *rows; /* [rank, width] */
    size_t rank, width; /* 0 to C; C */
} mgk_basis;

typedef struct mgk_measure mgk_measure;
struct mgk_measure {
    const char *name; /* letters, digits and underscores */
    mgk_measure_level level;
    unsigned needs;
    const char *unit;  /* "": no unit */
    const char *range; /* "0 to ln N" */
    const char *formula;
    const char *source; /* author and year; "": common knowledge */
    bool similarity;    /* of a pair: larger for heads that are more alike; false: a distance */

    /* Of a head: the mean over all rows that have a value and are not all zeros; values [count]. */
    void (*rows)(const mgk_rows *rows, double *values);
    double (*matrix)(const mgk_matrix_view *matrix);
    double (*spectrum)(const mgk_spectrum_view *spectrum);
    /* Of a head with a mixture of keys; `components`: a value for each, values [M], else one. */
    void (*mixture)(const mgk_mixture_view *mixture, double *values);
    bool components;
    /* Of a head's weights alone, the same on each sample: W [M, count] of M > 1 key projections. */
    double (*key_weights)(size_t mixtures, size_t count, const double *weights);

    /* Of a head, with MGK_NEEDS_IMPORTANCE: the value that the source knows. */
    mgk_importance importance;

    /* Of a pair, g <= h: from sums over rows, or from the outputs. */
    double (*pair)(const mgk_pair_sums *sums, size_t h, size_t g);
    double (*outputs)(const mgk_outputs *outputs, size_t h, size_t g);
    /* Of a pair's weights alone, the same on each sample: from bases of one projection; scratch
     * [a->rank, b->rank]. */
    double (*bases)(const mgk_basis *a, const mgk_basis *b, double *scratch);
    mgk_projection projection;

    /* Of a layer: from the values [H, H] of the measure `of`, scratch [H, H + 4]; from its place
     * among the layers; or from its output. */
    const mgk_measure *of;
    double (*pairs)(size_t heads, const double *values, double *scratch);
    double (*depth)(const mgk_depth_view *layer);
    double (*layer_output)(const mgk_layer_output *output);
};

#endif
