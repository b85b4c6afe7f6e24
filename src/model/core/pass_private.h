/* SPDX-License-Identifier: MIT */
/* Shared by the forward and the backward pass. */
#ifndef MGK_MODEL_PASS_PRIVATE_H
#define MGK_MODEL_PASS_PRIVATE_H

#include "model/core/pass.h"

/*
 * Activations of one layer; T = B N rows. A pre-norm layer normalises the inputs of its two blocks,
 * a post-norm layer their sums:
 *   pre   norm1 = LN(input)   sum1 = input + attention(norm1)
 *         norm2 = LN(sum1)    sum2 = sum1 + feed_forward(norm2)   output = sum2
 *   post  sum1 = input + attention(input)      norm1 = LN(sum1)
 *         sum2 = norm1 + feed_forward(norm1)   norm2 = LN(sum2)   output = norm2
 * Without gradients there are two more. With parallel blocks the feed-forward reads norm1, or
 * norm2 = LN(input), in place of LN(sum1). With branch norms, attention and feed-forward stand for
 * LN(attention) and LN(feed_forward); without pre_norm both read the sums as they are, and the
 * output is sum2. A reversible layer also has the other stream:
 *   norm1 = LN(input)   sum1 = other + attention(norm1)
 *   norm2 = LN(sum1)    sum2 = input + feed_forward(norm2)      output = sum2, other output = sum1
 * Attention to a memory stands between the two blocks, see cross.c.
 */
typedef struct mgk_layer_activations {
    void *input;      /* [T, C]; output of the layer below, not owned */
    void *other;      /* [T, C]; the other stream, not owned; the input if there is one stream */
    void *norm1;      /* [T, C] */
    void *mean1;      /* [T] */
    void *deviation1; /* [T] */
    void *qkv;        /* [T, rows of the layer]: queries, keys (M of them if projected), values,
                         extra numbers */
    void *keys;       /* [T, M, H, D] shifted keys; NULL if projected */
    void *turned;     /* [T, 3, H, D]: rotated queries and keys, and values; NULL: those of qkv */
    void *kept;       /* see mgk_kind_memory */
    void *attended;   /* [T, H, D] */
    void *capsules;   /* [T, H, D], see aggregate.c; NULL: heads are concatenated */
    void *sum1;       /* [T, C] */
    void *norm2;      /* [T, C] */
    void *mean2;      /* [T] */
    void *deviation2; /* [T] */
    void *hidden;     /* [T, F] before the activation; if gated [T, 2 F], the gate first */
    void *activated;  /* [T, F] after */
    void *sum2;       /* [T, C] */
} mgk_layer_activations;

/* The memory of a batch, and the activations of one layer's attention to it: M = its tokens. */
typedef struct mgk_cross {
    const void *hidden; /* [B, M, K], of the caller; NULL: not set */
    int tokens;         /* M */
    int32_t *lengths;   /* [B] */
    void *query;        /* [T, H·D] */
    void *keys;         /* [B M, 2 H·D]: keys and values */
    void *normed;       /* [T, C]: of the input, or of the sum */
    void *sum;          /* [T, C] */
} mgk_cross;

/* Which experts the tokens of a layer use, see experts.c. */
typedef struct mgk_routing {
    void *scores;    /* [T, E] of the router */
    int32_t *chosen; /* [T, k] experts of a token */
    int32_t *order;  /* [T k] tokens, those of an expert adjacent, then all T if there is a block
                        that all use; */
    void *weights;   /* and their weights */
    void *gathered;  /* [T, C] states of an expert's tokens, then its outputs */
} mgk_routing;

typedef struct mgk_regulariser mgk_regulariser;

struct mgk_pass {
    mgk_model *model;
    bool training;
    size_t capacity_sequences, capacity_tokens, capacity_rows; /* B, N, T = B N at most */
    size_t capacity_memory;                                    /* tokens of a memory at most */
    size_t width;                                              /* H·D */
    size_t qkv_width; /* of queries, keys, values and extra numbers, of the layer with most */
    size_t shifted;   /* M·H·D of layers with shifted keys; 0: there are none */
    bool turning;     /* rotary positions, or heads share keys */

