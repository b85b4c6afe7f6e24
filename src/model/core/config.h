/* SPDX-License-Identifier: MIT */
/* The configuration of a model: it determines all shapes and the arithmetic. */
#ifndef MGK_MODEL_CONFIG_H
#define MGK_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/picture.h"
#include "base/sound.h"
#include "base/status.h"
#include "kernels/attention.h"
#include "kernels/attention/settings.h"

/* Bytes, terminators included: of a task's name, of a kind's, and of a list of kinds. */
enum { MGK_NAME_SIZE = 16, MGK_KIND_NAME = 25, MGK_KINDS_SIZE = 4096 };

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

/* The queries whose responsibilities are the priors of soft-E. */
typedef enum mgk_prior_queries {
    MGK_QUERIES_SEEN, /* "seen": those that see the key */
    /* "all": all valid ones, also in causal models; γ_ijr = s_ijr / (Σ_r s_ijr + 1e-6), and the
     * last prior is what the others leave of 1, as in the paper's code. Gaussian kinds. */
    MGK_QUERIES_ALL
} mgk_prior_queries;

typedef enum mgk_positions {
    MGK_POSITIONS_LEARNED,    /* "learned": a [N, C] table */
    MGK_POSITIONS_SINUSOIDAL, /* "sinusoidal": computed, [sin | cos] halves; C is even */
    MGK_POSITIONS_ROTARY,     /* "rotary": queries and keys are rotated (Su et al. 2021) */
    MGK_POSITIONS_ALIBI,      /* "alibi": scores + slope_h (j − i) (Press et al. 2022) */
    MGK_POSITIONS_NONE        /* "none" */
} mgk_positions;

typedef enum mgk_normalization {
    MGK_NORMALIZATION_LAYER, /* "layer": layer norm */
    MGK_NORMALIZATION_RMS    /* "rms": x / sqrt(mean x^2), no offset (Zhang and Sennrich 2019) */
} mgk_normalization;

/* The learned numbers of norms. RMS norms have no offset in any case. */
typedef enum mgk_norm_parameters {
    MGK_NORM_ALL,    /* "all": gain and offset */
    MGK_NORM_WEIGHT, /* "weight": a gain */
    MGK_NORM_NONE    /* "none" */
} mgk_norm_parameters;

/* Whether attention and feed-forward have the same input: x + attention(a x) + feed_forward(b x).
 */
typedef enum mgk_parallel {
    MGK_PARALLEL_NO,     /* "no": one after the other */
    MGK_PARALLEL_SHARED, /* "shared": a and b are one norm */
    MGK_PARALLEL_OWN     /* "own": a norm each */
} mgk_parallel;

/* A norm of queries and of keys, before they are rotated. */
typedef enum mgk_query_norm {
    MGK_QUERY_NORM_NONE, /* "none" */
    MGK_QUERY_NORM_HEAD, /* "head": of the D numbers of each head, all with the same gain */
    MGK_QUERY_NORM_WIDTH /* "width": of the numbers of all heads together */
} mgk_query_norm;

/* The bias of the output projection of attention. */
typedef enum mgk_output_bias {
    MGK_OUTPUT_BIAS_SAME, /* "same": if attention_bias */
    MGK_OUTPUT_BIAS_NONE, /* "none" */
    MGK_OUTPUT_BIAS_OWN   /* "own": has one */
} mgk_output_bias;

/* What the output projection of attention reads. */
typedef enum mgk_aggregation {
    MGK_AGGREGATION_CONCATENATION, /* "concatenation": the outputs of all heads */
    MGK_AGGREGATION_CAPSULES       /* "capsules": what they agree on, see aggregate.c */
} mgk_aggregation;

/*
 * Scaling of rotary frequencies for lengths beyond the original one. A frequency has so many turns
 * within rotary_original tokens.
 */
