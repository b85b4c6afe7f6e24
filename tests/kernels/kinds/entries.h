/* SPDX-License-Identifier: MIT */
/* Kinds whose formula says each entry of a matrix by itself: the matrix and the output that follow,
 * in double. */
#ifndef MGK_TESTS_KERNELS_ENTRIES_H
#define MGK_TESTS_KERNELS_ENTRIES_H

#include "kind_case.h"

/* An entry before normalisation, of query i and key j of head h, sample b; 0: not seen. */
typedef double entry_score(const kind_case *problem, int b, int h, int i, int j);

/* The numbers [D] that query i weighs of token j in head h of sample b. */
typedef const double *entry_value(const kind_case *problem, int b, int h, int i, int j);

/* The numbers of a token's head in an input [B, N, H, D]. */
const double *entry_token(const kind_case *problem, kind_input input, int b, int t, int h);

/* exp(q·k / √D) of vectors [D]. */
double entry_weight(int dim, const double *query, const double *key);

/* Compares the matrices of the kind with those of the formula, normalised unless the kind is not.
 */
void entries_match(workspace *space, const kind_case *problem, entry_score *score);

/* Compares the output with those matrices times `value`. */
void entry_outputs_match(workspace *space, const kind_case *problem, entry_score *score,
                         entry_value *value);

#endif
