/* SPDX-License-Identifier: MIT */
/*
 * How far the attention of a model that runs as another kind (mgk_model_run_as) is from its own.
 * Both see the same queries, keys and values of a layer, which come from the layers below as they
 * run. With A and O = A V of the other kind, A' and O' of the model's own, over the valid tokens of
 * a sample and head, the errors are ‖A − A'‖_F / ‖A'‖_F and ‖O − O'‖_F / ‖O'‖_F.
 */
#ifndef MGK_RUN_APPROXIMATION_H
#define MGK_RUN_APPROXIMATION_H

#include "model/core/pass.h"

typedef struct mgk_approximation {
    size_t samples, layers, heads;
    double *matrix, *output; /* [S, L, H]; −1: not measured */
    bool told;
} mgk_approximation;

/* Release with mgk_approximation_free. */
mgk_status mgk_approximation_create(size_t samples, size_t layers, size_t heads,
                                    mgk_approximation **out);
void mgk_approximation_free(mgk_approximation *errors); /* NULL is accepted */

/*
 * Measures a layer, as a pass's observer: `count` samples of the batch, the first of which is
 * sample `first` of S. Several threads may measure different samples.
 */
mgk_status mgk_approximation_measure(mgk_approximation *errors, const mgk_attention_kind *own,
                                     const mgk_observed *layer, size_t first, size_t count);

/* Writes "run as performer: ..." with means and largest errors; false: nothing was measured. */
bool mgk_approximation_text(const mgk_approximation *errors, const char *kinds, char *text,
                            size_t size);

#endif
