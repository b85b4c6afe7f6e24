/*
 * One run of a model over a batch: the forward pass, the loss, the backward pass. Written once
 * over the device's operations; it owns the activations of a batch. Once a batch is loaded, nothing
 * comes from the host any more: the rest can be recorded and replayed for other batches of that
 * shape.
 */
#ifndef MGK_MODEL_PASS_H
#define MGK_MODEL_PASS_H

#include "model/core/model.h"

/* Sequences of token ids, or pictures, on the host; nothing is owned. */
typedef struct mgk_batch {
    int sequences;          /* B; two for each pair of a dual model */
    int tokens;             /* N, at most the model's positions; of a picture all of them */
    const int32_t *ids;     /* [B, N], padding −1 */
    const int32_t *lengths; /* [B], valid tokens, 0 … N */
    const double *patches; /* [B, N, 3 P²], row 0 of a picture zeros; NULL but for models that read
                              pictures */
} mgk_batch;

/* A layer of a forward pass, as an observer is shown it: its keys exist, its output does not. */
typedef struct mgk_observed {
    int layer; /* of the model, from 0 */
    mgk_attention_view view;
    mgk_attention_layer attention;

    /* The pass's own: the output that it still needs, and the samples that have theirs. */
    mgk_device *device;
    const mgk_attention_kind *kind;
    void *output; /* [B, N, H, D], on the device; NULL: it needs none */
    size_t output_stride;
    int attended; /* samples 0 … attended − 1 */
} mgk_observed;

/*
 * Puts the attention matrices, or the scores, of `count` different heads of a sample of the batch
 * into out [count, N, N]; `heads` and out are on the device. Where these are all heads and samples
 * are asked for in order, the layer's output is made along with them, and the pass does not compute
 * it again. Fails as the device does.
 */
mgk_status mgk_observed_matrices(mgk_observed *layer, mgk_matrix_content content, int sample,
                                 const int32_t *heads, int count, void *out);

/* Watches a forward pass, a layer at a time. */
typedef struct mgk_observer {
    mgk_status (*layer)(void *context, mgk_observed *layer);
    void *context;
    int layers; /* how many it is interested in: the pass ends when it has seen the last; 0: all,
                   and the final hidden states are computed */
} mgk_observer;

typedef struct mgk_pass mgk_pass;

/*
 * Room for batches up to `sequences` of `tokens` tokens. A pass that trains keeps every layer's
 * activations, one that does not keeps a single layer's. Released with mgk_pass_free.
 */
mgk_status mgk_pass_create(mgk_model *model, int sequences, int tokens, bool training,
                           mgk_pass **out);
void mgk_pass_free(mgk_pass *pass); /* NULL is accepted */

/*
 * Bytes on the device that such a pass would take; n times as many sequences never take more than
 * n times as much. Fails as mgk_pass_create does, but for a lack of memory.
 */
mgk_status mgk_pass_bytes(mgk_model *model, int sequences, int tokens, bool training,
                          size_t *bytes);

/*
 * The batch that the functions below work on, copied to the device. targets (NULL: there will be no
 * loss) are [B, N] next tokens of a language model (< 0: none), [B] classes of an encoder, [B / 2]
 * of a dual one. Dropout is drawn from (seed, stream) when the pass trains; streams differ between
 * batches. STATUS_SHAPE: the batch has more sequences or tokens than the pass; STATUS_FORMAT: an id
 * or a target that the model does not have.
 */
mgk_status mgk_pass_load(mgk_pass *pass, const mgk_batch *batch, const int32_t *targets,
                         uint64_t seed, uint64_t stream);

/*
 * Runs the batch up to the final hidden states, or until the observer (may be NULL) has seen its
 * last layer, after which there is no loss to ask for.
 */
mgk_status mgk_pass_forward(mgk_pass *pass, const mgk_observer *observer);

/*
 * Adds the softmax cross-entropy of the batch, run forward, to *loss in device memory. Its gradient
 * is scaled by `scale`.
 */
mgk_status mgk_pass_loss(mgk_pass *pass, double scale, mgk_loss *loss);

/* Adds the gradient of the loss last computed to `gradient` (laid out like the weights, on the
 * device). */
mgk_status mgk_pass_backward(mgk_pass *pass, void *gradient);

#endif
