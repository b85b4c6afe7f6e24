/* SPDX-License-Identifier: MIT */
/*
 * A round of mgk_diversity_run: the matrices of some groups. What is done with the heads of a span,
 * by threads one item each, writes into records; see mgk_pipeline. The memory has seats for some
 * matrices, which those of the round take in turn: a span waits until those before it have left
 * enough. At the end of a round threads wait for each other, so it has more matrices than seats.
 */
#ifndef MGK_ANALYSIS_DIVERSITY_WORK_H
#define MGK_ANALYSIS_DIVERSITY_WORK_H

#include "analysis/counting/rectangle.h"
#include "analysis/run/diversity.h"
#include "analysis/run/failure.h"

/* A group of the round. */
typedef struct mgk_diversity_group {
    const mgk_group *group;
    size_t slot;             /* of its first matrix, counted in the round */
    size_t seat;             /* of its first matrix; those of a group follow each other */
    double *record;          /* of its sample */
    const mgk_place *places; /* [n], see mgk_matrix_view; NULL: no tokens */
    double tokens;           /* see MGK_FACT_TOKENS; NaN: no tokens */
} mgk_diversity_group;

/*
 * Heads of a sample that are compared with each other: those of a layer, or across layers those of
 * all layers, head h of layer l as number l H + h.
 */
typedef struct mgk_diversity_span {
    const mgk_diversity_group *groups; /* of one sample, so all of the same queries and keys */
    size_t heads, n;                   /* n, queries, keys: as in the groups */
    size_t queries, keys;
} mgk_diversity_span;

/* The layer before one. */
typedef struct mgk_layer_before {
    size_t sample, layer;
    size_t place; /* in the ring, of its first matrix */
} mgk_layer_before;

/* The workspace of one thread. Members that no measure needs are NULL. */
typedef struct mgk_diversity_worker {
    mgk_engine *engine;
    double *matrix;      /* [n_max, n_max], of the head that is measured */
    double *reflections; /* [mgk_rectangle_work(n_max)] */
    double *sigma;       /* [n_max] */
    double *sorted;      /* [n_max, MGK_ROWS_MOST] */
    float *floats;       /* [MGK_ROWS_MOST, n_max], rows that are sorted but not kept */
    double largest[MGK_ROWS_MOST];
    double *distances;    /* [2 n − 1], see mgk_rows, for the order n of the last matrix */
    size_t distances_for; /* this n */
    double *column_sums;  /* [n_max] */
    double *scratch;      /* [n_max] */
    double *rows, *roots; /* [P, mgk_reduction_pitch(n_max)], a row of each head of a span */
    double *pairs;        /* [P, P + 4] */
    double *product;      /* [D', D'], see mgk_diversity_width */
    double *columns;      /* [2, D] */
    double *mixture;      /* [mgk_mixture_scratch] */
    double *hidden;       /* [3, C] */
} mgk_diversity_worker;

/* Sums of mgk_pair_sums and mgk_outputs, [P, P] each. */
enum {
    MGK_SUM_PRODUCTS,
    MGK_SUM_AFFINITIES,
    MGK_SUM_HELLINGER,
    MGK_SUM_DIVERGENCES,
    MGK_SUM_QUERIES,
    MGK_SUM_VALUES, /* products of unit vectors: only if there are values */
    MGK_SUM_OUTPUTS,
    MGK_PAIR_SUMS
};

/* The most blocks of rows whose sums are apart, whatever the number of threads. */
enum { MGK_PAIR_BLOCKS = 16 };

/* Needs that take all heads of a layer at once. */
enum {
    MGK_NEEDS_PAIRS =
        MGK_NEEDS_PRODUCTS | MGK_NEEDS_ROOTS | MGK_NEEDS_DIVERGENCES | MGK_NEEDS_VALUES,
    MGK_NEEDS_LAYERS = MGK_NEEDS_NEXT_LAYER | MGK_NEEDS_ROLLOUT | MGK_NEEDS_LAYER_OUTPUT
};