typedef enum mgk_rotary_scaling {
    MGK_ROTARY_PLAIN,  /* "plain": none */
    MGK_ROTARY_LINEAR, /* "linear": all divided by rotary_factor */
    MGK_ROTARY_LLAMA3, /* "llama3": divides slow ones, keeps fast ones, blends between */
    MGK_ROTARY_YARN,   /* "yarn": the same, blended by number, not by turns (Peng et al. 2023) */
    MGK_ROTARY_PROPORTIONAL, /* "proportional": base^(-2d/D) / rotary_factor in place of R */
    MGK_ROTARY_LONG /* "long": each divided by its number in rotary_short, or rotary_long in
                       passes of more than rotary_original tokens (Ding et al. 2024) */
} mgk_rotary_scaling;

/* Pooling of an encoder's hidden states into one vector. */
typedef enum mgk_sentence_pooling {
    MGK_POOLING_TOKENS, /* "mean": over the valid tokens */
    MGK_POOLING_LENGTH, /* "length": their sum divided by N, as if padding were zeros */
    MGK_POOLING_FIRST   /* "first": the state of the first token */
} mgk_sentence_pooling;

/* Steps of the routing of capsules, as many as Sabour et al. (2017) take. */
enum { MGK_ROUTING_STEPS = 3 };

enum { MGK_MAX_CUTOFFS = 8, MGK_MAX_LAYERS = 4096, MGK_MAX_FREQUENCIES = 128 };

