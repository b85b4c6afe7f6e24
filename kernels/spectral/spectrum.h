/* SPDX-License-Identifier: MIT */
/*
 * Singular values of one square matrix in float64, on the calling thread of the host. Only
 * spectrum.c knows the host's solver.
 */
#ifndef MGK_KERNELS_SPECTRUM_H
#define MGK_KERNELS_SPECTRUM_H

#include <stddef.h>

#include "base/status.h"

/* The workspace of one thread, for matrices up to n_max; nothing is allocated per matrix. */
typedef struct mgk_spectrum mgk_spectrum;

/*
 * Creates a workspace. STATUS_SHAPE: n_max is above 32768; STATUS_MEMORY; STATUS_USAGE,
 * STATUS_DEVICE: see kernels/cpu/variant.h.
 */
mgk_status mgk_spectrum_open(size_t n_max, mgk_spectrum **out);

/* Creates a smaller workspace, for bands only; errors as mgk_spectrum_open. */
mgk_status mgk_spectrum_open_for_bands(size_t n_max, mgk_spectrum **out);

/* Releases the workspace; NULL is accepted. */
void mgk_spectrum_close(mgk_spectrum *workspace);

/* The largest order of matrices that mgk_spectrum_compute leaves as they are. */
enum { MGK_SPECTRUM_LARGEST_KEPT = 4096 };

/*
 * All n singular values of `matrix` [n, n] (packed, finite, overwritten if n is above
 * MGK_SPECTRUM_LARGEST_KEPT) into `sigma` [n], descending. n <= n_max; n = 0 does nothing. Each
 * lies within about n * 2^-53 * sigma_1 of the exact one. STATUS_NUMERIC: a result that is not
 * finite.
 */
mgk_status mgk_spectrum_compute(mgk_spectrum *workspace, size_t n, double *matrix, double *sigma);

/*
 * The same for an upper triangular band [mgk_band_entries(n)] (kernels/backend.h), to which a
 * device has reduced a matrix; the workspace is one for bands. Entries beyond column n are ignored.
 */
mgk_status mgk_spectrum_compute_band(mgk_spectrum *workspace, size_t n, const double *band,
                                     double *sigma);

#endif
