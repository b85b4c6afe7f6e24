/* SPDX-License-Identifier: MIT */
/*
 * The steps shared by the output of a mixture, its gradient, the explicit matrix and the
 * responsibilities: packing one head, computing the logits of a block of queries, normalising a
 * row.
 *
 * A row of logits has the keys that some query of its block may see, and no others: runs of
 * consecutive keys, one after another. Without a pattern there is one run. What happens within a
 * row does not depend on runs; products have a part for each.
 *
 * Logits omit a constant of their row, which cancels in the normalisation: scale_r ‖q_i − k‖² / 2
 * is stored without scale ‖q_i‖² / 2, the row's "offset", where scale is the least of all scale_r.
 * This also keeps float32 accurate for queries far from every key: there the widest component
 * dominates, and it is the one without a large term.
 */
#ifndef MGK_KERNELS_CPU_MIXTURE_H
#define MGK_KERNELS_CPU_MIXTURE_H

#include "kernels/cpu/tile.h"

/* The most queries of a block. */
enum { MGK_MIXTURE_MOST_ROWS = 64 };

/* The use of a packed head. */
typedef enum mgk_mixture_use {
    MGK_MIXTURE_LOGITS,  /* logits only: neither values nor gradients */
    MGK_MIXTURE_OUTPUT,  /* also values */
    MGK_MIXTURE_BACKWARD /* also keys and values in the layout of gradients */
} mgk_mixture_use;

/* Keys begin … begin + width − 1 of a block, whole vectors, at place `at` of its rows. */
typedef struct mgk_mixture_run {
    size_t begin, at, width;
} mgk_mixture_run;

/* The room for a block of queries and keys, the same for all heads of an operation. */
typedef struct mgk_mixture_room {
    size_t rows;  /* most queries of a block */
    size_t keys;  /* a block has keys of a range that long, a multiple of MGK_LANES */
    size_t pitch; /* reals from row to row of logits: room for the longest row */
    size_t runs;  /* most runs of a block */
} mgk_mixture_room;

/*
 * One head of one sample in a thread's scratch memory, and the logits of one block: consecutive
 * queries, and those of a range of keys that they see. cols = mgk_cpu_pitch(valid keys), depth =
 * mgk_cpu_padded(D), and value_depth of the values.
 */
typedef struct mgk_mixture_head {
    const mgk_attention_view *view;
    const mgk_mixture *mixture;
    mgk_mixture_room room;
    size_t sample, head;
    size_t n;           /* valid queries */
    size_t keys;        /* valid keys: n, but for attention to another sequence */
    double least_scale; /* the least scale_r */
    size_t cols, depth, value_depth;
    real *key_t;   /* [M, D, cols] scale_r k_jr, transposed */
    real *bias;    /* [M, cols] log π_jr − scale_r ‖k_jr‖² / 2; −inf beyond `keys` */
    real *value;   /* [cols, value_depth], for the output */
    real *key;     /* [M, cols, depth] scale_r k_jr, for gradients */
    real *value_t; /* [value dimension, cols], for gradients */
    /* the block */
    size_t first, rows;    /* queries first … first + rows − 1 */
    mgk_mixture_run *runs; /* [run_count] */
    size_t run_count;
    size_t tile;  /* of the pattern, at the begin of a row */
    size_t width; /* of all runs */
    real *query;  /* [room.rows, depth] */
    /* scale ‖q_i‖² / 2 of Gaussian scores, see above; 0 of dot products */
    double offset[MGK_MIXTURE_MOST_ROWS];
    real *logits;  /* [M, room.rows, pitch] */
    real *slope;   /* [M, room.rows, pitch] derivatives of the cap, for gradients; NULL: no cap */
    real *scratch; /* of the caller */
} mgk_mixture_head;

/* From component to component of sums over samples, [M, ·] numbers of a key. */
static inline size_t mgk_mixture_sum_pitch(const mgk_attention_view *view)
{
    return mgk_cpu_pitch((size_t)mgk_view_keys(view));
}

/* The room for blocks of all keys for which `arrays` arrays [rows, pitch] fit the second-level
 * cache; with a pattern, for its blocks. */
mgk_mixture_room MGK_CPU(mixture_room)(const mgk_attention_view *view, const mgk_mixture *mixture,
                                       size_t arrays);

/* The same for blocks of more queries and of a part of their keys, for sums over queries. With a
 * pattern and for the smallest heads a part is all keys. */
mgk_mixture_room MGK_CPU(mixture_part_room)(const mgk_attention_view *view,
                                            const mgk_mixture *mixture, size_t arrays);

/* Reals of scratch memory per thread for one head, with `extra` reals of the caller. */
size_t MGK_CPU(mixture_scratch)(const mgk_attention_view *view, const mgk_mixture *mixture,
                                mgk_mixture_use use, const mgk_mixture_room *room, size_t extra);

/* Packs head `head` of sample `sample` into `memory` of mixture_scratch reals. */
void MGK_CPU(mixture_pack)(const mgk_attention_view *view, const mgk_mixture *mixture,
                           mgk_mixture_use use, size_t sample, size_t head,
                           const mgk_mixture_room *room, real *memory, mgk_mixture_head *out);

/* Takes the queries of the blocks that begin with query `first`, a multiple of room.rows. */
void MGK_CPU(mixture_queries)(mgk_mixture_head *head, size_t first);

/*
 * Computes the logits of these queries and of room.keys keys from key `key` on, a multiple of
 * room.keys; −inf where query i must not see key j.
 */
void MGK_CPU(mixture_logits)(mgk_mixture_head *head, size_t key);

