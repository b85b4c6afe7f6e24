/* SPDX-License-Identifier: MIT */
/* Batches of matrices with known singular values, for the solvers of devices. */
#ifndef MGK_TESTS_KERNELS_SPECTRA_H
#define MGK_TESTS_KERNELS_SPECTRA_H

#include "workspace.h"

/* A batch and its expected spectra. */
typedef struct batch {
    size_t count, n, *orders;            /* orders [count] */
    double *matrices, *sigma, *expected; /* [count, n, n], [count, n], [count, n] */
} batch;

/* Makes zero matrices of order n; the workspace owns the memory. */
batch make_batch(workspace *space, size_t count, size_t n);

double *matrix_of(const batch *b, size_t i);

/* Uploads the matrices; the workspace owns the memory. */
double *upload_matrices(workspace *space, const batch *b);

/* Sets a softmax matrix with its spectrum from a second LAPACK driver. */
void put_softmax(const batch *b, size_t i, size_t order);

/* Makes five matrices: prescribed values down to 1e-12, a softmax, 0, 1/n everywhere (one value,
 * 1), a diagonal. */
batch make_known_spectra(workspace *space, uint64_t seed, size_t n);

/* Replaces every second matrix: NaN, infinity, and finite entries whose singular values overflow a
 * double. */
void spoil_matrices(const batch *b);

/* Matrix i is within the tolerance of the table of operations; or not finite, if spoiled. */
void assert_spectrum(const batch *b, size_t i);
void assert_not_finite(const batch *b, size_t i);

/* Releases the workspace in *state after a test. */
int release_workspace(void **state);

/* Whether a device supports the tested operation. */
typedef bool able(const mgk_operations *op);

/* Runs the tests [count], whose *state is the workspace, on every device that supports them;
 * returns the number of failures, EXIT_SKIPPED if no device does. */
int run_where(workspace *space, mgk_precision precision, able *has, size_t count,
              const struct CMUnitTest *tests);

#endif
