/* SPDX-License-Identifier: MIT */
/* Shared by the configuration of word tables and their reading. */
#ifndef MGK_MODEL_LM_TABLES_PRIVATE_H
#define MGK_MODEL_LM_TABLES_PRIVATE_H

#include "model/formats/lm_tables.h"

extern const char mgk_lm_embedding[], mgk_lm_embedding_projection[]; /* "word_emb.emb_layers", */
extern const char mgk_lm_output[], mgk_lm_output_projection[];       /* "crit.out_layers", … */

/* Numbers read at a time, at least one row. */
enum { MGK_LM_PIECE = 1 << 20 };

/* Table and projection `index` of the embedding or the output; NULL: none. */
const mgk_tensor_info *mgk_lm_table(const mgk_checkpoint *checkpoint, const char *prefix,
                                    const char *tables, int index);
const mgk_tensor_info *mgk_lm_projection(const mgk_checkpoint *checkpoint, const char *prefix,
                                         const char *projections, int index);

/* Tables of the embedding: one, or as many as the vocabulary has parts. */
int mgk_lm_table_count(const mgk_checkpoint *checkpoint, const char *prefix);

/* For recipe->compute: tables times their projections, and the biases of the parts. */
mgk_status mgk_lm_fold_embedding(const mgk_checkpoint *, const mgk_config *, const mgk_recipe *,
                                 const mgk_parameter *, double *values);
mgk_status mgk_lm_fold_output(const mgk_checkpoint *, const mgk_config *, const mgk_recipe *,
                              const mgk_parameter *, double *values);
mgk_status mgk_lm_join_biases(const mgk_checkpoint *, const mgk_config *, const mgk_recipe *,
                              const mgk_parameter *, double *values);
/* The clusters' weights or biases, from the tensor that the recipe names. */
mgk_status mgk_lm_fold_clusters(const mgk_checkpoint *, const mgk_config *, const mgk_recipe *,
                                const mgk_parameter *, double *values);

#endif