/* Field names are also the keys of the JSON form. mgk_config_resolve checks ranges. */
typedef struct mgk_config {
    mgk_family family;
    /* The kind of all layers, "mgk", or one for each, "band,band,softmax". Equal ones become one,
     * once resolved. Whether they are known is not checked here. */
    char attention[MGK_KINDS_SIZE];
    char task[MGK_NAME_SIZE]; /* trained for: "lm", "listops", ... */
    /*
     * Of the kinds. Keys "attention_window", ..., "feature_map", "feature_draw", written if not 0.
     * 0: the default of the first layer's kind that has the setting, once resolved.
     */
    mgk_attention_settings settings;
    int pattern_seed; /* of random patterns, at least 0; written if not 0 */

    int layers;     /* L, 1 to MGK_MAX_LAYERS */
    int heads;      /* H, 1 to 4096 */
    int key_heads;  /* G, divides H: H / G query heads share keys and values (Ainslie et al. 2023);
                       0: H, once resolved */
    int dim;        /* C, 1 to 2^20 */
    int head_dim;   /* D, 1 to 2^20, independent of C / H; H * D * M is at most 2^24 */
    int hidden;     /* F, 1 to 2^20 */
    int length;     /* N, the number of positions, 1 to 2^20 */
    int vocabulary; /* V, 1 to 2^20; N if tokens are patches or sounds, whose ids are positions */
    int classes; /* outputs of an encoder's classifier, 0 (none) to 2^20; 0 for language models */
    int classifier; /* width of the classifier's hidden layer; 0: C, once resolved */
    int mixtures;   /* M, keys per head, 1 to MGK_MAX_MIXTURES, of layers whose kind is a mixture;
                       others have one */

    mgk_prior_mode prior; /* "learned", "em" or "hard" */
    mgk_prior_shape prior_shape;
    mgk_prior_queries prior_queries;   /* of soft-E; written if not "seen" */
    double variance[MGK_MAX_MIXTURES]; /* [M]: sigma_r^2 > 0; 0: sqrt(D), once resolved */
    double normalizer_epsilon;         /* added to the row sum before dividing, in [0, 1) */
    bool row_normalized; /* linear kinds: false divides scores by sqrt(N), not by their row sum */
    bool mix_keys;      /* linear kinds: features of mixed keys instead of mixed features of keys */
    bool unit_features; /* linear kinds with elu + 1: the features of a query, or of a key, are
                           divided by their sum; written if true */

    double norm_epsilon; /* of the norms, in (0, 1) */
    double dropout; /* probability, in [0, 1), of embeddings and of both blocks' outputs; also */
    double dropout_hidden;    /* of the feed-forward's hidden layer, and */
    double dropout_output;    /* of the final hidden states, and */
    double dropout_attention; /* of the entries of attention matrices; written if not 0 */
    bool causal;              /* a query sees no later key; always true for language models */
    bool attention_bias; /* the query, key and value projections have biases, the output's, too: */
    mgk_output_bias attention_output_bias;
    mgk_aggregation aggregate; /* of heads; "concatenation" with a memory */
    mgk_query_norm query_norm;
    double attention_scale; /* of q·k, softmax; 0: 1/√D */
    double attention_cap;   /* softmax: scores x become cap tanh(x / cap), in [0, 1e6); 0: none */
    int window;             /* of local layers: |i − j| < window; 0: all keys */
    /* Bit l % 8 of byte l / 8: layer l is local, see mgk_config_is_local. JSON: their numbers. */
    unsigned char local[MGK_MAX_LAYERS / 8];
    /* rotary: the same of layers without positions. JSON: "unrotated", their numbers, if any. */
    unsigned char unrotated[MGK_MAX_LAYERS / 8];
    bool dual;        /* two documents, encoded alike, classified as [x, y, x*y, x-y] */
    bool pre_norm;    /* a norm before each block instead of after the residual sum */
    bool raw_queries; /* pre_norm: queries are maps of the block's input before that norm; written
                         if true */
    bool first_norm;  /* pre_norm: also before the attention of layer 0 */
    bool final_norm;  /* after the last layer, but for models with a norm after each sum */
    bool branch_norm; /* a norm after each block, before the sum; then there is none after it */
    mgk_parallel parallel; /* "no" without pre_norm */
    bool reversible; /* pre_norm: two streams of C numbers, both the embedding at first. Attention
                        reads the second one and is added to the first, the feed-forward reads that
                        sum and is added to the second (Gomez et al. 2017). Final hidden states are
                        both, of 2 C numbers, under one norm */
    mgk_normalization norm;
    mgk_norm_parameters norm_parameters;
    mgk_activation activation; /* "gelu", "relu", "gelu_tanh" or "silu" */
    bool gated;             /* the feed-forward is W (activation(W_g x) * W_i x) (Shazeer 2020) */
    bool feed_forward_bias; /* its maps have biases */
    int experts; /* E, 0 to 4096: the feed-forward is a mixture of E gated blocks without biases,
                    see experts.c; 0: it is one block. Written if not 0, as are: */
    int experts_used;        /* k, 1 to E: blocks that a token uses; 0 without experts */
    bool experts_normalized; /* their weights sum to 1 */
    int experts_shared; /* S, up to 2^20: hidden numbers of one more block, which all tokens use; 0:
                           there is none */
    mgk_sentence_pooling pooling;
    bool class_token; /* the last id of the vocabulary begins every sequence of a text, and its
                         state is pooled ("first"); written if true */

    int layer_groups; /* 1 to L: layers share parameters, layer l those of group
                         l layer_groups / L, rounded down (ALBERT); 0: L, once resolved */
    int embedding; /* E, 1 to 2^20: tokens and positions are embedded in E numbers, and a map brings
                      them to C if that differs; 0: C, once resolved */
    bool embedding_outer; /* the map has no bias, learned positions of C numbers follow it, and the
                             output layer of a language model has a map back to E (OPT) */
    double embedding_scale; /* of tokens, > 0; 0: sqrt(C) (language models) or 1, once resolved */
    bool embedding_norm;    /* a norm before the first layer */
    mgk_positions positions;
    bool positions_alternate;    /* sinusoidal: sin and cos of a frequency are neighbours; written
                                    if true */
    bool positions_backward;     /* sinusoidal: the last token of a sequence has position 0 */
    bool positions_skip_padding; /* learned: tokens are counted without padding, the id `padding`,
                                    which has position N wherever it stands */
    /*
     * Classes of distances j − i of key and query: scores + a learned bias of the head and of the
     * class, in all layers the same (Raffel et al. 2020). A multiple of 4, half of them of keys
     * after the query; of causal models a multiple of 2, none of them of such keys. 0: none.
     */
    int buckets;
    int bucket_limit; /* distances from here on are in the last class; more than the half of the
                         classes of a side, which have one distance each */
    int relative; /* S, up to 2^15: scores depend on content and distance together, with rows for
                     the distances -S to S - 1, see relative.c; 0: no */
    int relative_far; /* distances over S / 2 share rows, up to this one; over S / 2 + 1; 0: none */
    double alibi_scale; /* of the slopes, > 0 */
    bool alibi_rounded; /* slope, position of the key and product are rounded to bf16, as falcon was
                           trained; then positions count from the first token, not from the query */
    bool rotary_table;  /* rotary: a learned [N, E] table is added to the tokens, too */
    int rotary_dim;     /* R: so many numbers of a head are rotated, even; 0: D, once resolved */
    double rotary_base; /* angles are t base^(-2d/R) */
    double local_base;  /* the same of local layers, without scaling; 0: as the other layers */
    mgk_rotary_scaling rotary_scaling;
    double rotary_factor;           /* of the scaling, at least 1 */
    double rotary_low, rotary_high; /* fewer turns: divided; more turns: kept */
    int rotary_original;            /* the original length */
    bool rotary_whole;              /* yarn: blends between whole numbers of frequencies */
    double rotary_amplitude;        /* of the cosines and sines of scaled angles, > 0 */
    double rotary_short[MGK_MAX_FREQUENCIES]; /* [R / 2], long: > 0 */
    double rotary_long[MGK_MAX_FREQUENCIES];

    bool tied;                    /* language models: the output layer is the token embedding */
    bool output_bias;             /* language models: the output layer has a bias */
    double logit_scale;           /* language models: of logits without bias, > 0 */
    double logit_cap;             /* language models: logits x become cap tanh(x / cap); 0: none */
    int cutoffs[MGK_MAX_CUTOFFS]; /* adaptive softmax: first words of clusters, ascending, < V; V:
                                     the cluster is empty, but the first softmax has its entry */
    int cutoff_count;             /* of `cutoffs` (Grave et al. 2017); 0: ordinary softmax */
    /* d: cluster k = 1, 2, … has embeddings of C / d^k numbers, see clusters.c; 0: of C */
    int cutoff_divisor;
    int padding;       /* id of padding in files of tokens; -1: none */
    bool padding_word; /* this id also begins or ends texts */
    /* Tokens with this id have an embedding of 0; those of the other tokens of a sequence are
     * divided by their share of it. 0: none; written if not 0 */
    int mask_token;
    bool padding_masked; /* encoders: no query sees a token with this id, wherever it
                            stands, and its final hidden state is 0; written if true */

    /*
     * The decoder of an encoder-decoder model: after its own attention each layer attends to the
     * final hidden states of the encoder, of so many numbers, 1 to 2^20; 0: there is no encoder.
     * Keys of a memory are not restricted by positions, and their scores have no bias.
     */
    int memory;
    int start; /* with a memory: the id that stands before the tokens of the target; -1: their last
                  one moves to their front (mBART). Without: -1 */

    /*
     * For encoders of pictures: N is the number of its tokens. Keys "patch", "image" (the side),
     * "resampling", "image_scale", "image_extra", "image_edge", "image_shortest", and with patches
     * "image_mean" and "image_std".
     */
    mgk_picture_form picture;

    /*
     * For encoders of sounds: two convolutions make N tokens of 2 N frames. Keys "sound_bands",
     * "sound_rate", "sound_hop", "sound_window".
     */
    mgk_sound_form sound;
} mgk_config;