typedef struct mgk_diversity_work {
    const mgk_source *source;
    const mgk_diversity_run_options *options;
    const mgk_record_layout *layout;
    const mgk_row_kernels *kernels;
    unsigned needs;                /* of all measures */
    int granted;                   /* threads that may multiply at once */
    int threads;                   /* threads with a workspace */
    mgk_diversity_worker *workers; /* [threads] */
    mgk_failure failure;           /* parts are matrices of the round */

    /* The round. */
    size_t room;                       /* seats */
    size_t seat_groups;                /* G, groups that have seats at once */
    size_t most_matrices, most_groups; /* of a round */
    size_t span_groups;                /* of a span: L across layers, else 1 */
    size_t span_heads;                 /* P */
    size_t pair_blocks;                /* at most MGK_PAIR_BLOCKS; the same for all spans */
    mgk_group *named;                  /* [most_groups], as the source names them */
    mgk_diversity_group *groups;       /* [most_groups] */
    size_t group_count;
    size_t matrix_count;
    /* Measured matrices, if measures need groups: see diversity_kept.c. A ring, in which slot 0 of
     * the round is at `ring_start`; longer than `room` where a layer is kept for the next one. */
    unsigned char *kept; /* [ring, kept_bytes] */
    double *norms;       /* [ring], Frobenius norms; NULL: not needed */
    size_t kept_bytes, ring, ring_start;
    double *row_sums;  /* [room, n_max] */
    bool *zero_rows;   /* [room, n_max] */
    double *entropies; /* [room, n_max], of rows; NULL: not needed */
    mgk_place *places; /* [record_room, n_max], of the samples of the round */
    double *values;    /* [rows, D], rows = room n_max; those of a matrix follow each other, and
                          are divided by their lengths once it is measured */
    double *outputs;   /* [rows, D]; the same */
    bool *zero_values, *zero_outputs; /* [rows], vectors of length 0 */
    double *centred;                  /* [rows, D'], see mgk_diversity_width */
    double *squares;                  /* [rows] */
    double *energies;                 /* [room, P] */
    size_t sum_count;                 /* of MGK_PAIR_SUMS, those that there are */
    double *sums; /* [G / span_groups, pair_blocks, sum_count, P, P]; NULL: no pairs */

    double *records; /* [record_room, record], of the samples of the round, which follow each
                        other; the first may have begun in the round before */
    size_t record_room, record_count;
    size_t *samples; /* [record_room], position of each */
    size_t done;     /* matrices */

    /* The layer before the first group of the round, and the rollout of its sample. */
    bool before_known;
    mgk_layer_before before;
    double *rollouts; /* [1 + G, n_max, n_max]; first that of the layer before */
    bool *rolled;     /* [1 + G], whether the rollout is defined */
    double *mixed;    /* [n_max, n_max] */

    double *layer_outputs; /* [G, n_max, C]; NULL: none */

    /* Mixtures of keys; NULL: none. */
    double *queries;   /* [rows, D] */
    double *keys;      /* [M rows, D] */
    double *priors;    /* [L, H, M, n_max] */
    double *variances; /* [L, H, M] */

    double *common; /* a record with the values that all samples share, and NaN for the others */
} mgk_diversity_work;

/* Whether any measure needs one of these. */
static inline bool mgk_diversity_wants(const mgk_diversity_work *work, unsigned needs)
{
    return (work->needs & needs) != 0;
}

static inline bool mgk_diversity_needs_groups(const mgk_diversity_work *work)
{
    return mgk_diversity_wants(work, MGK_NEEDS_PAIRS | MGK_NEEDS_LAYERS);
}

/* The place in the ring of matrix number `slot` of the round. */
static inline size_t mgk_diversity_place(const mgk_diversity_work *work, size_t slot)
{
    return (work->ring_start + slot) % work->ring;
}

/* The bytes that a kept matrix takes at most. STATUS_MEMORY: more than a size_t holds. */
mgk_status mgk_diversity_kept_size(const mgk_diversity_work *work, size_t *out);

/* Keeps row i of a matrix in a place of the ring: n entries, of which those beyond `keys` are 0. */
void mgk_diversity_keep(mgk_diversity_work *work, size_t place, size_t keys, size_t i,
                        const double *from);

/* A row that is kept, if the source has floats: as many entries as mgk_diversity_row copies. */
const float *mgk_diversity_floats(const mgk_diversity_work *work, size_t place, size_t keys,
                                  size_t i);

/* The keys that query i of a matrix sees. */
static inline size_t mgk_diversity_keys(const mgk_diversity_work *work, size_t keys, size_t i)
{
    return work->source->causal ? i + 1 : keys;
}

/* Copies row i of the matrix in a place of the ring to out [n_max]: mgk_row_whole of
 * mgk_diversity_keys entries, and perhaps more, which are 0. */
