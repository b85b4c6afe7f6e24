/* SPDX-License-Identifier: MIT */
/*
 * The matrices of a gram (analysis/counting/gram.h) in the memory of a device, which multiplies and
 * factors them with the same algorithm as the host.
 */
#ifndef MGK_ANALYSIS_GRAM_DEVICE_H
#define MGK_ANALYSIS_GRAM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/counting/lanczos.h"
#include "kernels/backend.h"
#include "kernels/spectral/inertia.h"

typedef struct mgk_gram_device mgk_gram_device;

/* The most vectors per call of solve and apply. */
enum { MGK_GRAM_ROWS = MGK_LANCZOS_PAIRS };

/* Facts about the loaded matrix. */
typedef struct mgk_gram_facts {
    size_t n;        /* rows and columns of C */
    size_t deflated; /* 1 if α and b were split off, or 0 */
    double alpha;
    double row_squares; /* ‖b‖² */
    double norm;        /* upper bound of ‖ |C|ᵀ|C| ‖₂ */
    double error;       /* how far the split may have moved singular values */
} mgk_gram_facts;

/*
 * For matrices up to n_max on a device of double precision that has shifted_inertia and its
 * companions. STATUS_MEMORY, STATUS_DEVICE. Close with mgk_gram_device_close.
 */
mgk_status mgk_gram_device_open(mgk_device *device, size_t n_max, mgk_gram_device **out);
void mgk_gram_device_close(mgk_gram_device *gram); /* NULL is accepted */

/*
 * Loads matrix [n, n], an array of the device, n >= 1, and keeps it; see mgk_gram_load. `row` [n],
 * on the host, receives b. STATUS_DEVICE, as in all functions below.
 */
mgk_status mgk_gram_device_load(mgk_gram_device *gram, size_t n, double *matrix, double least,
                                double *row, mgk_gram_facts *out);

/* The inertia of CᵀC - x I - factor b bᵀ. */
mgk_status mgk_gram_device_count(mgk_gram_device *gram, double x, double factor, mgk_inertia *out);

/*
 * Replaces each row f of rows [count, n of the facts], on the host, `distance` apart, by the
 * solution of the last factored system K x = f; NaN if the device fails.
 */
mgk_status mgk_gram_device_solve(mgk_gram_device *gram, size_t count, double *rows,
                                 size_t distance);

/* out [count, n] = A x, or Aᵀ x, of each row x of rows [count, n]; zeros if the device fails. */
mgk_status mgk_gram_device_apply(mgk_gram_device *gram, bool transposed, size_t count,
                                 const double *rows, double *out);

/* Replaces each row x of rows [count, n] by AᵀA x; zeros if the device fails. */
mgk_status mgk_gram_device_multiply(mgk_gram_device *gram, size_t count, double *rows);

/*
 * out [count, n of the facts] = E w, or C w, of each row w of rows, `distance` apart, on the host;
 * rows of out are `distance` apart, too. E is the error of the last factors (residual.h); of *r the
 * numbers are used, its matrices are those of the device. Zeros if the device fails.
 */
mgk_status mgk_gram_device_residual(mgk_gram_device *gram, const mgk_residual *r, size_t count,
                                    const double *rows, size_t distance, double *out);
mgk_status mgk_gram_device_multiply_exactly(mgk_gram_device *gram, const mgk_residual *r,
                                            size_t count, const double *rows, size_t distance,
                                            double *out);

/* Hashes of all bits of C, and of D of the last factors. */
mgk_status mgk_gram_device_hash(mgk_gram_device *gram, uint64_t *matrix, uint64_t *pivots);

#endif