/*
 * The paper's shapes. Encoder: LRA, 2 layers, dim 64, hidden 128, 2 heads of 32, two classes.
 * Language model: 16 layers, dim 128, 8 heads of 16, hidden 2048, 256 bytes of context. Attention
 * is "mgk" with M = 2; variances are unresolved.
 */
void mgk_config_defaults(mgk_family family, mgk_config *config);

/*
 * Replaces each 0 that means a default by its value, such as sqrt(D) for a variance, zeroes
 * variances beyond M, and checks every range. STATUS_USAGE names the field and the range, or a
 * setting that no kind of the model has, or a kind without a causal form, or without another one,
 * that the model needs. Sizes of
 * a resolved configuration are safe to multiply: no array of one layer overflows size_t, and H * D
 * * M fits an int.
 */
mgk_status mgk_config_resolve(mgk_config *config);

/* STATUS_USAGE: the field, which the table of fields has, is out of its range. For code that needs
 * one before mgk_config_resolve, to which 0 may still mean a default. */
mgk_status mgk_config_check_range(const mgk_config *config, const char *field);

/* The name of the kind of layer `layer`. */
void mgk_config_kind_name(const mgk_config *config, int layer, char out[MGK_KIND_NAME]);

/* The kind of layer `layer`; NULL: it is not known. */
const mgk_attention_kind *mgk_config_kind(const mgk_config *config, int layer);

