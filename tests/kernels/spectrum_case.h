/* SPDX-License-Identifier: MIT */
/* Matrices that all tests of singular values use. */
#ifndef MGK_TESTS_KERNELS_SPECTRUM_CASE_H
#define MGK_TESTS_KERNELS_SPECTRUM_CASE_H

#include <stddef.h>

typedef enum spectrum_kind {
    SPECTRUM_NORMAL,
    SPECTRUM_SOFTMAX,
    SPECTRUM_CAUSAL,
    SPECTRUM_UPPER,
    SPECTRUM_GRADED,
    SPECTRUM_DEFICIENT,
    SPECTRUM_IDENTITY,
    SPECTRUM_ZERO,
    SPECTRUM_PERMUTATION,
    SPECTRUM_UNIFORM,
    SPECTRUM_CORNER,
    SPECTRUM_FAINT,
    SPECTRUM_CASES
} spectrum_kind;

/* Writes one of them to `a` [n, n]. */
void spectrum_case(spectrum_kind kind, size_t n, double *a);

#endif
