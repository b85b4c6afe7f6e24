/* SPDX-License-Identifier: MIT */
/*
 * Operations over whole arrays of tokens and matrices. Kinds of attention that are made of factors,
 * mixed maps or assignments call them in sequence, forward and backward. device->op->dense is NULL
 * on a device that lacks them all; a single entry may be NULL too.
 *
 * The conventions are those of kernels/backend.h. "+=" in a description of a gradient: it is added
 * to what the array holds; all other results are overwritten. Entries outside the valid ones are
 * not read, except by products, so that they may hold anything. NaN in a valid entry reaches every
 * result that depends on it.
 */
#ifndef MGK_KERNELS_DENSE_H
#define MGK_KERNELS_DENSE_H

#include "kernels/backend.h"

/* Where the matrices of sample b and head h begin, b sample + h head, and their rows, row apart. */
typedef struct mgk_head_strides {
    size_t sample, head, row;
} mgk_head_strides;

/*
 * Tokens [B, N, H, D]: the numbers of head h of token t of sample b begin at
 * (b N + t) stride + h D. Tokens t >= lengths[b] are padding.
 */
typedef struct mgk_head_tokens {
    size_t samples, tokens, heads, dim; /* B, N, H, D */
    size_t stride;                      /* at least H D */
    const int32_t *lengths;             /* [B]; NULL: no padding */
} mgk_head_tokens;

/*
 * Matrices [B, H, rows, cols] without gaps. Entry (i, j) of sample b is valid if i < row_lengths[b]
 * and j < col_lengths[b] and, in causal matrices, j <= i.
 */
typedef struct mgk_head_maps {
    size_t samples, heads, rows, cols;
    const int32_t *row_lengths, *col_lengths; /* [B]; NULL: all */
    bool causal;
} mgk_head_maps;

/* Queries, keys, values or outputs of a view, tokens `stride` apart. */
static inline mgk_head_tokens mgk_view_tokens(const mgk_attention_view *view, size_t stride)
{
    return (mgk_head_tokens){.samples = (size_t)view->samples,
                             .tokens = (size_t)view->tokens,
                             .heads = (size_t)view->heads,
                             .dim = (size_t)view->dim,
                             .stride = stride,
                             .lengths = view->lengths};
}

/* The strides of tokens as matrices [N, D], and of maps, for batched_multiply. */
static inline mgk_head_strides mgk_token_strides(const mgk_head_tokens *tokens)
{
    return (mgk_head_strides){tokens->tokens * tokens->stride, tokens->dim, tokens->stride};
}

static inline mgk_head_strides mgk_map_strides(const mgk_head_maps *maps)
{
    size_t size = maps->rows * maps->cols;
    return (mgk_head_strides){maps->heads * size, size, maps->cols};
}

/*
 * C [m, n] = alpha op(A) op(B) + beta C for every sample and head; op transposes if requested; k is
 * the inner dimension. A or B with a stride of 0 is the same for all samples or heads. The matrices
 * of C must not overlap each other or A and B. C is not read if beta is 0. Products know no
 * padding: a NaN in the padding of A or B reaches C also where the other factor is 0.
 *
 * Y_g = Σ_h W_gh X_h over heads is such a product: each sample is one matrix [H, R C] of X.
 */
typedef struct mgk_batched_product {
    size_t samples, heads, m, n, k;
    bool transpose_a, transpose_b;
    double alpha, beta;
    mgk_head_strides a, b, c;
} mgk_batched_product;
/* STATUS_UNSUPPORTED: a size is too large for a BLAS. STATUS_MEMORY: no room to pack B. */
typedef mgk_status mgk_batched_multiply_fn(mgk_device *, const mgk_batched_product *, const void *a,
                                           const void *b, void *c);

/* y = alpha x + beta y; y is not read if beta is 0. */
typedef mgk_status mgk_add_scaled_fn(mgk_device *, size_t count, double alpha, const void *x,
                                     double beta, void *y);

/*
 * y_g = x_g + Σ_h W_gh x_h over heads, of all entries, with W = mix [H, H] or, if `transpose`, its
 * transpose. y may be x.
 */