    mgk_layer_activations *layers; /* [L] */
    void *arrays;                  /* one allocation for all */
    void *positions;               /* [N, E] sinusoids of the pass's N; NULL: none */
    void *angles, *local_angles;   /* [N, D] of rotary positions; NULL: none, or all alike */
    void *far_angles;              /* [N, D] of sequences of more than rotary_original tokens */
    bool *far;                     /* [B], host: the sequence has these; NULL: all alike */
    void *distances;               /* [H, 2 N − 1] added to scores; NULL: nothing */
    void *relative;                /* [2 S, 2 H·D] queries and keys of the rows of relative.c */
    void *relative_sides[2];       /* [T, H, 2 S] */
    int32_t *relative_places;      /* [2 N − 1], rows of distances j − i from 1 − N on */
    void *narrow;                  /* [T, E] before the map to C; NULL: E is C */
    void *embedded;                /* [T, C] */
    void *branch;                  /* [T, C] a block's output before the residual sum */
    void *final;                   /* [T, C or 2 C] after the final norm; pre-norm models */
    void *mean, *deviation;        /* [T] of norms outside of the layer's, such as the final one */
    void *pooled, *features, *classified,
        *rectified;        /* encoders: [B, C], [B/2, 4C], [·, K], at least [B, C] */
    void *logits;          /* [·, V] or [B, classes]; NULL for an adaptive softmax */
    size_t logit_capacity; /* rows of `logits` */
    /* [V, C], [cutoffs[0], C], [cutoff_count, C], see clusters.c; NULL without a divisor */
    void *words, *frequent_words, *cluster_words;
    void *dwords, *dfrequent_words, *dcluster_words; /* gradients; training */
    void *dstream, *dbranch, *dother;                /* [T, C] gradients; training */
    void *scratch;                                   /* of the kinds of all layers */
    void *votes, *dvotes; /* [MGK_ROUTED_TOKENS, H, H, D] for capsules; gradients; training */
    void *dkept[2];       /* gradients of the memory of two layers */
    size_t kept_reals, scratch_reals;         /* of the layer that needs most */
    void *dqkv, *dkeys, *dattended, *dhidden; /* [T, qkv_width], [T, M, H, D], [T, H·D], [T, F] */
    void *dpooled;                            /* [B, 4C] */
    int32_t *ids, *lengths, *targets;         /* [T], [B], [T] or [B] */
    int32_t *pooled_tokens;                   /* [B]: so many first tokens are pooled */
    double *unmasked; /* [B], host: the share of a sequence that is not mask_token; NULL: no such
                         token */
    int32_t *places;  /* [T] positions that skip padding; NULL: the model has none */
    int32_t *masked;  /* [T] 1: a token of padding that no query sees; NULL: the model has none */
    void *input;      /* of a batch of pictures or sounds; else NULL */
    void *convolved;  /* [B, 2 N + 2, C] of sounds, the first row of each is zeros; else NULL */
    mgk_draw *draw;   /* of dropout */
    mgk_cross cross;
    mgk_routing routing; /* zeros without experts */

    mgk_pattern *patterns; /* [L], of the loaded batch's tokens; empty: the kind has none */
    int pattern_tokens;    /* N of the patterns; 0: there are none yet */

    const bool *removed; /* [L, H], heads without output; NULL: none */
    double smoothing;    /* of targets, in gradients */
    double loss_scale;   /* weight of a target in the last loss */
    bool frozen;         /* a training pass leaves dropout and soft-E priors out */

    mgk_regulariser *regulariser; /* NULL: no term is added to the loss */

    double *prior_sums; /* of soft-E priors, see priors.c; NULL: there are none */

    int sequences, tokens; /* of the loaded batch */
    int whole;             /* sequences of the batch of which it is a share */
    size_t valid;          /* tokens of it that are not padding */
    bool packed;           /* the layers run on these alone, see mgk_pass_pack */
    bool padded;           /* it has ids of padding or of the mask, so that `places` are needed */
    bool has_masked;       /* it has tokens that `masked` marks */
    void *output;          /* final hidden states [T, C or 2 C] */
};

/* What sums of pooled tokens are divided by; 0: their number. */
static inline size_t mgk_pass_pooled_divisor(const mgk_pass *pass)
{
    const mgk_config *config = &pass->model->config;
    return config->pooling == MGK_POOLING_LENGTH ? (size_t)config->length : 0;
}

