/* SPDX-License-Identifier: MIT */
/*
 * A source of attention matrices: an attention store, a running model or an array file. The
 * analysis knows only this interface.
 *
 * Matrices come in groups, heads of one sample and layer: `next` names a group, `prepare` computes
 * it, and `take` copies its matrices.
 */
#ifndef MGK_ANALYSIS_SOURCE_H
#define MGK_ANALYSIS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/counting/float_format.h"
#include "analysis/measures/importance.h"
#include "base/status.h"
#include "kernels/attention.h"
#include "kernels/backend.h"

/* Some heads of one sample and layer; all numbers are positions in the source, from 0. */
typedef struct mgk_group {
    size_t sample, layer;
    const int32_t *heads; /* [count], ascending; owned by the source */
    size_t count;         /* at least 1 */
    /* Valid rows and columns of the matrices, may be 0; known after `prepare`. They are equal
     * unless the source is `cross`. n is the larger of both. */
    size_t queries, keys, n;
    size_t place; /* for the source: the place of the prepared data */
} mgk_group;

/* The vectors that a layer's matrices are computed from, per head. */
typedef enum mgk_vectors { MGK_QUERIES, MGK_KEYS, MGK_VALUES } mgk_vectors;

/* Vectors as a member of a bit set. */
#define MGK_VECTORS_BIT(which) (1u << (which))

/* The model's number of a position; NULL: equal to the position. */
static inline size_t mgk_source_number(const int32_t *numbers, size_t position)
{
    return numbers ? (size_t)numbers[position] : position;
}

/* The keys of a layer whose kind others do not have. */
typedef struct mgk_layer_keys {
    size_t components; /* key weights of a head, 1 if its keys are shifted */
    bool gaussian;     /* scores are mixtures of M > 1 Gaussians */
} mgk_layer_keys;

