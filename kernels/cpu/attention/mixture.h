/* SPDX-License-Identifier: MIT */
/*
 * The steps shared by the output of a mixture, its gradient, the explicit matrix and the
 * responsibilities: packing one head, computing the logits of a block of queries, normalising a
 * row.
 *
 * Logits omit a constant of their row, which cancels in the normalisation: scale_r ‖q_i − k‖² / 2
 * is stored without scale ‖q_i‖² / 2, the row's "offset", where scale is the least of all scale_r.
 * This also keeps float32 accurate for queries far from every key: there the widest component
 * dominates, and it is the one without a large term.
 */
#ifndef MGK_KERNELS_CPU_MIXTURE_H
#define MGK_KERNELS_CPU_MIXTURE_H

#include "kernels/cpu/attention/tile.h"

/* The most rows of a block: a causal block computes up to that many columns that no query sees. */
enum { MGK_MIXTURE_MOST_ROWS = 16 };

/* The use of a packed head. */
typedef enum mgk_mixture_use {
    MGK_MIXTURE_LOGITS,  /* logits only: neither values nor gradients */
    MGK_MIXTURE_OUTPUT,  /* also values */
    MGK_MIXTURE_BACKWARD /* also keys and values in the layout of gradients */
} mgk_mixture_use;

/*
 * One head of one sample in a thread's scratch memory, and the logits of one block of consecutive
 * queries. cols = mgk_cpu_pitch(keys), depth = mgk_cpu_padded(D).
 */
typedef struct mgk_mixture_head {
    const mgk_attention_view *view;
    const mgk_mixture *mixture;
    size_t sample, head;
    size_t n;           /* valid queries */
    size_t keys;        /* valid keys: n, but for attention to another sequence */
    double least_scale; /* the least scale_r */
    size_t cols, depth, block_rows;
    real *key_t;   /* [M, D, cols] scale_r k_jr, transposed */
    real *bias;    /* [M, cols] log π_jr − scale_r ‖k_jr‖² / 2; −inf beyond `keys` */
    real *value;   /* [cols, depth], for the output */
    real *key;     /* [M, cols, depth] scale_r k_jr, for gradients */
    real *value_t; /* [D, cols], for gradients */
    /* the block */
    size_t first, rows; /* queries first … first + rows − 1 */
    size_t begin;       /* the first column in use: a window ends behind those before */
    size_t width;       /* the columns in use end here; both are whole vectors */
    real *query;        /* [block_rows, depth] */
    real *logits;       /* [M, block_rows, cols] */
    real *scratch;      /* of the caller */
} mgk_mixture_head;

/* Rows of a block for which `arrays` arrays [rows, cols] fit the second-level cache. */
size_t MGK_CPU(mixture_block_rows)(const mgk_attention_view *view, size_t arrays);

/* Reals of scratch memory per thread for one head, with `extra` reals of the caller. */
size_t MGK_CPU(mixture_scratch)(const mgk_attention_view *view, mgk_mixture_use use,
                                size_t block_rows, size_t extra);

/* Packs head `head` of sample `sample` into `memory` of mixture_scratch reals. */
void MGK_CPU(mixture_pack)(const mgk_attention_view *view, const mgk_mixture *mixture,
                           mgk_mixture_use use, size_t sample, size_t head, size_t block_rows,
                           real *memory, mgk_mixture_head *out);

/*
 * Computes the logits of the block that begins with query `first`; −inf where query i must not see
 * key j.
 */
void MGK_CPU(mixture_logits)(mgk_mixture_head *head, size_t first);

/* A block's row i of one component's logits, [cols]. */
static inline real *mgk_mixture_row(const mgk_mixture_head *head, size_t component, size_t i)
{
    return head->logits + (component * head->block_rows + i) * head->cols;
}

/* Keys that row i of the block sees: those from mgk_mixture_from on, below mgk_mixture_visible. */
static inline size_t mgk_mixture_from(const mgk_mixture_head *head, size_t i)
{
    size_t last = head->first + i + 1, window = (size_t)head->mixture->terms.window;
    return window > 0 && last > window ? last - window : 0;
}

static inline size_t mgk_mixture_visible(const mgk_mixture_head *head, size_t i)
{
    size_t last = head->first + i, window = (size_t)head->mixture->terms.window;
    size_t reach = head->view->causal ? 1 : window;
    return reach > 0 && last + reach < head->keys ? last + reach : head->keys;
}

/* The row's offset, scale ‖q_i‖² / 2 for Gaussian scores, 0 for dot products. */
static inline double mgk_mixture_offset(const mgk_mixture_head *head, size_t i)
{
    if (!head->mixture->gaussian)
        return 0;
    double square = 0;
    for (size_t d = 0; d < (size_t)head->view->dim; d++) {
        double q = (double)head->query[i * head->depth + d];
        square += q * q;
    }
    return 0.5 * head->least_scale * square;
}

/*
 * The entries of a row whose scores are all 0 (all visible priors are 0): 0 with a
 * normalizer_epsilon, by the definition; without it the limit, uniform over the visible keys.
 */
static inline real mgk_mixture_blank(const mgk_mixture_head *head, size_t i)
{
    return head->mixture->normalizer_epsilon > 0
               ? 0
               : 1 / (real)(mgk_mixture_visible(head, i) - mgk_mixture_from(head, i));
}

/*
 * Replaces row i of component 0 by e_j = s_ij / exp(maximum); A_ij = e_j / Z, Z in *divisor.
 * Returns the row's statistic, maximum + ln Z, from which the backward operation recomputes
 * A_ij = s_ij / exp(statistic). The statistic is −inf for a blank row; the row and the statistic
 * are NaN if a logit is NaN.
 */
double MGK_CPU(mixture_normalize)(const mgk_mixture_head *head, size_t i, double *divisor);

/*
 * The outputs of the block's rows, Σ_j A_ij v_j, after all rows are normalised: row i is written to
 * output + (first + i) stride. The head must be packed for the output with
 * mgk_mixture_output_scratch reals of scratch memory; divisor [rows].
 */
void MGK_CPU(mixture_output)(const mgk_mixture_head *head, const double *divisor, real *output,
                             size_t stride);

static inline size_t mgk_mixture_output_scratch(const mgk_attention_view *view, size_t block_rows)
{
    return block_rows * mgk_cpu_padded((size_t)view->dim);
}

/*
 * prior = responsibility / queries, both summed over the dimensions that the prior does not have.
 * sums [H, M + 1, cols]: Σ γ_ijr over queries and samples, then the number of queries that saw key
 * j.
 */
mgk_status MGK_CPU(mean_responsibilities)(const mgk_attention_view *view,
                                          const mgk_prior_view *shape, const double *sums,
                                          size_t cols, void *prior);

#endif
