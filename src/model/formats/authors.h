/* SPDX-License-Identifier: MIT */
/*
 * Shared by the formats of the paper's code: sizes that only shapes give, and parameters made of
 * several tensors.
 */
#ifndef MGK_MODEL_AUTHORS_H
#define MGK_MODEL_AUTHORS_H

#include "model/formats/tensor_names.h"

/*
 * A size of a tensor as an int of a configuration; sizes that do not fit become one that is
 * refused.
 */
int mgk_authors_size(size_t size);

/*
 * Finds the tensor with the printed name; STATUS_SHAPE: it is missing, or has another number of
 * axes.
 */
__attribute__((format(printf, 4, 5))) mgk_status mgk_authors_need(const mgk_checkpoint *checkpoint,
                                                                  int axes,
                                                                  const mgk_tensor_info **out,
                                                                  const char *format, ...);

/*
 * The number of layers, from the largest number after prefix + word in a name; 4097 if more than
 * any model has.
 */
int mgk_authors_layers(const mgk_checkpoint *checkpoint, const char *prefix, const char *word);

/*
 * Sets heads and head_dim from the width H·D of a tensor, which messages name. heads: H if a tensor
 * gives it, else 0; wanted: the user's D, or 0; usual: D if neither gives it (0: the user must).
 * STATUS_USAGE: a D that does not divide the rows, or differs from the tensor's.
 */
mgk_status mgk_authors_heads(const mgk_checkpoint *checkpoint, const mgk_tensor_info *tensor,
                             size_t width, size_t heads, int wanted, int usual, mgk_config *config);

/*
 * Options of the training code from a list, "no_pos,num_layers=3": values[i] is 1 if words[i] of
 * words [·, NULL] is in it, of a word that ends with "=" the number behind that, 1 to 4096, and
 * else 0. STATUS_USAGE names an entry that is not known. list NULL: none.
 */
mgk_status mgk_authors_flags(const mgk_checkpoint *checkpoint, const char *list,
                             const char *const *words, int *values);

/* For recipe->compute; values may be NULL. */

/*
 * The rows of recipe->name, then those of recipe->plus; each tensor has half the parameter's shape.
 */
mgk_status mgk_authors_stack(const mgk_checkpoint *checkpoint, const mgk_config *config,
                             const mgk_recipe *recipe, const mgk_parameter *parameter,
                             double *values);
/* Minus recipe->name, for shifts that are subtracted. */
mgk_status mgk_authors_negate(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values);
/*
 * Priors [H, 2, N]: π of key 1 from recipe->name, of key 2 from recipe->plus; "": 1 − π. Each
 * tensor has H·N elements.
 */
mgk_status mgk_authors_priors(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values);

#endif
