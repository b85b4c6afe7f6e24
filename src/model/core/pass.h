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

/*
 * The output of the layer that an observer is shown, which the pass is about to compute: an
 * observer that has made all of it, as forward of the attention kind does but for the statistic,
 * says so and saves it that.
 */
typedef struct mgk_attended {
    void *output;  /* [B, N, H, D], on the device; NULL: the pass does not need it */
    size_t stride; /* between tokens */
    bool made;
} mgk_attended;

/* Watches a forward pass, a layer at a time; called as soon as a layer's keys exist. */
typedef struct mgk_observer {
    mgk_status (*layer)(void *context, int layer, const mgk_attention_view *view,
                        const mgk_attention_layer *attention, mgk_attended *attended);
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