/* A block's row i of one component's logits, [width]. */
static inline real *mgk_mixture_row(const mgk_mixture_head *head, size_t component, size_t i)
{
    return head->logits + (component * head->room.rows + i) * head->room.pitch;
}

/* Row i of the block sees no keys but those from mgk_mixture_from on, below mgk_mixture_visible. */
static inline size_t mgk_mixture_visible(const mgk_mixture_head *head, size_t i)
{
    size_t last = head->first + i, window = (size_t)head->mixture->terms.window;
    size_t reach = head->view->causal ? 1 : window;
    return reach > 0 && last + reach < head->keys ? last + reach : head->keys;
}

static inline size_t mgk_mixture_from(const mgk_mixture_head *head, size_t i)
{
    size_t last = head->first + i + 1, window = (size_t)head->mixture->terms.window;
    size_t from = window > 0 && last > window ? last - window : 0;
    size_t visible = mgk_mixture_visible(head, i); /* of fewer keys than queries */
    return from < visible ? from : visible;
}

/* The keys first … end − 1 of a run between these bounds; key j is at row[j + shift]. */
typedef struct mgk_mixture_span {
    size_t first, end;
    ptrdiff_t shift;
} mgk_mixture_span;

static inline mgk_mixture_span mgk_mixture_clip(const mgk_mixture_head *head, size_t run, size_t i)
{
    const mgk_mixture_run *keys = &head->runs[run];
    size_t first = mgk_mixture_from(head, i), end = mgk_mixture_visible(head, i);
    size_t last = keys->begin + keys->width;
    first = first < keys->begin ? keys->begin : first < last ? first : last;
    end = end < first ? first : end < last ? end : last;
    return (mgk_mixture_span){first, end, (ptrdiff_t)keys->at - (ptrdiff_t)keys->begin};
}

/* Finds the runs of the block of the queries and of the keys from key `key` on, and sets what
 * belongs to them. */
void MGK_CPU(mixture_find_runs)(mgk_mixture_head *head, size_t key);

/* −inf in one component's logits where a row of the block does not see a key. */
void MGK_CPU(mixture_mask)(const mgk_mixture_head *head, size_t component);

/* out [width]: 1 for the keys of the block that row i sees, 0 for others. Returns how many it sees
 * in all: without gradients, and with a pattern, blocks have all keys. */
size_t MGK_CPU(mixture_see)(const mgk_mixture_head *head, size_t i, real *out);

/*
 * The entries of a row whose scores are all 0 (all visible priors are 0): 0 with a
 * normalizer_epsilon, by the definition; without it the limit, uniform over the visible keys.
 */
static inline real mgk_mixture_blank(const mgk_mixture_head *head, size_t visible)
{
    return head->mixture->normalizer_epsilon > 0 || visible == 0 ? 0 : 1 / (real)visible;
}

/* Whether there are terms that mixture_add_terms adds. */
bool MGK_CPU(mixture_has_terms)(const mgk_mixture *mixture);

/* Replaces the scores x_ij in one component's logits by l_ij: see mgk_score_terms. */
void MGK_CPU(mixture_add_terms)(const mgk_mixture_head *head, size_t component);

/* Where the gradients of the terms of one head are added; NULL: not wanted. */
typedef struct mgk_mixture_term_gradient {
    real *bias; /* [2 T − 1] */
    real *full; /* [N, keys] */
    real *side; /* of query_side, from its first row of the head on */
} mgk_mixture_term_gradient;

/*
 * Adds the gradients dl_ijr = A_ijr (G_ij − dot) of row i to those of its terms, and multiplies the
 * A_ijr in the logits by the derivative of the cap.
 */
void MGK_CPU(mixture_term_gradient)(const mgk_mixture_head *head, size_t i, const real *dscore,
                                    real dot, const mgk_mixture_term_gradient *out);

/* The sum of a row's entries, whole vectors. */
static inline real mgk_mixture_row_sum(const real *row, size_t width)
{
    mgk_vector sum = {0};
    for (size_t j = 0; j < width; j += MGK_VECTOR_LANES)
        sum += *(const mgk_vector *)(row + j);
    return mgk_vector_sum(sum);
}

/*
 * Replaces row i of component 0 by e_j = s_ij / exp(maximum); A_ij = e_j / Z, Z in *divisor.
 * Returns the row's statistic, maximum + ln Z, from which the backward operation recomputes
 * A_ij = s_ij / exp(statistic). The statistic is −inf for a blank row; the row and the statistic
 * are NaN if a logit is NaN. Unnormalized rows are A_ij = e_j, with the offset for a maximum.
 */
double MGK_CPU(mixture_normalize)(const mgk_mixture_head *head, size_t i, double *divisor);

/*
 * The outputs of the block's rows, Σ_j A_ij v_j, after all rows are normalised: row i is written to
 * output + (first + i) stride. The head must be packed for the output with
 * mgk_mixture_output_scratch reals of scratch memory; divisor [rows].
 */
void MGK_CPU(mixture_output)(const mgk_mixture_head *head, const double *divisor, real *output,
                             size_t stride);

/* Sets entries of row i of the block, [width], to 0 with the mixture's dropout, and divides the
 * others by what is kept; and the same entries of another row of numbers (NULL: none). A_ij for the
 * output, G_ij and A_ij for gradients. */
void MGK_CPU(mixture_drop)(const mgk_mixture_head *head, size_t i, real *row, real *other);

static inline size_t mgk_mixture_output_scratch(const mgk_attention_view *view, size_t rows)
{
    return rows * mgk_cpu_padded((size_t)mgk_view_value_dim(view));
}

#endif
