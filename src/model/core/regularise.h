/* SPDX-License-Identifier: MIT */
/*
 * Terms that a training pass adds to the loss so that heads differ, or do as they are told. Of a
 * sequence of n valid tokens and a layer with H heads, attention matrices A^h, values v^h and
 * outputs o^h = A^h v^h:
 *     subspace  1/n Σ_t 1/H² Σ_(g ≠ h) cos(v_t^g, v_t^h)
 *     position  1/H² Σ_(g ≠ h) Σ_ij |A_ij^g A_ij^h|
 *     output    1/n Σ_t 1/H² Σ_(g ≠ h) cos(o_t^g, o_t^h)
 * are the disagreement of Li et al. 2018 (Eqn. 5 to 7) with its sign changed, for vectors of tokens
 * where the paper writes matrices. The paper's sums have the pairs g = h, too: constants in
 * subspace and output, but in position the squares of a head's own weights, which make it attend to
 * all keys alike, whatever the others do. And
 *     pattern   Σ_p 1/|H_p| Σ_{h in H_p} 1/n² Σ_ij (A_ij^h − P_ij)²
 * guides attention (Deshpande and Narasimhan 2020): the first ⌈H/2⌉ heads take the patterns P in
 * turn, the previous token, the next one (not if causal) and the first one. Rows that have no such
 * token are 0. Terms are summed over layers, and are means over sequences.
 */
#ifndef MGK_MODEL_REGULARISE_H
#define MGK_MODEL_REGULARISE_H

#include "model/core/pass.h"

typedef enum mgk_term {
    MGK_TERM_SUBSPACE,
    MGK_TERM_POSITION,
    MGK_TERM_OUTPUT,
    MGK_TERM_PATTERN,
    MGK_TERMS
} mgk_term;

extern const char *const mgk_term_names[MGK_TERMS];

/* Factors of the terms in the loss; 0: the term is left out. */
typedef struct mgk_regularisation {
    double weight[MGK_TERMS];
} mgk_regularisation;

/*
 * Reads "position,output=0.5"; a factor is 1 if none is given, NULL: no term. STATUS_USAGE: a word
 * is no term, is repeated, or its factor is not a positive number.
 */
mgk_status mgk_regularisation_parse(const char *text, mgk_regularisation *out);

bool mgk_regularises(const mgk_regularisation *what); /* whether a weight is not 0 */

/*
 * From now on mgk_pass_backward of a training pass adds the gradients of weight · scale · term. The
 * gradient through a matrix A is that of the kind's output for values that are the columns of the
 * identity, D at a time, so that every kind with a matrix and gradients has it; the matrices of the
 * batch and their gradients are kept on the host, 16 B H N² bytes. STATUS_UNSUPPORTED: a kind has
 * no matrix, or other values than those of its heads; or the device is not the CPU.
 */
mgk_status mgk_pass_regularise(mgk_pass *pass, const mgk_regularisation *what, double scale);

/* The bytes that mgk_pass_regularise takes for a pass of this size; 0 if no weight is set. Fails as
 * mgk_pass_bytes does. */
mgk_status mgk_regularise_bytes(mgk_model *model, const mgk_regularisation *what, int sequences,
                                int tokens, size_t *bytes);

/* The terms of the last forward pass, those with a weight; others are 0. */
mgk_status mgk_pass_terms(mgk_pass *pass, double terms[MGK_TERMS]);

/* Adds the terms of all backward passes since the last call, and forgets them. */
void mgk_pass_take_terms(mgk_pass *pass, double terms[MGK_TERMS]);

#endif
