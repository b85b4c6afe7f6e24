/* SPDX-License-Identifier: MIT */
/* Initial weights other than the toolkit's own: those of published code, or of a trained model. */
#ifndef MGK_TRAIN_INITIAL_H
#define MGK_TRAIN_INITIAL_H

#include "model/core/model.h"
#include "model/formats/format.h"

typedef enum mgk_initial_values {
    MGK_INITIAL_OURS, /* "ours": as the model was created */
    MGK_INITIAL_LRA,  /* "lra": of the paper's encoders */
    MGK_INITIAL_LM    /* "lm": of the paper's language models */
} mgk_initial_values;

/* Finds "ours", "lra" or "lm"; STATUS_USAGE for other names. */
mgk_status mgk_initial_from_name(const char *name, mgk_initial_values *values);

/*
 * Draws the weights of a new model anew from `seed`. Both: shifts of the first key 0, of others
 * N(0, 0.5). "lra": embeddings N(0, 0.02), maps and their biases uniform in ±1/√inputs. "lm":
 * embeddings and maps N(0, 0.02), maps of embeddings N(0, 0.01), biases 0, gains of norms
 * N(1, 0.02). Other parameters, such as
 * priors and those of a kind alone, stay.
 */
mgk_status mgk_initial_draw(mgk_model *model, mgk_initial_values values, uint64_t seed);

/*
 * Takes weights from the model at `path`, in any format: each parameter of the same name and shape,
 * and of tables of positions, and of key projections of equal heads, as many first rows as both
 * have. *remark says what was taken; the caller releases it. STATUS_SHAPE: nothing fits; and fails
 * as mgk_model_load.
 */
mgk_status mgk_initial_take(mgk_model *model, const char *path, char **remark);

#endif
