/* SPDX-License-Identifier: MIT */
/*
 * Ablation: the loss, the logits and the last hidden states of a model without some of its heads,
 * on a batch of a model run. A head that is removed adds nothing to the output projection of its
 * layer (Michel et al. 2019, ξ = 0), or votes for none of its capsules; the other layers read what
 * is left.
 */
#ifndef MGK_RUN_ABLATION_H
#define MGK_RUN_ABLATION_H

#include "analysis/measures/importance.h"
#include "run/model_run.h"

typedef struct mgk_ablation mgk_ablation;

/* What ablation can tell of this run: a bit set of MGK_IMPORTANCE_BIT without the gradient. There
 * is a loss if the input has targets, and a divergence if the model has logits. */
unsigned mgk_ablation_kinds(const mgk_model_run *run);

/* The one that says most: the loss, else the divergence, else the hidden states. */
mgk_importance mgk_ablation_best(const mgk_model_run *run);

/* Bytes for each sequence of a batch in the memory of the host, or of the device; on the CPU, where
 * both are one, all bytes. */
size_t mgk_ablation_bytes(const mgk_model_run *run, unsigned kinds, bool on_host);

/*
 * Prepares ablations that tell `kinds`, of those that mgk_ablation_kinds gives. The run must be
 * prepared, and load targets if one of the kinds is the loss. Release with mgk_ablation_close.
 */
mgk_status mgk_ablation_open(mgk_model_run *run, unsigned kinds, mgk_ablation **out);
void mgk_ablation_close(mgk_ablation *ablation); /* NULL is accepted */

/* Runs the whole model on the last batch of the run. */
mgk_status mgk_ablation_begin(mgk_ablation *ablation);

/*
 * Runs the model on this batch without the heads removed [L, H], from layer `first` on. Of the
 * layers before, `removed` marks the heads that the last run with `keep` lacked, none after
 * mgk_ablation_begin. With `keep`, the next runs go on from the layers of this one.
 */
mgk_status mgk_ablation_run(mgk_ablation *ablation, const bool *removed, int first, bool keep);

/*
 * What the last mgk_ablation_run, or mgk_ablation_begin, did to each sample of the batch, values
 * [count]; NaN: the sample has no target. The loss and the divergence of a pair are those of its
 * first sample, and NaN for the second, so that a pair counts once.
 *
 * - ABLATION: the loss of the sample, the mean over its targets, in nats.
 * - DIVERGENCE: KL(p | q) in nats, p and q the distributions of the whole model and of this one,
 *   the mean over the sample's tokens or its class.
 * - HIDDEN: |Y − X| / |X|, Frobenius norms over the sample's tokens, X and Y the last hidden states
 *   of the whole model and of this one; NaN: X is 0.
 */
mgk_status mgk_ablation_values(mgk_ablation *ablation, mgk_importance which, double *values);

#endif