typedef mgk_status mgk_mix_heads_fn(mgk_device *, const mgk_head_maps *, const void *mix,
                                    bool transpose, const void *x, void *y);

/*
 * Softmax of the valid entries of every row, in place; all other entries become 0, and so do rows
 * without a valid entry above −∞.
 */
typedef mgk_status mgk_softmax_rows_fn(mgk_device *, const mgk_head_maps *, void *x);
/* dx = y (dy − Σ_j dy_j y_j), with the y of softmax_rows; 0 where not valid. dx may be dy. */
typedef mgk_status mgk_softmax_rows_backward_fn(mgk_device *, const mgk_head_maps *, const void *y,
                                                const void *dy, void *dx);

/*
 * Means of segments: the n valid tokens of a sample are cut into c = min(segments, n) segments as
 * equal as possible, s from token ⌊s n / c⌋ to ⌊(s + 1) n / c⌋ − 1. y [B, segments, H, D] without
 * gaps holds their means, then 0; counts [B] receives c.
 */
typedef mgk_status mgk_segment_means_fn(mgk_device *, const mgk_head_tokens *, size_t segments,
                                        const void *x, void *y, int32_t *counts);
/* dx += dy of the token's segment / the segment's size, laid out like x. */
typedef mgk_status mgk_segment_means_backward_fn(mgk_device *, const mgk_head_tokens *,
                                                 size_t segments, const void *dy, void *dx);

/*
 * Z ≈ the pseudo-inverse of K by Newton's iteration (Xiong et al. 2021, Nyströmformer, Eqn. 11),
 * for each of `count` matrices [m, m]:
 *     Z_0 = Kᵀ / (max_j Σ_i |K_ij| max_i Σ_j |K_ij|),
 *     Z_s+1 = ¼ Z_s (13 I − K Z_s (15 I − K Z_s (7 I − K Z_s))).
 * Rows and columns of zeros in K are columns and rows of zeros in Z: K may have fewer valid rows
 * and columns. z must not be k.
 */
typedef mgk_status mgk_newton_inverse_fn(mgk_device *, size_t count, size_t m, int steps,
                                         const void *k, void *z);
/* The gradient of the iteration as it is, the scale of Z_0 included: dk +=. */
typedef mgk_status mgk_newton_inverse_backward_fn(mgk_device *, size_t count, size_t m, int steps,
                                                  const void *k, const void *dz, void *dk);

/*
 * Z = (X + shift I)⁻¹ of `count` matrices [m, m], by elimination with pivoting in double. If a
 * pivot is 0 or not finite, all entries of Z are NaN. z may be x.
 */
typedef mgk_status mgk_shifted_inverse_fn(mgk_device *, size_t count, size_t m, double shift,
                                          const void *x, void *z);
/* dx += −Zᵀ dZ Zᵀ, with the z of shifted_inverse. */
typedef mgk_status mgk_shifted_inverse_backward_fn(mgk_device *, size_t count, size_t m,
                                                   const void *z, const void *dz, void *dx);

/*
 * A kernel of `taps` weights over the tokens of each head, w [H, taps]:
 *     y_t += Σ_k w_k x_(t + k − offset)
 * over valid tokens, with offset taps − 1 if causal and ⌊(taps − 1) / 2⌋ otherwise. Padding of y is
 * not changed. x and y have the same sizes and lengths, and y its own stride.
 */
typedef struct mgk_token_kernel {
    size_t taps;
    bool causal;
    const void *weight; /* [H, taps] */
} mgk_token_kernel;
typedef mgk_status mgk_convolve_tokens_fn(mgk_device *, const mgk_head_tokens *,
                                          const mgk_token_kernel *, const void *x, void *y,
                                          size_t y_stride);
/*
 * dx +=, laid out like x, and dweight [H, taps] +=; either may be NULL. dy is laid out like y.
 */
typedef mgk_status mgk_convolve_tokens_backward_fn(mgk_device *, const mgk_head_tokens *,
                                                   const mgk_token_kernel *, const void *x,
                                                   const void *dy, size_t y_stride, void *dx,
                                                   void *dweight);

