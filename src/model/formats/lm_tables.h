/* SPDX-License-Identifier: MIT */
/*
 * Word tables of the paper's language-model code, which derives from Transformer-XL. Embedding and
 * output layer have one table each, or one for each part of the vocabulary (the frequent words,
 * then the clusters of an adaptive softmax), as wide as the model or narrower with a projection.
 * Here each becomes one table as wide as the model.
 */
#ifndef MGK_MODEL_LM_TABLES_H
#define MGK_MODEL_LM_TABLES_H

#include "model/formats/authors.h"

/* The name of the first words' table; the part before it is the prefix of all names. */
extern const char mgk_lm_tables_anchor[];

/*
 * Sets vocabulary, cutoffs and tied; dim must be set. STATUS_SHAPE: a tensor is missing or has
 * another shape; STATUS_UNSUPPORTED: more clusters than a configuration has, or cutoffs that are
 * not stored.
 */
mgk_status mgk_lm_tables_configure(const mgk_checkpoint *checkpoint, const char *prefix,
                                   mgk_config *config);

/* The recipe of a parameter that is made from the tables; false for other parameters. */
bool mgk_lm_tables_recipe(const mgk_checkpoint *checkpoint, const char *prefix,
                          const mgk_parameter *parameter, mgk_recipe *out);

#endif