/*
 * Rows of the layers' arrays: T, or only the tokens that are not padding. Attention and what stands
 * before and after all layers read [B, N, ·]; all else reads one row after another, and these
 * functions move an array [T, width] from one layout to the other, if the pass is packed.
 */
static inline size_t mgk_pass_stream_rows(const mgk_pass *pass)
{
    return pass->packed ? pass->valid : mgk_pass_rows(pass);
}
/* Whether layers can leave padding out. Cross-attention and regularisers read their arrays as
 * [B, N, ·]. */
static inline bool mgk_pass_can_pack(const mgk_pass *pass)
{
    return pass->model->config.memory == 0 && !pass->regulariser &&
           pass->model->device->op->pack_tokens;
}
mgk_status mgk_pass_pack(const mgk_pass *pass, size_t width, void *x);
mgk_status mgk_pass_unpack(const mgk_pass *pass, size_t width, void *x);

/* Rows of logits and their width. */
static inline size_t mgk_pass_logit_rows(const mgk_pass *pass)
{
    if (pass->model->config.family == MGK_FAMILY_LM)
        return mgk_pass_rows(pass);
    return (size_t)pass->sequences / (pass->model->config.dual ? 2 : 1);
}

static inline size_t mgk_pass_classes(const mgk_pass *pass)
{
    const mgk_config *config = &pass->model->config;
    return (size_t)(config->family == MGK_FAMILY_LM ? config->vocabulary : config->classes);
}

/*
 * regularise.c, within the backward pass of a layer: adds the gradient of its outputs to
 * pass->dattended; once the gradients of queries, keys and values are known, `gradient`, adds those
 * of values and matrices. Without a regulariser these do nothing.
 */
mgk_status mgk_regularise_outputs(mgk_pass *pass, int index);
mgk_status mgk_regularise_layer(mgk_pass *pass, int index, const mgk_layer_gradient *gradient);
void mgk_regulariser_free(mgk_regulariser *regulariser); /* NULL is accepted */

/* Fills the sizes of a pass, of which `training` is set: those of its model's kinds, too. Fails as
 * mgk_pass_create does. */
mgk_status mgk_pass_set_sizes(mgk_pass *pass, mgk_model *model, int sequences, int tokens,
                              int memory_tokens);

/* priors.c: numbers of prior_sums; adds the responsibilities of a layer to them, if it has soft-E
 * priors and the pass is not frozen. */
size_t mgk_pass_prior_numbers(const mgk_pass *pass);
mgk_status mgk_pass_add_responsibilities(const mgk_pass *pass, int index);

/* Releases the patterns of all layers, which are built anew for the next batch. */
void mgk_pass_release_patterns(mgk_pass *pass);

/* Fills the tables of computed positions that the pass has. */
mgk_status mgk_pass_upload_positions(mgk_pass *pass);

/* relative.c: fills pass->relative_places; the sides of a layer whose queries and keys are known.
 */
mgk_status mgk_pass_upload_places(const mgk_pass *pass);
mgk_status mgk_pass_relative(const mgk_pass *pass, int index);

/* Whether the output is an adaptive softmax, whose loss computes its own logits. */
static inline bool mgk_pass_has_clusters(const mgk_pass *pass)
{
    return pass->model->config.cutoff_count > 0;
}

/* Whether long sequences have other angles than short ones. */
static inline bool mgk_pass_has_far(const mgk_config *config)
{
    return config->positions == MGK_POSITIONS_ROTARY && config->rotary_scaling == MGK_ROTARY_LONG;
}

/* clusters.c: fills pass->words and its likes, if there are any; the loss of tokens first … end − 1
 * of an adaptive softmax; its gradient, that of the final hidden states [T, C] to dhidden_states;
 * and last, once that of embeddings is added to pass->dwords, the gradients of tables. */
mgk_status mgk_pass_multiply_tables(const mgk_pass *pass);
mgk_status mgk_pass_clustered_loss(const mgk_pass *pass, size_t first, size_t end, mgk_loss *loss);
mgk_status mgk_pass_clustered_backward(const mgk_pass *pass, void *gradient, void *dhidden_states);
mgk_status mgk_pass_tables_backward(const mgk_pass *pass, void *gradient);

