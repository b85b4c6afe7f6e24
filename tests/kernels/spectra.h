/* Batches of matrices whose singular values are known, for the solvers of devices. */
#ifndef MGK_TESTS_KERNELS_SPECTRA_H
#define MGK_TESTS_KERNELS_SPECTRA_H

#include "workspace.h"

/* A batch, and the spectra that are expected of it. */
typedef struct batch {
    size_t count, n, *orders;            /* orders [count] */
    double *matrices, *sigma, *expected; /* [count, n, n], [count, n], [count, n] */
} batch;

/* Zeros, all of order n; memory of the workspace. */
batch make_batch(workspace *space, size_t count, size_t n);

double *matrix_of(const batch *b, size_t i);

/* Its matrices on the device; memory of the workspace. */
double *upload_matrices(workspace *space, const batch *b);

/* A softmax matrix with its spectrum by a second driver. */
void put_softmax(const batch *b, size_t i, size_t order);

/*
 * Prescribed down to 1e-12, a softmax, 0, 1/n everywhere (one value, 1), a diagonal; a batch of
 * five.
 */
batch make_known_spectra(workspace *space, uint64_t seed, size_t n);

/* NaN, infinity, and finite entries whose values do not fit a double, in place of every second. */
void spoil_matrices(const batch *b);

/* Matrix i came out within what the table of operations allows; or not finite, if spoilt. */
void assert_spectrum(const batch *b, size_t i);
void assert_not_finite(const batch *b, size_t i);

/* Releases the workspace that the state is, after a test. */
int release_workspace(void **state);

/* Whether a device has what is tested. */
typedef bool able(const mgk_operations *op);

/*
 * Runs the tests [count], whose state is the workspace, on every device that is able; returns how
 * many failed, EXIT_SKIPPED if no device is.
 */
int run_where(workspace *space, mgk_precision precision, able *has, size_t count,
              const struct CMUnitTest *tests);

#endif
