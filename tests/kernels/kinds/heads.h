/* SPDX-License-Identifier: MIT */
/* Kinds whose formula gives the matrix of a head as a whole, from its queries and keys, in double.
 */
#ifndef MGK_TESTS_KERNELS_HEADS_H
#define MGK_TESTS_KERNELS_HEADS_H

#include "kind_case.h"

enum { HEADS = 2, DIM = 4, MOST = 48 }; /* of a case; MOST: at least its tokens */

/* Vectors of one head, and matrices; rows beyond the valid ones are not used. */
typedef double vectors[MOST][DIM];
typedef double matrix[MOST][MOST];

/* One head of one sample. */
typedef struct head {
    const kind_case *problem;
    int index, n;
    bool causal;
    vectors query, key;
} head;

typedef void head_formula(const head *at, matrix out);

/* The kind's first parameter. */
const double *head_parameter(const head *at);

/* Compares the matrices of the case, which has HEADS heads of DIM numbers, with those of the
 * formula. */
void heads_match(workspace *space, const kind_case *problem, head_formula *fill);

#endif