/* Normalises rows [T, C] of the pass, or [T, dim]; mean and deviation [T] of layer norms. */
mgk_status mgk_pass_norm(const mgk_pass *pass, mgk_norm map, const void *x, void *y, void *mean,
                         void *deviation);
mgk_status mgk_pass_norm_of(const mgk_pass *pass, mgk_norm map, int dim, const void *x, void *y,
                            void *mean, void *deviation);

/* embed.c: pass->embedded [T, C], the input of the first layer, from the batch. `packed`: the
 * layers are to run on packed tokens. */
mgk_status mgk_pass_embed(mgk_pass *pass, bool packed);

/* finish.c: pass->output, the final hidden states, from the output of the last layer [T, C]. */
mgk_status mgk_pass_finish(mgk_pass *pass, void *output);

/*
 * The output of attention, `attended` of a layer, unless the observer, who sees it first, made it,
 * or nobody needs it because the pass ends here. observer NULL: it is not observed.
 */
mgk_status mgk_pass_attend(mgk_pass *pass, mgk_observed *observed, bool ends,
                           const mgk_observer *observer);

/*
 * cross.c: the attention of a layer to the memory. x [T, C] is the sum after the layer's own
 * attention, normalised in post-norm models. *out [T, C] is what the feed-forward is added to; it
 * is not computed if the pass ends here.
 */
mgk_status mgk_pass_cross(mgk_pass *pass, int index, bool ends, const mgk_observer *observer,
                          const void *x, const void **out);

/* experts.c: pass->branch = the mixture of experts of a layer, of `input` [T, C]. */
mgk_status mgk_pass_mix_experts(mgk_pass *pass, int index, const void *input);

/* The attention view of a layer. */
mgk_attention_view mgk_pass_view(const mgk_pass *pass, int index);

/* What a layer's attention has besides; its memory is that of the pass. */
mgk_attention_layer mgk_pass_attention(const mgk_pass *pass, int index);

/* y [rows, out] = x [rows, in] Wᵀ + b. */
mgk_status mgk_pass_linear(const mgk_pass *pass, mgk_linear_map map, size_t rows, size_t in,
                           size_t out, const void *x, void *y);

/* Dropout at a site: 0 is the embedding, then two per layer. */
mgk_status mgk_pass_dropout_add(const mgk_pass *pass, uint64_t site, const void *x,
                                const void *residual, void *y);

/* The numbers of sites of a batch; runs without the last ones are older than these. */
static inline uint64_t mgk_pass_sites(const mgk_config *config)
{
    const uint64_t layers = (uint64_t)config->layers;
    const bool more = config->dropout_hidden > 0 || config->dropout_output > 0;
    if (config->dropout_attention > 0)
        return 4 * layers + 2;
    return more ? 3 * layers + 2 : 2 * layers + 1;
}

/* Dropout in place, or of a gradient, of a layer's hidden numbers [T, F], and of the final hidden
 * states [T, C or 2 C]. */
mgk_status mgk_pass_drop_hidden(const mgk_pass *pass, int index, void *x);
mgk_status mgk_pass_drop_output(const mgk_pass *pass, void *x);

/* Heads first … *end − 1 of a layer are kept, and head *end is not; false: no head is left. Begins
 * with *end = 0. */
bool mgk_pass_next_kept(const mgk_pass *pass, int index, int *first, int *end);

/* aggregate.c: tokens whose votes are held at a time. */
enum { MGK_ROUTED_TOKENS = 256 };

/* The capsules of a layer, from `attended`. */
mgk_status mgk_pass_aggregate(mgk_pass *pass, int index);

/* pass->dattended, which is the gradient of the capsules, becomes that of `attended`; that of the
 * maps is added to `gradient`, as of mgk_pass_backward. */
mgk_status mgk_pass_aggregate_backward(mgk_pass *pass, int index, void *gradient);

/* Address of a weight; NULL for an absent one. */
static inline void *mgk_pass_weight(const mgk_pass *pass, mgk_offset offset)
{
    return offset == MGK_ABSENT ? NULL : mgk_at(pass->model->device, pass->model->weights, offset);
}

#endif
