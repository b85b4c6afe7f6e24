/*
 * The matrices of a gram (analysis/counting/gram.h) in the memory of a device, which makes the
 * products and factors them. What is done with the numbers is the same as on the host.
 */
#ifndef MGK_ANALYSIS_GRAM_DEVICE_H
#define MGK_ANALYSIS_GRAM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/counting/lanczos.h"
#include "kernels/backend.h"
#include "kernels/spectral/inertia.h"

typedef struct mgk_gram_device mgk_gram_device;

/* Vectors that are solved for, or multiplied, together at most. */
enum { MGK_GRAM_ROWS = MGK_LANCZOS_PAIRS };

/* What is known of the matrix that was loaded. */
typedef struct mgk_gram_facts {
    size_t n;        /* rows and columns of C */
    size_t deflated; /* 1 if α and b were split off, or 0 */
    double alpha;
    double row_squares; /* ‖b‖² */
    double norm;        /* at least ‖ |C|ᵀ|C| ‖₂ */
    double error;       /* how far splitting off may have moved singular values */
} mgk_gram_facts;

/*
 * For matrices up to n_max on a device of double precision that has shifted_inertia and what
 * belongs to it. STATUS_MEMORY, STATUS_DEVICE.
 */
mgk_status mgk_gram_device_open(mgk_device *device, size_t n_max, mgk_gram_device **out);
void mgk_gram_device_close(mgk_gram_device *gram); /* NULL is accepted */

/*
 * Takes matrix [n, n], an array of the device, n >= 1, and keeps it; see mgk_gram_load. `row` [n]
 * takes b. STATUS_DEVICE, as of all that follow.
 */
mgk_status mgk_gram_device_load(mgk_gram_device *gram, size_t n, double *matrix, double least,
                                double *row, mgk_gram_facts *out);

/* The inertia of CᵀC - x I - factor b bᵀ. */
mgk_status mgk_gram_device_count(mgk_gram_device *gram, double x, double factor, mgk_inertia *out);

/*
 * The inverse of what was factored last, of rows [count, n of the facts] in the host's memory,
 * `distance` apart; where the device fails they are NaN.
 */
mgk_status mgk_gram_device_solve(mgk_gram_device *gram, size_t count, double *rows,
                                 size_t distance);

/* out [count, n] = A x, or Aᵀ x, of each row x of rows [count, n]; zeros where the device fails. */
mgk_status mgk_gram_device_apply(mgk_gram_device *gram, bool transposed, size_t count,
                                 const double *rows, double *out);

/* A [n, n], n of the matrix that was loaded, and the last factors [n, n], n of the facts, to the
 * host's memory. */
mgk_status mgk_gram_device_fetch(mgk_gram_device *gram, double *matrix);
mgk_status mgk_gram_device_fetch_factors(mgk_gram_device *gram, double *factors);

#endif
