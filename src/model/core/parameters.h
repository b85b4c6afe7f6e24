/* SPDX-License-Identifier: MIT */
/*
 * The parameters of a model: their names, shapes, and offsets in one flat array of weights, for a
 * configuration. Gradients and the optimizer's moments have the same layout. Query, key and value
 * projections of a layer are adjacent, so that one product computes all three.
 */
#ifndef MGK_MODEL_PARAMETERS_H
#define MGK_MODEL_PARAMETERS_H

#include <stdint.h>

#include "kernels/attention.h"
#include "model/core/config.h"

/* The offset of a parameter in the flat array; MGK_ABSENT if the configuration does not have it. */
typedef size_t mgk_offset;
#define MGK_ABSENT ((mgk_offset)-1)

/* A linear map y = x Wᵀ + b: weight [out, in], bias [out] or absent. */
typedef struct mgk_linear_map {
    mgk_offset weight, bias;
} mgk_linear_map;

/* A norm: gamma (weight) and beta (bias), [C] or [E] each, or absent; RMS norm has no beta. */
typedef mgk_linear_map mgk_norm;

typedef struct mgk_layer_offsets {
    const mgk_attention_kind *kind;
    mgk_linear_map query; /* [H·D, C], followed by key [M·G·D or G·D, C], value [G·D, C] and the
                             kind's extra numbers [E, C] */
    size_t mixtures;      /* M of the layer */
    size_t keys;          /* rows of keys: M·G·D, or G·D if they are shifted */
    size_t extra;         /* E */
    size_t rows;          /* of all four */
    mgk_offset own[MGK_KIND_PARAMETERS]; /* of the kind, in its order, */
    bool drawn[MGK_KIND_PARAMETERS];     /* and which of them are not trained */
    int own_count;
    mgk_offset key_shift;          /* [M, H, D], shifted designs only */
    mgk_offset prior;              /* [M], [H, M] or [H, M, N]; mixtures except hard-E */
    mgk_norm query_norm, key_norm; /* [D], or [H·D] and [G·D] */
    mgk_offset votes;              /* [H, H·D, D], see aggregate.c; stored as [H H·D, D] */
    mgk_linear_map output;         /* [C, H·D] */
    mgk_linear_map cross_query;    /* attention to a memory of K numbers: [H·D, C]; */
    mgk_linear_map cross_key;      /* [H·D, K], followed by value [H·D, K]; */
    mgk_linear_map cross_output;   /* [C, H·D] */
    mgk_norm cross_norm;           /* of its input, or of the sum after it */
    mgk_norm norm1, norm2;         /* of inputs or of sums, or absent */
    mgk_norm branch_norm1, branch_norm2;
    mgk_offset router;        /* [E, C] of a mixture of experts */
    mgk_offset shared_router; /* [1, C] of a block that all tokens use, and its maps, */
    mgk_offset shared_gate, shared_in, shared_out; /* [S, C], [S, C], [C, S] */
    mgk_linear_map in, out; /* feed-forward: [F, C], or [2 F, C] with the gate first; [C, F]. Of
                               experts: the gates of all [E F, C] first, then [E F, C]; [E C, F] */
} mgk_layer_offsets;

enum { MGK_PARAMETER_NAME = 64 };

typedef struct mgk_parameter {
    char name[MGK_PARAMETER_NAME]; /* "layers.0.attention.key.weight" */
    int axes;
    size_t shape[MGK_PARAMETER_AXES];
    size_t count;
    mgk_offset offset;
    mgk_initial initial;
    double value; /* the constant, or the standard deviation */
    bool decay;   /* whether weight decay applies: matrices, not norms, biases, priors */
    bool drawn;   /* random numbers that are not trained */
} mgk_parameter;

typedef struct mgk_parameters {
    mgk_parameter *list; /* [count], by offset */
    size_t count;
    size_t total;                   /* length of the flat array */
    mgk_offset token;               /* [V, E] token embeddings; with patches instead: */
    mgk_offset patch;               /* [C, 3 P²], columns: channel, row, column of a patch */
    mgk_linear_map convolutions[2]; /* sounds instead: [C, 3, M], [C, 3, C], of three rows each */
    mgk_offset position; /* [N, E] learned positions, with that of padding [N + 1, E]; with patches
                            plus class and biases */
    mgk_offset relative; /* [2 S, C], see relative.c */
    mgk_offset distance; /* [buckets, H] biases of classes of distances */
    mgk_norm embedding_norm;   /* [E] */
    mgk_linear_map projection; /* [C, E] of embeddings, if E is not C */
    mgk_linear_map back;       /* [E, C] before the output layer; see embedding_outer */
    mgk_layer_offsets *layers; /* [L]; those of a group are equal */
    mgk_norm norm;             /* final norm, see mgk_config_has_final_norm and _hidden_width */
    mgk_linear_map classifier; /* [K, C or 4C], followed by ReLU; K is config.classifier */
    mgk_linear_map head; /* [classes, K]; language models: [V, C or 2 C], the token embeddings if
                            tied */
    mgk_linear_map clusters; /* adaptive softmax: [cutoff_count, C] */
    /* With a divisor, in place of token and of the head's weight, for each part of the vocabulary:
     * [words, width], and the map [C, width]; `back` is then the map [C, C] of frequent words and
     * clusters in the output. See clusters.c */
    mgk_offset parts[MGK_MAX_CUTOFFS + 1], part_maps[MGK_MAX_CUTOFFS + 1];
} mgk_parameters;

/*
 * Builds the layout for a resolved configuration. Release with mgk_parameters_free.
 * STATUS_UNSUPPORTED: no such attention kind; STATUS_USAGE: M > 1, hard-E or another setting that
 * the kind does not support.
 */
mgk_status mgk_parameters_build(const mgk_config *config, mgk_parameters *out);
void mgk_parameters_free(mgk_parameters *parameters); /* a zeroed one is accepted */

/*
 * Fills weights [total] with initial values, a pure function of the seed and of the parameters'
 * positions in the list.
 */
void mgk_parameters_initialize(const mgk_parameters *parameters, uint64_t seed, double *weights);

/*
 * Writes new numbers to the parameters of weights [total] that are drawn and not trained: a pure
 * function of the seed, of `draw` and of their positions. Draw 0 is that of initial values.
 */
void mgk_parameters_draw(const mgk_parameters *parameters, uint64_t seed, uint64_t draw,
                         double *weights);

/* The sizes of a layer's attention to `tokens` tokens. */
mgk_attention_size mgk_attention_size_of(const mgk_config *config, int layer, int tokens);

#endif
