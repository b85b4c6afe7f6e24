/* SPDX-License-Identifier: MIT */
/* Requirements on every operation that computes singular values. */
#ifndef MGK_TESTS_KERNELS_SOLVER_CASE_H
#define MGK_TESTS_KERNELS_SOLVER_CASE_H

#include "spectra.h"

/* The operation, defined by the test, on uploaded matrices. */
mgk_status solve(workspace *space, const batch *b);

/* Tests; the state is a workspace. */
void known_spectra_come_back(void **state);
void bad_matrices_harm_no_others(void **state);
void nothing_to_do(void **state);
void smaller_matrices_stand_beside(void **state);
void any_scale(void **state);

#endif