/*
 * A convolution of 3 x 3 over maps, with all heads as channels in and out:
 *     y_g(i, j) = bias_g + Σ_h Σ_(a, c) w_ghac x_h(i + a − 1, j + c − 1)
 * over valid entries of x, weight [H, H, 3, 3]; 0 where y is not valid. In causal maps a = 2 is
 * left out: the row of a later query knows later keys.
 */
typedef mgk_status mgk_convolve_maps_fn(mgk_device *, const mgk_head_maps *, const void *weight,
                                        const void *bias, const void *x, void *y);
/*
 * dx, 0 where not valid, and dweight, dbias [H] +=; each may be NULL. dx must not be dy.
 */
typedef mgk_status mgk_convolve_maps_backward_fn(mgk_device *, const mgk_head_maps *,
                                                 const void *weight, const void *x, const void *dy,
                                                 void *dx, void *dweight, void *dbias);

/*
 * Row i of head h of y [B, count, H, D], y_stride apart, = the numbers of head h of token
 * index[b, h, i]; index [B, H, count]. 0 for an index that is not that of a token (lengths are not
 * used).
 */
typedef mgk_status mgk_gather_tokens_fn(mgk_device *, const mgk_head_tokens *, size_t count,
                                        const int32_t *index, const void *x, void *y,
                                        size_t y_stride);
/* The transpose: x of that token += y, in the order of i. */
typedef mgk_status mgk_scatter_add_tokens_fn(mgk_device *, const mgk_head_tokens *, size_t count,
                                             const int32_t *index, const void *y, size_t y_stride,
                                             void *x);

/* Row index[i] of y [·, cols] += weight[i] times row i of x [rows, cols]; no index is there twice.
 */
typedef mgk_status mgk_add_weighed_rows_fn(mgk_device *, size_t rows, size_t cols,
                                           const int32_t *index, const void *weight, const void *x,
                                           void *y);

/*
 * y_t = x_t / √(mean of x_t² + epsilon) for every head of every valid token: tokens of length √D.
 * y without gaps, 0 for padding.
 */
typedef mgk_status mgk_unit_tokens_fn(mgk_device *, const mgk_head_tokens *, double epsilon,
                                      const void *x, void *y);
/* dx +=, laid out like x, from dy without gaps. */
typedef mgk_status mgk_unit_tokens_backward_fn(mgk_device *, const mgk_head_tokens *,
                                               double epsilon, const void *x, const void *dy,
                                               void *dx);

/*
 * Heads that look at the same numbers in their own way (Cordonnier et al. 2020, collaborative
 * attention): y_h = x ∘ m_h, y [rows, H, D] without gaps, x [rows, D] x_stride apart, m [H, D].
 */
typedef mgk_status mgk_expand_heads_fn(mgk_device *, size_t rows, size_t heads, size_t dim,
                                       const void *x, size_t x_stride, const void *m, void *y);
/* dx, laid out like x, += Σ_h m_h ∘ dy_h; dm_h += Σ x ∘ dy_h over rows. */
typedef mgk_status mgk_expand_heads_backward_fn(mgk_device *, size_t rows, size_t heads, size_t dim,
                                                const void *x, size_t x_stride, const void *m,
                                                const void *dy, void *dx, void *dm);

/*
 * How far a query's scores are from uniform (Zhou et al. 2021, Informer, Eqn. 4), of all n valid
 * keys: out[b, h, i] = max_j q_i·k_j − Σ_j q_i·k_j / n and −∞ without keys, and for padding.
 * Queries and keys have the same B, H and D.
 */
typedef mgk_status mgk_query_sparsity_fn(mgk_device *, const mgk_head_tokens *queries,
                                         const mgk_head_tokens *keys, const void *q, const void *k,
                                         void *out);

/*
 * index [B, rows, u]: the positions of the u largest of the first lengths[b] (NULL: n) scores of
 * every row of [B, rows, n], largest first, equal ones by position; then −1. NaN is the smallest.
 */
typedef mgk_status mgk_top_rows_fn(mgk_device *, size_t samples, size_t rows, size_t n,
                                   const int32_t *lengths, size_t u, const void *scores,
                                   int32_t *index);