/* Keys of each head and position in layer `layer`, of a known kind: M, or 1 if it is no mixture. */
int mgk_config_mixtures(const mgk_config *config, int layer);

/* The kind of layer `layer` in a list, as `attention` of a store is; NULL: it is not known, or the
 * list is longer than that of a model. */
const mgk_attention_kind *mgk_kinds_of_layer(const char *kinds, int layer);

/* Whether a kind of a list weighs other values than those that layers project for each head. */
bool mgk_kinds_own_values(const char *kinds);

/* STATUS_UNSUPPORTED: the layer has no N x N matrix; the message says so if others have one. */
mgk_status mgk_config_check_matrix(const mgk_config *config, int layer);

/*
 * STATUS_USAGE: a layer of a kind that reads the layer below has another kind below it, or is the
 * first and has another one above it: it would be softmax attention under another name. Of a
 * resolved configuration. Models in files may be so.
 */
mgk_status mgk_config_check_below(const mgk_config *config);

/* Whether a query of a kind of the list may see no key; unknown kinds are left out. */
bool mgk_kinds_may_be_blank(const char *kinds);

/* Whether losses count how often the largest p is the target's: an adaptive softmax computes the
 * logits of a cluster only for targets in it, so that it does not know what else is larger. */
static inline bool mgk_config_counts_correct(const mgk_config *config)
{
    return config->cutoff_count == 0;
}

/* Whether the rows of attention of layer `layer`, of a known kind, sum to 1. */
bool mgk_config_is_normalized(const mgk_config *config, int layer);

/* Whether layer `layer` is local: it has the window, and local_base. */
bool mgk_config_is_local(const mgk_config *config, int layer);
void mgk_config_set_local(mgk_config *config, int layer);

/* Whether the queries and keys of layer `layer` are not rotated in a model with rotary positions.
 */
bool mgk_config_is_unrotated(const mgk_config *config, int layer);
void mgk_config_set_unrotated(mgk_config *config, int layer);
bool mgk_config_has_unrotated(const mgk_config *config); /* any layer */

/* Whether the model reads tokens, not pictures or sounds. */
bool mgk_config_reads_tokens(const mgk_config *config);

/* A norm after the last layer: in all models but those that normalise the residual sums. */
bool mgk_config_has_final_norm(const mgk_config *config);

/* Of part 0 of the vocabulary, the frequent words, or of part k, cluster k: its words, and the
 * numbers of their embeddings. */
size_t mgk_config_part_words(const mgk_config *config, int part);
size_t mgk_config_part_width(const mgk_config *config, int part);

/* The numbers of a token's final hidden state: C, or 2 C of both streams. */
int mgk_config_hidden_width(const mgk_config *config);

/* Whether each score has a bias of the head and of the distance of its key and query. */
bool mgk_config_has_distances(const mgk_config *config);

/* Whether the output projection of attention has a bias. */
bool mgk_config_has_attention_output_bias(const mgk_config *config);

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
