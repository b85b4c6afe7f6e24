/* SPDX-License-Identifier: MIT */
/*
 * A run of a model over a batch: the forward pass, the loss, the backward pass. Written once over
 * the device's operations; owns the activations of a batch. After a batch is loaded the host is not
 * involved: the rest can be recorded and replayed for other batches of that shape.
 */
#ifndef MGK_MODEL_PASS_H
#define MGK_MODEL_PASS_H

#include "model/core/model.h"

/* Sequences of token ids, or pictures, on the host; owns nothing. */
typedef struct mgk_batch {
    int sequences;          /* B; two for each pair of a dual model */
    int tokens;             /* N, at most the model's positions; for pictures equal to them */
    const int32_t *ids;     /* [B, N], padding −1 */
    const int32_t *lengths; /* [B], valid tokens, 0 … N */
    /* [B, N, 3 P²], the patches of pictures, the first X rows are zeros; or [B, 2 N + 2, M], the
     * frames of sounds, the first row and the last are zeros; else NULL. */
    const double *input;
} mgk_batch;

/* Numbers of a sequence in batches of pictures or sounds, else 0. */
static inline size_t mgk_pass_input_size(const mgk_config *config)
{
    return config->sound.bands > 0 ? mgk_sound_rows(config->length) * (size_t)config->sound.bands
                                   : (size_t)config->length * mgk_patch_size(&config->picture);
}

/* A layer of a forward pass for an observer: its keys are computed, its output need not be. */
typedef struct mgk_observed {
    const mgk_config *config; /* of the model */
    int layer;                /* from 0 */
    mgk_attention_view view;
    mgk_attention_layer attention;

    /* For the pass: the output that it needs, and the samples that have it already. */
    mgk_device *device;
    void *output; /* [B, N, H, D], on the device; NULL: no output needed */
    size_t output_stride;
    int attended; /* samples 0 … attended − 1 have their output */
} mgk_observed;

/*
 * Computes the attention matrices, or the scores, of `count` different heads of samples first …
 * first + samples − 1 of the batch to out [samples, count, N, keys], mgk_view_keys(&layer->view) of
 * them; `heads` and out are on the device. If these are all heads, samples are requested in order,
 * and the device has mixture_matrix_output, this also computes the output of the samples, and the
 * pass does not compute it again. Fails as the device does.
 */
mgk_status mgk_observed_matrices(mgk_observed *layer, mgk_matrix_content content, int first,
                                 int samples, const int32_t *heads, int count, void *out);

/* Observes a forward pass, layer by layer. */
typedef struct mgk_observer {
    mgk_status (*layer)(void *context, mgk_observed *layer); /* NULL: not called */
    void *context;
    bool cross; /* `layer` receives each layer's attention to the memory in place of its own */
    int layers; /* the pass ends after so many; 0: all, with the final hidden states */
    /* Receives the output [T, C] of each layer, from 0, on the device, of reversible layers that of
     * the feed-forward's stream; NULL: not called, and the last of `layers` computes no output. */
    mgk_status (*output)(void *context, int layer, const void *output);
} mgk_observer;

typedef struct mgk_pass mgk_pass;

/*
 * Allocates a pass for batches of up to `sequences` sequences of `tokens` tokens, with a memory of
 * up to `memory_tokens` tokens each, 0 for models without. With `training` it keeps every layer's
 * activations, otherwise those of a single layer. Release with mgk_pass_free. STATUS_UNSUPPORTED:
 * the device lacks a part of the model, or the model cannot be trained; STATUS_SHAPE: no batch of
 * the model has such sizes.
 */
mgk_status mgk_pass_create(mgk_model *model, int sequences, int tokens, int memory_tokens,
                           bool training, mgk_pass **out);
void mgk_pass_free(mgk_pass *pass); /* NULL is accepted */

/*
 * The bytes on the device of such a pass; n times as many sequences take at most n times as much.
 * Fails as mgk_pass_create, except for a lack of memory.
 */
mgk_status mgk_pass_bytes(mgk_model *model, int sequences, int tokens, int memory_tokens,
                          bool training, size_t *bytes);

/* The numbers of all heads, 0, 1, ..., on the device, for the matrices of a layer (`matrix` of
 * mgk_attention_methods). The caller releases them. */
mgk_status mgk_number_heads(mgk_device *device, size_t heads, int32_t **out);

/*
 * Copies the batch for the functions below to the device. targets (NULL: no loss follows) are
 * [B, N] next tokens of a language model (< 0: none), [B] classes of an encoder, [B / 2] of a dual
 * one. A training pass draws dropout from (seed, stream); each batch needs its own stream.
 * STATUS_SHAPE: the batch has more sequences or tokens than the pass; STATUS_FORMAT: an id or a
 * target that the model does not have.
 */
mgk_status mgk_pass_load(mgk_pass *pass, const mgk_batch *batch, const int32_t *targets,
                         uint64_t seed, uint64_t stream);

/* Where a share of a batch stands in the whole of it. */
typedef struct mgk_batch_place {
    int whole;           /* sequences of the whole batch */
    int before;          /* those before the share */
    size_t valid_before; /* and their valid tokens */
} mgk_batch_place;

/* The same of a share of a batch: its dropout is what it has in the whole, and means over sequences
 * are divided by the number of all, so that gradients of shares add up to that of the whole. */