/*
 * k-means by Lloyd's algorithm, for each head of each sample: `updates` times every valid token
 * chooses its nearest centroid, the first of equal ones, and every centroid that was chosen becomes
 * the mean of its tokens; then the tokens choose once more.
 *
 * `signs`: in Hamming space, as clustered attention does (Vyas et al. 2020). A number above 0
 * stands for 1 and another for −1, in tokens and centroids, and a centroid becomes 1 where most of
 * its tokens are 1, else −1. The hashes of tokens are the signs of a product with given planes
 * (batched_multiply, bias_activation).
 */
typedef struct mgk_k_means {
    size_t clusters; /* C, at least 1 */
    int updates;
    bool signs;
} mgk_k_means;
/*
 * centroids [B, C, H, D] holds the start and receives the result. cluster [B, H, N] receives the
 * choice of each token, −1 for padding, and sizes [B, H, C] the number of tokens of each cluster.
 */
typedef mgk_status mgk_k_means_fn(mgk_device *, const mgk_head_tokens *, const mgk_k_means *,
                                  const void *x, void *centroids, int32_t *cluster, int32_t *sizes);

/*
 * y [B, groups, H, D]: the means of the tokens with the same group [B, H, N]; 0 for a group without
 * tokens; sizes [B, H, groups] as k_means gives them. Padding and other groups are left out.
 */
typedef mgk_status mgk_group_means_fn(mgk_device *, const mgk_head_tokens *, size_t groups,
                                      const int32_t *group, const int32_t *sizes, const void *x,
                                      void *y);
/* dx += dy of the token's group / the group's size. */
typedef mgk_status mgk_group_means_backward_fn(mgk_device *, const mgk_head_tokens *, size_t groups,
                                               const int32_t *group, const int32_t *sizes,
                                               const void *dy, void *dx);

/* Levels of a tree over tokens: spans of 1, 2, 4, … tokens, less than all tokens but for 1. */
static inline int mgk_tree_levels(size_t tokens)
{
    int levels = 1;
    while ((size_t)1 << levels < tokens)
        levels++;
    return levels;
}

/*
 * The spans of 2^l tokens from every multiple of 2^l on, l < levels, are ordered by their first
 * token, short ones first. That of token t and length 2^l is at mgk_tree_place(levels, t) + l; so
 * many spans also contain one of the first t tokens.
 */
static inline size_t mgk_tree_place(int levels, size_t t)
{
    size_t place = 0;
    for (int l = 0; l < levels; l++)
        place += (t + ((size_t)1 << l) - 1) >> l;
    return place;
}

/*
 * y [B, spans, H, D]: the means of the valid tokens of each span of the tree over N tokens,
 * spans = mgk_tree_place(mgk_tree_levels(N), N); 0 for spans of padding.
 */
typedef mgk_status mgk_tree_means_fn(mgk_device *, const mgk_head_tokens *, const void *x, void *y);
/* dx += Σ dy / size over the spans of a token, whose valid tokens are `size`. */
typedef mgk_status mgk_tree_means_backward_fn(mgk_device *, const mgk_head_tokens *, const void *dy,
                                              void *dx);
/*
 * Weights of spans [rows, spans] become those of N tokens, out [rows, N]: each span gives its
 * weight in equal parts to its valid tokens, the first length[0]; 0 for padding.
 */
typedef mgk_status mgk_tree_spread_fn(mgk_device *, size_t rows, size_t tokens,
                                      const int32_t *length, const void *weight, void *out);

/* Queries and keys of a group, by the tokens that they are; −1: none. */
typedef struct mgk_pairs {
    size_t tokens, queries, keys;
    const int32_t *query, *key; /* [queries], each token at most once; [keys] */
    size_t weight_step;         /* 1: weight [queries]; 0: one number */
} mgk_pairs;
/* out [N, N] += w_i a_ij at (query i, key j); a [queries, keys]; weight NULL: w = 1. */
typedef mgk_status mgk_add_pairs_fn(mgk_device *, const mgk_pairs *, const void *weight,
                                    const void *a, void *out);

/*
 * y_t += w x_t with the weight w of the token's group, weight [B, H, groups]; y has its own stride.
 * Tokens without a group [B, H, N] are left out; lengths are not used.
 */
