/* SPDX-License-Identifier: MIT */
/* The configuration of a model: it determines all shapes and the arithmetic. */
#ifndef MGK_MODEL_CONFIG_H
#define MGK_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/picture.h"
#include "base/status.h"
#include "kernels/attention.h"

#define MGK_NAME_SIZE 16 /* bytes of a kind or task name, its terminator included */

typedef enum mgk_family {
    MGK_FAMILY_ENCODER, /* "encoder": bidirectional, mean pooling, classifier */
    MGK_FAMILY_LM       /* "lm": causal language model */
} mgk_family;

/* The shape of a layer's priors. */
typedef enum mgk_prior_shape {
    MGK_PRIOR_LAYER,   /* "layer": [M] */
    MGK_PRIOR_HEAD,    /* "head": [H, M] */
    MGK_PRIOR_POSITION /* "position": [H, M, N], one per key position */
} mgk_prior_shape;

typedef enum mgk_positions {
    MGK_POSITIONS_LEARNED,    /* "learned": a [N, C] table */
    MGK_POSITIONS_SINUSOIDAL, /* "sinusoidal": computed, [sin | cos] halves; C is even */
    MGK_POSITIONS_ROTARY /* "rotary": queries and keys are rotated (Su et al. 2021); D is even */
} mgk_positions;

typedef enum mgk_normalization {
    MGK_NORMALIZATION_LAYER, /* "layer": layer norm */
    MGK_NORMALIZATION_RMS    /* "rms": x / sqrt(mean x^2), no offset (Zhang and Sennrich 2019) */
} mgk_normalization;

/* Scaling of rotary frequencies for lengths beyond the training length. */
typedef enum mgk_rotary_scaling {
    MGK_ROTARY_PLAIN,  /* "plain": none */
    MGK_ROTARY_LINEAR, /* "linear": all divided by rotary_factor */
    MGK_ROTARY_LLAMA3  /* "llama3": divides slow ones, keeps fast ones, blends between */
} mgk_rotary_scaling;

/* Pooling of an encoder's hidden states into one vector. */
typedef enum mgk_sentence_pooling {
    MGK_POOLING_TOKENS, /* "mean": over the valid tokens */
    MGK_POOLING_LENGTH  /* "length": their sum divided by N, as if padding were zeros */
} mgk_sentence_pooling;

enum { MGK_MAX_CUTOFFS = 8 };

