/* SPDX-License-Identifier: MIT */
/*
 * How far the attention of a model that runs as another kind (mgk_model_run_as) is from its own.
 * Both see the same queries, keys and values of a layer, which come from the layers below as they
 * run. With A of the other kind and A' of the model's own, and O and O' what a head gives (A V and
 * A' V, unless a kind weighs other values than those of the head), over the valid tokens of a
 * sample and head, the errors are ‖A − A'‖_F / ‖A'‖_F and ‖O − O'‖_F / ‖O'‖_F.
 */
#ifndef MGK_RUN_APPROXIMATION_H
#define MGK_RUN_APPROXIMATION_H

#include "cluster/cluster.h"
#include "model/core/pass.h"

typedef struct mgk_approximation {
    size_t samples, layers, heads;
    double *matrix, *output; /* [S, L, H]; −1: not measured */
    bool *left_out;          /* [L, H], see mgk_approximation_choose */
    bool told;
} mgk_approximation;

/* Release with mgk_approximation_free. */
mgk_status mgk_approximation_create(size_t samples, size_t layers, size_t heads,
                                    mgk_approximation **out);
void mgk_approximation_free(mgk_approximation *errors); /* NULL is accepted */

/* Lets only these layers and heads be measured, without which all are; heads NULL: all of them.
 * Call before the first measurement; errors NULL is accepted. */
void mgk_approximation_choose(mgk_approximation *errors, const int32_t *layers, size_t layer_count,
                              const int32_t *heads, size_t head_count);

/*
 * Measures a layer, as a pass's observer: `count` samples of the batch, the first of which is
 * sample `first` of S. Several threads may measure different samples.
 */
mgk_status mgk_approximation_measure(mgk_approximation *errors, const mgk_attention_kind *own,
                                     const mgk_observed *layer, size_t first, size_t count);

/* Collective: every process gets what the others have measured. */
mgk_status mgk_approximation_merge(mgk_approximation *errors, const mgk_cluster *cluster);

/* The bytes that this takes for a while, of a batch of so many sequences of the model. */
mgk_status mgk_approximation_bytes(const mgk_model *model, int sequences, int tokens,
                                   size_t *bytes);

/* ‖x − y‖ / ‖y‖ of `rows` rows of `columns` numbers, `stride` apart; 0 if x is y, also of zeros. */
double mgk_relative_error(const double *x, const double *y, size_t rows, size_t columns,
                          size_t stride);

/* Writes "run as performer: ..." with means and largest errors; false: nothing was measured. */
bool mgk_approximation_text(const mgk_approximation *errors, const char *kinds, char *text,
                            size_t size);

#endif