void mgk_diversity_row(const mgk_diversity_work *work, size_t place, size_t keys, size_t i,
                       double *out);

/* D', the width of centred outputs: whole units, beyond D filled with zeros. */
static inline size_t mgk_diversity_width(const mgk_diversity_work *work)
{
    return (work->source->dim + MGK_WEIGH_UNIT - 1) / MGK_WEIGH_UNIT * MGK_WEIGH_UNIT;
}

/* The first of the rows [H n] of a group among `rows`. Those of a span, whose n is the same, follow
 * each other. */
static inline size_t mgk_diversity_rows(const mgk_diversity_work *work,
                                        const mgk_diversity_group *group)
{
    const size_t before = work->span_groups > 1 ? group->seat % work->span_heads : 0;
    return (group->seat - before) * work->source->n_max + before * group->group->n;
}

/* Where the vectors [H, n, D] of a group begin in `values` and `outputs`. */
static inline size_t mgk_diversity_vectors(const mgk_diversity_work *work,
                                           const mgk_diversity_group *group)
{
    return mgk_diversity_rows(work, group) * work->source->dim;
}

/* The output of the layer of group g. */
static inline double *mgk_diversity_output(const mgk_diversity_work *work, size_t g)
{
    const size_t place = work->groups[g].seat / work->layout->heads;
    return work->layer_outputs + place * work->source->n_max * work->source->model_dim;
}

/* Whether head h of a measured group has an entry below 0, so that its rows are no distributions.
 */
static inline bool mgk_diversity_negative(const mgk_diversity_work *work,
                                          const mgk_diversity_group *group, size_t h)
{
    return mgk_record_facts(work->layout, group->record, group->group->layer, h)[MGK_FACT_LOWEST] <
           0;
}

/* Allocates a round and the workspaces of threads, for the granted threads and the needs; release
 * with mgk_diversity_close, also after a failure. STATUS_MEMORY; the errors of reading parameters
 * from the source. */
mgk_status mgk_diversity_open(mgk_diversity_work *work);
void mgk_diversity_close(mgk_diversity_work *work);

/* Takes what group g has besides its matrices. For one group after another; those before it in the
 * round have theirs. STATUS_SHAPE: more rows than n_max, or other ones than in the layer before;
 * STATUS_NUMERIC: a number is not finite; the errors of the source. */
mgk_status mgk_diversity_inputs(mgk_diversity_work *work, size_t g);

/* Takes matrix number `slot` of the round, which belongs to group g with its inputs; measures of
 * this head, and its output if it is needed. Records a failure. */
void mgk_diversity_head(mgk_diversity_work *work, size_t g, size_t slot);

/*
 * Measures of pairs of heads of span number `span` of the round, across layers if the layout has
 * them, in four steps, each after all parts of the one before; the first one after all heads:
 * sums of blocks 0 … pair_blocks − 1 of rows;
 */
void mgk_diversity_sum(mgk_diversity_work *work, size_t span, size_t block);
/* what is summed over rows, at turns 0 … P − 1, one for each head; */
void mgk_diversity_total(mgk_diversity_work *work, size_t span, size_t turn);
/* values, at turns 0 … P − 1; */
void mgk_diversity_pairs(mgk_diversity_work *work, size_t span, size_t turn);
/* measures of layers that are made of them. */
void mgk_diversity_summaries(mgk_diversity_work *work, size_t span);

/* Stores the value of measure number m for heads g <= h, counted from head 0 of `layer` on: in
 * their layer if they are of one, and across layers if the layout has these. */
void mgk_diversity_store_pair(const mgk_record_layout *layout, double *record, size_t m,
                              size_t layer, size_t h, size_t g, double value);

/* Measures of pairs from weights alone, into work->common. STATUS_MEMORY; the errors of reading
 * weights from the source. */
mgk_status mgk_diversity_projections(mgk_diversity_work *work);

/* The bytes that this takes. */
double mgk_diversity_projection_bytes(const mgk_diversity_work *work);

/* Measures of the layer of group g: of its output, and of its heads and those of the layer before,
 * which are measured. */
void mgk_diversity_layer(mgk_diversity_work *work, size_t g);

/* Measures of rollouts, which go through the layers of the round; keeps what the next one needs. */
void mgk_diversity_end_layers(mgk_diversity_work *work);

#endif
