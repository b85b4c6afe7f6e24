/* SPDX-License-Identifier: MIT */
/* Matrices with a known spectrum, and a second way to compute it. */
#ifndef MGK_TESTS_ANALYSIS_MATRICES_H
#define MGK_TESTS_ANALYSIS_MATRICES_H

#include <stddef.h>
#include <stdint.h>

/* U diag(sigma) V' [n, n] with random orthogonal U and V. */
void test_matrix_with_spectrum(uint64_t seed, size_t n, const double *sigma, double *a);

/* Row-wise softmax of normal logits of the given scale [n, n]; causal: j <= i only. */
void test_matrix_softmax(uint64_t seed, size_t n, double scale, int causal, double *a);

/* The same of queries and keys of two sequences [queries, keys]. */
void test_rectangle_softmax(uint64_t seed, size_t queries, size_t keys, double scale, double *a);

/* Singular values [n], descending, by dgesdd, from a copy of `a` [n, n]. */
void test_reference_spectrum(size_t n, const double *a, double *sigma);

/* The same of `a` [rows, columns]: min(rows, columns) of them. */
void test_rectangle_spectrum(size_t rows, size_t columns, const double *a, double *sigma);

#endif