mgk_status mgk_pass_load_share(mgk_pass *pass, const mgk_batch *share, const mgk_batch_place *place,
                               const int32_t *targets, uint64_t seed, uint64_t stream);

/*
 * Sets the memory of the loaded batch, for models that have one: hidden [B, tokens, memory], the
 * final hidden states of the encoder, on the device, and their valid tokens, lengths [B], on the
 * host. The caller keeps `hidden` until the last forward pass over this batch; the next
 * mgk_pass_load forgets it. STATUS_USAGE: the model has no memory; STATUS_SHAPE: more tokens than
 * the pass has room for, or a length beyond them.
 */
mgk_status mgk_pass_set_memory(mgk_pass *pass, int tokens, const int32_t *lengths,
                               const void *hidden);

/*
 * From now on the pass takes the outputs of these heads of the layers' own attention as 0: removed
 * [L, H], which the caller keeps until the next call; NULL: of none. Not with a backward pass.
 */
void mgk_pass_remove_heads(mgk_pass *pass, const bool *removed);

/* STATUS_UNSUPPORTED: a training pass would leave out the model's dropout of attention, on this
 * device or in one of its kinds. */
mgk_status mgk_pass_check_dropout(const mgk_model *model);

/* From now on gradients of a training pass are those of smoothed targets (`smoothing` in [0, 1),
 * see smooth_targets in backend.h); losses are of the targets as they are. STATUS_UNSUPPORTED: the
 * device lacks this, or the model has an adaptive softmax. */
mgk_status mgk_pass_smooth(mgk_pass *pass, double smoothing);

/* From now on a training pass applies no dropout and updates no priors: its gradients are those of
 * the model as it runs. */
void mgk_pass_freeze(mgk_pass *pass);

/*
 * Computes the final hidden states of the batch, or stops after the last layer of the observer
 * (may be NULL); then no loss can be computed. STATUS_USAGE: the model has a memory, and the batch
 * none, or the reverse of the observer.
 */
mgk_status mgk_pass_forward(mgk_pass *pass, const mgk_observer *observer);

/*
 * Computes the final hidden states again, after mgk_pass_forward on the same batch, from layer
 * `first` on. Its input [T, C] is what the observer of mgk_pass_forward, or of this function,
 * received as the output of the layer before; it is not changed. Layer 0 needs none. The layers
 * before lack the same heads as then. The observer (may be NULL) may be called for them too.
 */
mgk_status mgk_pass_forward_from(mgk_pass *pass, int first, void *input,
                                 const mgk_observer *observer);

/* T = B N of the loaded batch. */
size_t mgk_pass_rows(const mgk_pass *pass);

/* The final hidden states [T, mgk_config_hidden_width], on the device, until the next forward pass;
 * rows of padding mean nothing. */
const void *mgk_pass_hidden(const mgk_pass *pass);

/* Whether mgk_pass_compute_logits is possible: language models but those of an adaptive softmax,
 * and encoders that classify. */
bool mgk_model_has_logits(const mgk_model *model);

/* The logits of the loaded batch: of each token of a language model, of each sequence of an
 * encoder, of each pair of a dual one. */
typedef struct mgk_logits {
    size_t rows, classes;
    size_t most;        /* rows that are computed at a time; all of an encoder */
    size_t room;        /* the same of a full batch */
    const void *values; /* [most, classes], on the device */
} mgk_logits;

mgk_logits mgk_pass_logits(const mgk_pass *pass);

/* Computes the logits of rows first … first + count − 1 of final hidden states of the batch, laid
 * out as those of mgk_pass_hidden. */
mgk_status mgk_pass_compute_logits(mgk_pass *pass, const void *hidden, size_t first, size_t count);

/*
 * Adds the softmax cross-entropy of the batch, after mgk_pass_forward, to *loss in device memory.
 * Scales its gradient by `scale`.
 */
mgk_status mgk_pass_loss(mgk_pass *pass, double scale, mgk_loss *loss);

/* Adds the loss of each sequence of a language model, or of each row of logits, to losses [B] or
 * [rows] in device memory. A training pass keeps no gradient of them. */
mgk_status mgk_pass_sample_losses(mgk_pass *pass, mgk_loss *losses);

/* Observes a backward pass. */
typedef struct mgk_gradient_observer {
    /* Receives the outputs of a layer's heads [T, H, D], and the gradient of the loss with respect
     * to them, on the device. */
    mgk_status (*heads)(void *context, int layer, const void *output, const void *gradient);
    void *context;
} mgk_gradient_observer;

/* Whether models of this architecture have a backward pass: those of mgk-train. */
bool mgk_model_has_gradients(const mgk_model *model);

/*
 * Adds the gradient of the last loss to `gradient`, which has the layout of the weights, on the
 * device. The observer may be NULL.
 */
mgk_status mgk_pass_backward(mgk_pass *pass, void *gradient, const mgk_gradient_observer *observer);

/*
 * Of soft-E priors: the sums of responsibilities [*count], in device memory, to which each backward
 * pass adds, unless the pass is frozen. Those of a batch are the sums of those of its shares.
 * *count is 0 without such priors.
 */
double *mgk_pass_prior_sums(const mgk_pass *pass, size_t *count);

/* Sets soft-E priors to the mean responsibilities of all backward passes since the last call. */
mgk_status mgk_pass_update_priors(const mgk_pass *pass);

#endif
