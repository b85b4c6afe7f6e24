/* SPDX-License-Identifier: MIT */
/*
 * Attention within groups of tokens, for kinds that choose by content who sees whom. A group has
 * some queries and some keys, which an index names; they are packed so that each group is a sample
 * of its own for the tile primitive.
 */
#ifndef MGK_KERNELS_ATTENTION_GROUPS_H
#define MGK_KERNELS_ATTENTION_GROUPS_H

#include "kernels/attention.h"
#include "kernels/dense.h"

/* G groups of each sample, each with so many queries and keys. */
typedef struct mgk_groups {
    size_t samples, heads, tokens;              /* B, H, N */
    size_t groups, queries, keys;               /* G; of a group */
    const int32_t *query, *key;                 /* [B, H, G queries], [B, H, G keys]; −1: none */
    const int32_t *query_lengths, *key_lengths; /* [B G] */
} mgk_groups;

/* Packed queries [B, G queries, H, D] and keys; head and sample strides may have gaps. */
typedef struct mgk_packed {
    size_t dim, stride;
    const void *query, *key;
    bool causal; /* within groups */
} mgk_packed;

/* Numbers of packed queries or keys, and of statistics. */
static inline size_t mgk_groups_queries(const mgk_groups *g)
{
    return g->samples * g->groups * g->queries * g->heads;
}

static inline size_t mgk_groups_keys(const mgk_groups *g)
{
    return g->samples * g->groups * g->keys * g->heads;
}

/* One head of one sample of both. */
mgk_groups mgk_groups_head(const mgk_groups *groups, size_t sample, size_t head);
mgk_packed mgk_packed_head(const mgk_device *device, const mgk_groups *groups,
                           const mgk_packed *packed, size_t sample, size_t head);

/* The places of an index and of lengths as mgk_groups has them, which lie one after the other. */
typedef struct mgk_group_index {
    int32_t *query, *key, *query_lengths, *key_lengths;
} mgk_group_index;

/* Their count, of groups whose sizes are given, and where each is in `memory` [count], on the host
 * or on the device. */
size_t mgk_group_index_count(const mgk_groups *sizes);
mgk_group_index mgk_group_index_at(const mgk_groups *sizes, int32_t *memory);

/* What a layer keeps of its groups. */
typedef struct mgk_group_arrays {
    size_t dim, packed; /* D; numbers of packed queries */
    void *query, *key;  /* packed, without gaps */
    void *statistic;    /* [B G, H, queries] */
    int32_t *index;     /* all that mgk_group_index_at finds, of the device */
    mgk_groups groups;
} mgk_group_arrays;

/* The arrays in `memory`, of so many reals; integers take the place of reals. */
size_t mgk_group_arrays_reals(const mgk_groups *sizes, size_t dim);
mgk_group_arrays mgk_group_arrays_at(const mgk_device *device, const mgk_groups *sizes, size_t dim,
                                     void *memory);

/* Their queries and keys, not causal. */
static inline mgk_packed mgk_group_arrays_packed(const mgk_group_arrays *a)
{
    return (mgk_packed){a->dim, a->groups.heads * a->dim, a->query, a->key, false};
}

/* The view of packed queries, keys and values, whose heads have value_dim numbers without gaps. */
mgk_attention_view mgk_groups_view(const mgk_groups *groups, const mgk_packed *packed,
                                   const void *value, size_t value_dim);

/* Packs queries or keys of x, without gaps. */
mgk_status mgk_groups_pack(mgk_device *device, const mgk_groups *groups, bool keys, size_t dim,
                           const void *x, size_t x_stride, void *packed);
/* x, laid out as above, += what is packed. */
mgk_status mgk_groups_unpack(mgk_device *device, const mgk_groups *groups, bool keys, size_t dim,
                             const void *packed, void *x, size_t x_stride);

/* x = what is packed, 0 where nothing is. */
mgk_status mgk_groups_spread(mgk_device *device, const mgk_groups *groups, bool keys, size_t dim,
                             const void *packed, void *x, size_t x_stride);

/* The packed output of each group's softmax over packed values. */
mgk_status mgk_groups_attend(mgk_device *device, const mgk_group_arrays *a,
                             const mgk_mixture *mixture, const void *values, void *output);
/* Its packed gradients in `inner`, from the output and its gradient of tokens. They are in `room`,
 * which is memory for two arrays of queries and the gradients. */
mgk_status mgk_groups_attend_backward(mgk_device *device, const mgk_group_arrays *a,
                                      const mgk_mixture *mixture, const void *values,
                                      const void *output, const void *doutput, size_t output_stride,
                                      void *room, mgk_attention_gradient *inner);

/* Copies the first `width` of every row. */
mgk_status mgk_copy_rows(mgk_device *device, size_t rows, size_t width, const void *from,
                         size_t from_stride, void *to, size_t to_stride);

/*
 * Softmax matrices of the groups of one head (mgk_groups_head), out [N, N] += w A at the tokens of
 * queries and keys. weight [G queries] of the device; NULL: 1.
 */
mgk_status mgk_groups_matrix(mgk_device *device, const mgk_groups *groups, const mgk_packed *packed,
                             const mgk_mixture *mixture, const void *weight, void *out);

/* The matrix of one group alone, out [queries, keys]. */
mgk_status mgk_group_matrix(mgk_device *device, const mgk_groups *groups, const mgk_packed *packed,
                            const mgk_mixture *mixture, size_t group, void *out);

/* Adds the matrix of one head of one sample to out [N, N], which is 0. */
typedef mgk_status mgk_head_matrix_fn(mgk_device *, const mgk_attention_view *,
                                      const mgk_attention_layer *, size_t sample, size_t head,
                                      void *out);

/* The method `matrix` of kinds that make one head after the other. */
mgk_status mgk_matrix_by_heads(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, mgk_head_matrix_fn *add,
                               int sample, const int32_t *heads, int count, void *matrix);

#endif
