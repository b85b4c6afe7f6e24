/*
 * What the formats of the paper's own code share: sizes that only shapes tell, and parameters that
 * several tensors make up.
 */
#ifndef MGK_MODEL_AUTHORS_H
#define MGK_MODEL_AUTHORS_H

#include "model/formats/tensor_names.h"

/* A size of a tensor as one of a configuration; what does not fit is one that none allows. */
int mgk_authors_size(size_t size);

/* The tensor of that printed name; STATUS_SHAPE: it is missing, or has another number of axes. */
__attribute__((format(printf, 4, 5))) mgk_status mgk_authors_need(const mgk_checkpoint *checkpoint,
                                                                  int axes,
                                                                  const mgk_tensor_info **out,
                                                                  const char *format, ...);

/* Layers by the largest number behind prefix + word in a name; more than any model has: 4097. */
int mgk_authors_layers(const mgk_checkpoint *checkpoint, const char *prefix, const char *word);

/*
 * heads and head_dim of a query projection [H·D, C]. heads: H where a tensor tells it, else 0;
 * wanted: the D that the user asks for, or 0; usual: D where nobody says (0: somebody must).
 * STATUS_USAGE: a D that does not divide the rows, or is another than the tensor's.
 */
mgk_status mgk_authors_heads(const mgk_checkpoint *checkpoint, const mgk_tensor_info *query,
                             size_t heads, int wanted, int usual, mgk_config *config);

/* For recipe->compute, where values may be NULL. */

/* The rows of recipe->name, then those of recipe->plus; each has half the parameter's shape. */
mgk_status mgk_authors_stack(const mgk_checkpoint *checkpoint, const mgk_config *config,
                             const mgk_recipe *recipe, const mgk_parameter *parameter,
                             double *values);
/* Minus recipe->name: shifts that are subtracted. */
mgk_status mgk_authors_negate(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values);
/*
 * Priors [H, 2, N] of recipe->name, π of key 1, and of recipe->plus, that of key 2; "": 1 − π. Each
 * has H·N elements.
 */
mgk_status mgk_authors_priors(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values);

#endif
