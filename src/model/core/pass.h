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
    const double *patches;  /* [B, N, 3 P²] of pictures, row 0 is zeros; else NULL */
} mgk_batch;

/* A layer of a forward pass for an observer: its keys are computed, its output is not. */
typedef struct mgk_observed {
    int layer; /* of the model, from 0 */
    mgk_attention_view view;
    mgk_attention_layer attention;

    /* For the pass: the output that it needs, and the samples that have it already. */
    mgk_device *device;
    const mgk_attention_kind *kind;
    void *output; /* [B, N, H, D], on the device; NULL: no output needed */
    size_t output_stride;
    int attended; /* samples 0 … attended − 1 have their output */
} mgk_observed;

/*
 * Computes the attention matrices, or the scores, of `count` different heads of a sample of the
 * batch to out [count, N, N]; `heads` and out are on the device. If these are all heads, and
 * samples are requested in order, this also computes the layer's output, and the pass does not
 * compute it again. Fails as the device does.
 */
mgk_status mgk_observed_matrices(mgk_observed *layer, mgk_matrix_content content, int sample,
                                 const int32_t *heads, int count, void *out);

/* Observes a forward pass, layer by layer. */
typedef struct mgk_observer {
    mgk_status (*layer)(void *context, mgk_observed *layer);
    void *context;
    int layers; /* the pass ends after so many; 0: all, with the final hidden states */
    /* Receives the output [T, C] of each layer, from 0, on the device; NULL: not called, and the
     * last of `layers` computes no output. */
    mgk_status (*output)(void *context, int layer, const void *output);
} mgk_observer;

typedef struct mgk_pass mgk_pass;

/*
 * Allocates a pass for batches of up to `sequences` sequences of `tokens` tokens. With `training`
 * it keeps every layer's activations, otherwise those of a single layer. Release with
 * mgk_pass_free.
 */
mgk_status mgk_pass_create(mgk_model *model, int sequences, int tokens, bool training,
                           mgk_pass **out);
void mgk_pass_free(mgk_pass *pass); /* NULL is accepted */

/*
 * The bytes on the device of such a pass; n times as many sequences take at most n times as much.
 * Fails as mgk_pass_create, except for a lack of memory.
 */
mgk_status mgk_pass_bytes(mgk_model *model, int sequences, int tokens, bool training,
                          size_t *bytes);

/*
 * Copies the batch for the functions below to the device. targets (NULL: no loss follows) are
 * [B, N] next tokens of a language model (< 0: none), [B] classes of an encoder, [B / 2] of a dual
 * one. A training pass draws dropout from (seed, stream); each batch needs its own stream.
 * STATUS_SHAPE: the batch has more sequences or tokens than the pass; STATUS_FORMAT: an id or a
 * target that the model does not have.
 */
mgk_status mgk_pass_load(mgk_pass *pass, const mgk_batch *batch, const int32_t *targets,
                         uint64_t seed, uint64_t stream);

/*
 * Computes the final hidden states of the batch, or stops after the last layer of the observer
 * (may be NULL); then no loss can be computed.
 */
mgk_status mgk_pass_forward(mgk_pass *pass, const mgk_observer *observer);

/*
 * Adds the softmax cross-entropy of the batch, after mgk_pass_forward, to *loss in device memory.
 * Scales its gradient by `scale`.
 */
mgk_status mgk_pass_loss(mgk_pass *pass, double scale, mgk_loss *loss);

/*
 * Adds the gradient of the last loss to `gradient`, which has the layout of the weights, on the
 * device.
 */
mgk_status mgk_pass_backward(mgk_pass *pass, void *gradient);

#endif