typedef mgk_status mgk_weigh_groups_fn(mgk_device *, const mgk_head_tokens *, size_t groups,
                                       const int32_t *group, const void *weight, const void *x,
                                       void *y, size_t y_stride);
/* dx += w dy, laid out like x, and dweight += Σ x·dy over the group. */
typedef mgk_status mgk_weigh_groups_backward_fn(mgk_device *, const mgk_head_tokens *,
                                                size_t groups, const int32_t *group,
                                                const void *weight, const void *x, const void *dy,
                                                size_t y_stride, void *dx, void *dweight);

/*
 * Buckets of angular hashing (Kitaev et al. 2020, Reformer): for every round of hashing, the
 * position of the largest number of [xR, −xR], the first of equal ones. With parts, other rotations
 * S give a position in the same way, and the bucket is that of R plus `buckets` times that of S.
 */
typedef struct mgk_lsh {
    size_t hashes, buckets; /* rounds; buckets are even, at least 2 */
    size_t parts;           /* even, or 0: none */
    bool shared;            /* all heads have the same rotations */
    const void *rotations;  /* R and S [H, or 1 if shared, D, hashes, (buckets + parts) / 2] */
} mgk_lsh;
/* bucket [B, H, hashes, N]; −1 for padding. */
typedef mgk_status mgk_lsh_buckets_fn(mgk_device *, const mgk_head_tokens *, const mgk_lsh *,
                                      const void *x, int32_t *bucket);

/*
 * Which keys of its group a query sees, G groups of each sample: those of tokens that are not later
 * if causal; itself only where it sees no other token in any group. query [B, H, G queries] and key
 * [B, H, G keys] are tokens, −1: none.
 */
typedef struct mgk_group_mask {
    size_t samples, heads, tokens;
    size_t groups, queries, keys; /* of a sample; of a group */
    bool causal;
    const int32_t *query, *key;
} mgk_group_mask;
/* out [B G, H, queries, keys]: 0 where the query sees the key, −∞ elsewhere. */
typedef mgk_status mgk_group_mask_fn(mgk_device *, const mgk_group_mask *, void *out);

/*
 * Softmaxes that were computed in parts. Row r of a group of sample b is for head h a part of
 * token index [B, H, G rows], −1: of none: y [B, G rows, H, D] without gaps is its output and
 * statistic [B G, H, rows] the logarithm of the sum of its exponentials. Over the parts of token t
 *     s_t = log Σ exp statistic,   out_t = Σ exp(statistic − s_t) y,
 * and the statistic of each part becomes s_t. out [B, N, H, D], out_stride apart, is 0 for tokens
 * without parts.
 */
typedef struct mgk_parts {
    size_t samples, heads, tokens, dim;
    size_t groups, rows; /* of a sample; of a group */
    const int32_t *index;
} mgk_parts;
typedef mgk_status mgk_merge_parts_fn(mgk_device *, const mgk_parts *, void *statistic,
                                      const void *y, void *out, size_t out_stride);

/*
 * Sinkhorn normalisation of exp x, in place: `iterations` times the rows are divided by their sums
 * over valid entries, then the columns, all in logarithms; 0 where not valid. A row or column whose
 * entries are all −∞ stays 0.
 */
typedef mgk_status mgk_sinkhorn_fn(mgk_device *, const mgk_head_maps *, int iterations, void *x);
/* dx, 0 where not valid, from the x before sinkhorn, whose steps it computes anew. */
typedef mgk_status mgk_sinkhorn_backward_fn(mgk_device *, const mgk_head_maps *, int iterations,
                                            const void *x, const void *dy, void *dx);

/*
 * Windows that queries place by themselves (Yang et al. 2018). With t = tanh x of a query's numbers
 * x and the n keys that it sees, the logits of valid entries become
 *     s_ij −= (j − p_i)² / (2 σ_i²),   p_i = n sigmoid(centre_h·t_i), 2 σ_i = n
 * sigmoid(width_h·t_i). x [B, N, H, D] are tokens as `shape` has them, whose lengths are not used;
 * centre and width [H, D]. STATUS_MEMORY.
 */
typedef mgk_status mgk_subtract_windows_fn(mgk_device *, const mgk_head_maps *,
                                           const mgk_head_tokens *shape, const void *x,
                                           const void *centre, const void *width, void *scores);