typedef struct mgk_source {
    size_t n_max;         /* the largest order of a matrix */
    size_t count;         /* number of all matrices, for progress; 0: unknown */
    size_t depth;         /* > 0: matrices come as two factors of this many columns */
    size_t dim, mixtures; /* D and M of vectors, the M of the layer with most keys; 0: no vectors,
                             or none wanted */
    unsigned kinds;       /* bit set of the wanted vectors that there are */
    bool gaussian;        /* scores of a layer are mixtures of M > 1 Gaussians, see `mixture` */
    size_t components;    /* key weights of a head, 1 if its keys are shifted, of the layer with
                             most; 0: none */
    const mgk_layer_keys *layer_keys; /* [L], by position; NULL: layers do not differ */
    size_t width;                     /* C of key weights and projections */
    size_t model_dim;                 /* C of outputs; 0: none, or not wanted */
    unsigned importances;             /* bit set of the wanted MGK_IMPORTANCE_BIT that there are */
    size_t all_heads; /* of a layer of the model; the source may lack some; 0: not known */
    size_t ahead;     /* the most matrices of one `prepare`; 0: any number */
    size_t batch;     /* samples computed together, from a multiple of it on; 0: single ones */
    mgk_float_format format; /* the coarsest format that entries are known to have had */
    bool floats;             /* all entries are known to be floats */
    bool causal;             /* entries of keys after the query are known to be 0 */
    bool unnormalized;       /* rows of some matrices are known not to sum to 1 */
    bool merged_heads;       /* W_O reads mixtures of heads: no column of it is of one head */
    bool other_values;       /* matrices weigh other values than a layer projects for each head */
    bool may_be_blank;       /* some rows are 0 by the kind of attention, not for a fault */
    /* Queries and keys are of different sequences: there may be more of one than of the other, and
     * their positions cannot be compared. Then no matrix is causal, `depth` is 0, and there are no
     * vectors, tokens, outputs, importances or mixtures. */
    bool cross;
    /* The model's numbers of the positions; NULL: equal to the positions. */
    const int32_t *samples, *layers, *heads;
    /*
     * The device whose memory `take` writes to. The matrices are complete after this device has
     * been synchronized, also for other devices open on the same processor; these must finish with
     * them before the next `take` to the same place. NULL: the host's memory, as always with a
     * depth.
     */
    mgk_device *device;

    /*
     * All functions fail with a message that names the file; a failure ends the run. `next` and
     * `prepare` are called by one thread, outside parallel regions.
     *
     * `next` names the next group, or sets *end and does not change the group. `most`, at least 1,
     * limits the heads of a group: a longer group is split. Groups are ordered by sample, then
     * layer; heads ascend. Computes nothing, and sets queries, keys and n of the group only if they
     * are known without computing.
     */
    mgk_status (*next)(void *state, size_t most, mgk_group *group, bool *end);

    /*
     * Computes the data of these groups, in the order in which they were named (some may be
     * omitted), with all threads of the source, and sets queries, keys and n of each (a source that
     * is not `cross` may set n alone; mgk_group_settle). Together they have at most
     * `ahead` matrices. Invalidates the groups of the previous call. After a failure the first
     * *prepared groups are usable.
     */
    mgk_status (*prepare)(void *state, mgk_group *groups, size_t count, size_t *prepared);

    /*
     * Copies matrix `which` of a prepared group to `data`, which has room for [n_max, n_max], or
     * [2, n_max, depth] with a depth. The matrix is [n, n], packed, rows are queries: entry (i, j)
     * is data[i n + j] for i < queries and j < keys, and 0 for other keys; rows after the queries
     * may hold anything. With a depth it is [2, n, d], L followed by R of A = L Rᵀ, non-negative.
     * May be called by several threads concurrently, with a device by one.
     */
    mgk_status (*take)(void *state, const mgk_group *group, size_t which, double *data);

    /*
     * Copies the vectors of a prepared group's heads to data: queries or values [count, n, D], keys
     * [count, M, n, D], 0 of components that the layer lacks. Only of `kinds`. By one thread at a
     * time, concurrently with `take`. NULL: no vectors.
     */
    mgk_status (*vectors)(void *state, const mgk_group *group, mgk_vectors which, double *data);

    /*
     * Copies the tokens of a prepared group's sample to ids [n]. By one thread at a time,
     * concurrently with `take`. NULL: no tokens.
     */
    mgk_status (*tokens)(void *state, const mgk_group *group, int32_t *ids);

    /*
     * Copies the output of a prepared group's layer, the hidden states that the next layer reads,
     * to data [n, C]. Needs whole groups. By one thread at a time, concurrently with `take`. NULL:
     * no outputs.
     */
    mgk_status (*output)(void *state, const mgk_group *group, double *data);

    /*
     * Sets values [H] of the heads of a prepared group, by position: what each is worth on the
     * group's sample; NaN: no value. Only of `importances`. By one thread at a time, concurrently
     * with `take`. NULL: none.
     */
    mgk_status (*importance)(void *state, const mgk_group *group, mgk_importance which,
                             double *values);

    /*
     * The priors [M, n_max] and variances [M] of a head of a layer that is gaussian, positions in
     * the source. NULL unless a layer is. Outside parallel regions.
     */
    mgk_status (*mixture)(void *state, size_t layer, size_t head, double *priors,
                          double *variances);

    /* W [C, D] of a component of a layer's head, k = x W + b, to data; D as in `dim`. NULL: no
     * weights. Outside parallel regions. */
    mgk_status (*key_weight)(void *state, size_t layer, size_t head, size_t component,
                             double *data);

    /*
     * The vectors, of C numbers each, that a projection of a layer's heads reads or writes, to data
     * [H, mgk_source_projection, C]: the rows of W_Q, of W_K of all components, or of W_V, and the
     * columns of W_O. NULL: no weights. Outside parallel regions.
     */
    mgk_status (*projections)(void *state, mgk_projection which, size_t layer, double *data);

    void *state; /* first argument of the functions; owned by the creator of the source */
} mgk_source;

/* Sets the sizes of a prepared group. */
static inline void mgk_group_set(mgk_group *group, size_t queries, size_t keys)
{
    group->queries = queries;
    group->keys = keys;
    group->n = queries > keys ? queries : keys;
}

/* Completes the sizes of a prepared group: of a source that is not `cross`, queries and keys are
 * its n; otherwise n is the larger of them. */
static inline void mgk_group_settle(const mgk_source *source, mgk_group *group)
{
    const size_t n = group->n;
    mgk_group_set(group, source->cross ? group->queries : n, source->cross ? group->keys : n);
}

/* Key weights of a head of a layer, by position. */
static inline size_t mgk_source_components(const mgk_source *source, size_t layer)
{
    return source->layer_keys ? source->layer_keys[layer].components : source->components;
}

/* Whether scores of a layer, by position, are mixtures of several Gaussians. */
static inline bool mgk_source_is_gaussian(const mgk_source *source, size_t layer)
{
    return source->layer_keys ? source->layer_keys[layer].gaussian : source->gaussian;
}

/* The vectors of a head's projection in a layer, by position. */
static inline size_t mgk_source_projection(const mgk_source *source, mgk_projection which,
                                           size_t layer)
{
    return source->dim * (which == MGK_PROJECTION_KEY ? mgk_source_components(source, layer) : 1);
}

/* The same in the layer with most. */
static inline size_t mgk_source_most_projection(const mgk_source *source, mgk_projection which)
{
    return source->dim * (which == MGK_PROJECTION_KEY ? source->components : 1);
}

#endif