/* Field names are also the keys of the JSON form. mgk_config_resolve checks ranges. */
typedef struct mgk_config {
    mgk_family family;
    char attention[MGK_NAME_SIZE]; /* kind: "softmax", "mgk", ...; not checked here */
    char task[MGK_NAME_SIZE];      /* trained for: "lm", "listops", ... */

    int layers;     /* L, 1 to 4096 */
    int heads;      /* H, 1 to 4096 */
    int key_heads;  /* G, divides H: H / G query heads share keys and values (Ainslie et al. 2023);
                       0: H, once resolved */
    int dim;        /* C, 1 to 2^20 */
    int head_dim;   /* D, 1 to 2^20, independent of C / H; H * D * M is at most 2^24 */
    int hidden;     /* F, 1 to 2^20 */
    int length;     /* N, the number of positions, 1 to 2^20 */
    int vocabulary; /* V, 1 to 2^20; N if tokens are patches, whose ids are their positions */
    int classes; /* outputs of an encoder's classifier, 0 (none) to 2^20; 0 for language models */
    int classifier; /* width of the classifier's hidden layer; 0: C, once resolved */
    int mixtures;   /* M, keys per head, 1 to MGK_MAX_MIXTURES */

    mgk_prior_mode prior; /* "learned", "em" or "hard" */
    mgk_prior_shape prior_shape;
    double variance[MGK_MAX_MIXTURES]; /* [M]: sigma_r^2 > 0; 0: sqrt(D), once resolved */
    double normalizer_epsilon;         /* added to the row sum before dividing, in [0, 1) */
    bool row_normalized; /* linear kinds: false divides scores by sqrt(N), not by their row sum */
    bool mix_keys; /* linear kinds: features of mixed keys instead of mixed features of keys */

    double norm_epsilon; /* of the norms, in (0, 1) */
    double dropout;      /* probability, in [0, 1) */
    bool causal;         /* a query sees no later key; always true for language models */
    bool attention_bias; /* the query, key, value and output projections have biases */
    bool dual;           /* two documents, encoded alike, classified as [x, y, x*y, x-y] */
    bool pre_norm;       /* a norm before each block instead of after the residual sum */
    mgk_normalization norm;
    mgk_activation activation; /* "gelu", "relu", "gelu_tanh" or "silu" */
    bool gated;             /* the feed-forward is W (activation(W_g x) * W_i x) (Shazeer 2020) */
    bool feed_forward_bias; /* its maps have biases */
    mgk_sentence_pooling pooling;

    int layer_groups; /* 1 to L: layers share parameters, layer l those of group
                         l layer_groups / L, rounded down (ALBERT); 0: L, once resolved */
    int embedding; /* E, 1 to 2^20: tokens and positions are embedded in E numbers, and a map brings
                      them to C if that differs; 0: C, once resolved */
    double embedding_scale; /* of tokens, > 0; 0: sqrt(C) (language models) or 1, once resolved */
    bool embedding_norm;    /* a norm before the first layer */
    mgk_positions positions;
    bool positions_backward;     /* sinusoidal: the last token of a sequence has position 0 */
    bool positions_skip_padding; /* learned: tokens are counted without padding, the id `padding`,
                                    which has position N wherever it stands */
    double rotary_base;          /* angles are t base^(-2d/D) */
    mgk_rotary_scaling rotary_scaling;
    double rotary_factor;           /* of the scaling, at least 1 */
    double rotary_low, rotary_high; /* llama3: fewer turns: divided; more turns: kept */
    int rotary_original;            /* llama3: the original length; turns are counted within it */

    bool tied;                    /* language models: the output layer is the token embedding */
    bool output_bias;             /* language models: the output layer has a bias */
    int cutoffs[MGK_MAX_CUTOFFS]; /* adaptive softmax: first words of clusters, ascending, < V */
    int cutoff_count;             /* of `cutoffs` (Grave et al. 2017); 0: ordinary softmax */
    int padding;                  /* id of padding in files of tokens; -1: none */

    /*
     * For encoders of pictures: N is the number of its tokens. Keys "patch", "image" (the side),
     * "resampling", "image_scale", "image_extra", "image_edge", "image_shortest", and with patches
     * "image_mean" and "image_std".
     */
    mgk_picture_form picture;
} mgk_config;

/*
 * The paper's shapes. Encoder: LRA, 2 layers, dim 64, hidden 128, 2 heads of 32, two classes.
 * Language model: 16 layers, dim 128, 8 heads of 16, hidden 2048, 256 bytes of context. Attention
 * is "mgk" with M = 2; variances are unresolved.
 */
void mgk_config_defaults(mgk_family family, mgk_config *config);

/*
 * Replaces each 0 that means a default by its value, such as sqrt(D) for a variance, zeroes
 * variances beyond M, and checks every range. STATUS_USAGE names the field and the range. Sizes of
 * a resolved configuration are safe to multiply: no array of one layer overflows size_t, and H * D
 * * M fits an int.
 */
mgk_status mgk_config_resolve(mgk_config *config);

/*
 * The configuration as one line of JSON, with exact numbers; release *text with mgk_free. Expects a
 * resolved configuration; STATUS_MEMORY is the only failure.
 */
mgk_status mgk_config_to_json(const mgk_config *config, char **text);

/*
 * Reads the JSON of `length` bytes (untrusted, not necessarily terminated) into a resolved
 * configuration. "family" is required, other missing keys have the family's defaults, unknown keys
 * are ignored. STATUS_FORMAT names the key of the wrong type or range.
 */
mgk_status mgk_config_from_json(const char *text, size_t length, mgk_config *config);

#endif