/* dx, laid out like x, 0 for queries that see no key; dcentre and dwidth +=. */
typedef mgk_status mgk_subtract_windows_backward_fn(mgk_device *, const mgk_head_maps *,
                                                    const mgk_head_tokens *shape, const void *x,
                                                    const void *centre, const void *width,
                                                    const void *dscores, void *dx, void *dcentre,
                                                    void *dwidth);

/*
 * Capsules that are made of votes by agreement, in each row on its own (Sabour et al. 2017,
 * procedure 1): input i votes u_ij for output j, u [rows, inputs, outputs, dim]. From b_ij = 0 on,
 * `steps` times, at least once,
 *     c_ij = exp b_ij / Σ_k exp b_ik,   s_j = Σ_i c_ij u_ij,   v_j = ‖s_j‖ / (1 + ‖s_j‖²) s_j,
 *     b_ij += u_ij·v_j.
 * y [rows, outputs, dim] receives the last v. STATUS_MEMORY.
 */
typedef struct mgk_capsules {
    size_t rows, inputs, outputs, dim;
    int steps;
} mgk_capsules;
typedef mgk_status mgk_route_capsules_fn(mgk_device *, const mgk_capsules *, const void *u,
                                         void *y);
/* du, laid out like u, from dy: the gradient through all steps, which it computes anew. */
typedef mgk_status mgk_route_capsules_backward_fn(mgk_device *, const mgk_capsules *, const void *u,
                                                  const void *dy, void *du);

/* See device->op->dense. */
struct mgk_dense_operations {
    mgk_batched_multiply_fn *batched_multiply;
    mgk_add_scaled_fn *add_scaled;
    mgk_mix_heads_fn *mix_heads;
    mgk_softmax_rows_fn *softmax_rows;
    mgk_softmax_rows_backward_fn *softmax_rows_backward;
    mgk_segment_means_fn *segment_means;
    mgk_segment_means_backward_fn *segment_means_backward;
    mgk_newton_inverse_fn *newton_inverse;
    mgk_newton_inverse_backward_fn *newton_inverse_backward;
    mgk_shifted_inverse_fn *shifted_inverse;
    mgk_shifted_inverse_backward_fn *shifted_inverse_backward;
    mgk_convolve_tokens_fn *convolve_tokens;
    mgk_convolve_tokens_backward_fn *convolve_tokens_backward;
    mgk_convolve_maps_fn *convolve_maps;
    mgk_convolve_maps_backward_fn *convolve_maps_backward;
    mgk_gather_tokens_fn *gather_tokens;
    mgk_scatter_add_tokens_fn *scatter_add_tokens;
    mgk_add_weighed_rows_fn *add_weighed_rows;
    mgk_unit_tokens_fn *unit_tokens;
    mgk_unit_tokens_backward_fn *unit_tokens_backward;
    mgk_expand_heads_fn *expand_heads;
    mgk_expand_heads_backward_fn *expand_heads_backward;
    mgk_query_sparsity_fn *query_sparsity;
    mgk_top_rows_fn *top_rows;
    mgk_k_means_fn *k_means;
    mgk_group_means_fn *group_means;
    mgk_group_means_backward_fn *group_means_backward;
    mgk_tree_means_fn *tree_means;
    mgk_tree_means_backward_fn *tree_means_backward;
    mgk_tree_spread_fn *tree_spread;
    mgk_add_pairs_fn *add_pairs;
    mgk_weigh_groups_fn *weigh_groups;
    mgk_weigh_groups_backward_fn *weigh_groups_backward;
    mgk_lsh_buckets_fn *lsh_buckets;
    mgk_group_mask_fn *group_mask;
    mgk_merge_parts_fn *merge_parts;
    mgk_sinkhorn_fn *sinkhorn;
    mgk_sinkhorn_backward_fn *sinkhorn_backward;
    mgk_subtract_windows_fn *subtract_windows;
    mgk_subtract_windows_backward_fn *subtract_windows_backward;
    mgk_route_capsules_fn *route_capsules;
    mgk_route_capsules_backward_fn *route_capsules_backward;
};

#endif
