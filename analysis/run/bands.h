/* SPDX-License-Identifier: MIT */
/* The second of two steps to singular values: threads of the host solve the bands of a device. */
#ifndef MGK_ANALYSIS_BANDS_H
#define MGK_ANALYSIS_BANDS_H

#include <stddef.h>

#include "base/status.h"

/* The workspaces of `threads` threads; nothing is allocated per band. */
typedef struct mgk_bands mgk_bands;

/* For bands of up to n_max columns. Errors as mgk_spectrum_open_for_bands; release with
 * mgk_bands_close, which accepts NULL. */
mgk_status mgk_bands_open(int threads, size_t n_max, mgk_bands **out);
void mgk_bands_close(mgk_bands *bands);

int mgk_bands_threads(const mgk_bands *bands);

/* The singular values of a band [mgk_band_entries(order) or more] (kernels/backend.h) into sigma
 * [order], descending; NaN if they cannot be computed. `thread`, from 0, is the caller's own. */
void mgk_bands_solve(mgk_bands *bands, int thread, size_t order, const double *band, double *sigma);

#endif
