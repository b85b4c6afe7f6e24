/* SPDX-License-Identifier: MIT */
/*
 * Singular values and ranks as operations of a device, and the statistics of matrices that their
 * error bounds take. The conventions are those of kernels/backend.h.
 */
#ifndef MGK_KERNELS_SPECTRAL_OPERATIONS_H
#define MGK_KERNELS_SPECTRAL_OPERATIONS_H

#include "kernels/device.h"
#include "kernels/spectral/factored.h"

/* Statistics of the entries a_ij of a matrix. */
typedef struct mgk_entries {
    double norm;          /* √Σ a_ij²; NaN where a device does not trust the squares */
    double row_sum_error; /* max_i |Σ_j a_ij − 1| of rows that are not all zeros; not finite if a
                             sum is not */
    double column_sum_max; /* max_j Σ_i a_ij */
    uint64_t bits;         /* bits that are set in any entry */
    size_t zero_rows;      /* rows that are all zeros */
} mgk_entries;

enum { MGK_SOLVER_CONSTANT = 16 };  /* see singular_values */
enum { MGK_BISECTION_ORDER = 512 }; /* the largest order of bisected_values */
enum { MGK_BAND_WIDTH = 32 };       /* superdiagonals that reduce_to_bands leaves */

/*
 * Number of reals in the band of a matrix of order n, with rows padded to a multiple of the width:
 * entry (r, c), r <= c <= r + width, is at [r (width + 1) + c - r].
 */
static inline size_t mgk_band_entries(size_t n)
{
    return (n + MGK_BAND_WIDTH - 1) / MGK_BAND_WIDTH * MGK_BAND_WIDTH * (MGK_BAND_WIDTH + 1);
}

/*
 * out [count], on the host: statistics of the entries of each matrix, laid out as for
 * singular_values. NULL where device memory is host memory: the host computes them.
 */
typedef mgk_status mgk_measure_entries_fn(mgk_device *, size_t count, size_t n,
                                          const size_t *orders, const double *matrices,
                                          mgk_entries *out);
/*
 * Singular values of square matrices, in float64 in every precision of the device. `matrices` is an
 * array of the device; orders and sigma are on the host. Matrix i, [orders[i], orders[i]] with
 * orders[i] <= n, is packed at matrices + i n² and overwritten; its values are written to sigma
 * [count, n], descending, followed by zeros. Each is within (2 n + MGK_SOLVER_CONSTANT) 2^-53 σ_1
 * of the exact value. If the values of a matrix overflow or do not converge, or an entry is not
 * finite, some of its values are not finite; the other matrices are unaffected. Also fails if n
 * exceeds the limit of the device's solver.
 */
typedef mgk_status mgk_singular_values_fn(mgk_device *, size_t count, size_t n,
                                          const size_t *orders, double *matrices, double *sigma);
/*
 * The same, with the project's own kernels, which keep a matrix in the shared memory of a few
 * multiprocessors. NULL if a device has none. STATUS_UNSUPPORTED: an order is above
 * bisection_order.
 */
typedef mgk_status mgk_bisected_values_fn(mgk_device *, size_t count, size_t n,
                                          const size_t *orders, double *matrices, double *sigma);
/*
 * The largest order of bisected_values on this device, at most MGK_BISECTION_ORDER: a matrix must
 * fit the shared memory of the blocks that the device runs together.
 */
typedef mgk_status mgk_bisection_order_fn(mgk_device *, size_t *order);
/*
 * The first of two steps to singular values of larger matrices, laid out as for singular_values:
 * writes upper triangular bands with the same singular values to bands [count, mgk_band_entries(n)]
 * on the device; entries beyond a matrix's order are 0. The error of a band moves singular values
 * by at most (n + MGK_SOLVER_CONSTANT) 2^-53 σ_1. A matrix with an entry that is not finite gives a
 * band that is not finite; the other matrices are unaffected. Asynchronous; the host does the
 * second step (kernels/spectral/spectrum.h). A device has both this and bisected_values, or
 * neither.
 */
typedef mgk_status mgk_reduce_to_bands_fn(mgk_device *, size_t count, size_t n,
                                          const size_t *orders, const double *matrices,
                                          double *bands);
/*
 * proven [count]: 1 if all singular values of matrix i are certainly above levels[i] >= 0, rounding
 * errors included; 0 if this is unknown, as for values close to the level and entries that are not
 * finite. The matrices are laid out as for singular_values and are not changed. NULL if the device
 * does not gain by it.
 */
typedef mgk_status mgk_prove_full_rank_fn(mgk_device *, size_t count, size_t n,
                                          const size_t *orders, const double *matrices,
                                          const double *levels, int *proven);

/*
 * The steps of counting singular values other than matrix products, for one matrix at a time, in
 * float64 in every precision of the device (analysis/counting/gram.h). Matrices and vectors are
 * arrays of the device; other results are on the host. A device has all of them, or NULL if it does
 * not gain by them.
 *
 * *bound: at least ‖|A|ᵀ|A|‖₂ of a [n, n], rows `stride` apart; not finite if an entry is not.
 */
typedef mgk_status mgk_bound_square_fn(mgk_device *, size_t n, size_t stride, const double *a,
                                       double *bound);
/*
 * Factors K = product - x I - scale b bᵀ = L D Lᵀ (lower triangles) into `work` [n, n], without
 * pivoting; b [n], or NULL for 0. Entries of `work` above the diagonal are undefined afterwards.
 * *positive: the number of pivots above 0, which is the number of positive eigenvalues of K + E.
 * Every entry of the computed K has an error of a few roundings of its three terms. E is the error
 * of the factors, ‖E‖₂ <= γ *growth, γ = (n + 2) 2^-53 / (1 - (n + 2) 2^-53), and *growth is at
 * least ‖|L||D||Lᵀ|‖₂ (Higham, Accuracy and Stability, §11.1). *growth is not finite if a pivot but
 * the last is 0.
 */
typedef mgk_status mgk_shifted_inertia_fn(mgk_device *, size_t n, const double *product,
                                          const double *b, double x, double scale, double *work,
                                          size_t *positive, double *growth);
/*
 * Replaces each row f of rows [count, n] by K⁻¹ f, computed with the factors in `work`. The caller
 * measures the error.
 */
typedef mgk_status mgk_solve_factored_fn(mgk_device *, size_t n, const double *work, size_t count,
                                         double *rows);
/*
 * Replaces each row w of rows [count, n], of norms up to 1, by E w, or by C w, computed in twice
 * the precision from the arrays of *r: errors as mgk_residual_apply and mgk_residual_multiply
 * (kernels/spectral/residual.h).
 */
typedef mgk_status mgk_residual_images_fn(mgk_device *, const mgk_residual *r, size_t count,
                                          double *rows);
typedef mgk_status mgk_exact_images_fn(mgk_device *, const mgk_residual *r, size_t count,
                                       double *rows);
/* *hash depends on all bits of a [rows, columns] and on their places; rows are `stride` apart. */
typedef mgk_status mgk_hash_entries_fn(mgk_device *, size_t rows, size_t columns, size_t stride,
                                       const double *a, uint64_t *hash);

/* See device->op->spectral. An operation is NULL only where its type above allows that. */
typedef struct mgk_spectral_operations {
    mgk_measure_entries_fn *measure_entries;
    mgk_singular_values_fn *singular_values;
    mgk_bisected_values_fn *bisected_values;
    mgk_bisection_order_fn *bisection_order;
    mgk_reduce_to_bands_fn *reduce_to_bands;
    mgk_prove_full_rank_fn *prove_full_rank;
    mgk_bound_square_fn *bound_square;
    mgk_shifted_inertia_fn *shifted_inertia;
    mgk_solve_factored_fn *solve_factored;
    mgk_residual_images_fn *residual_images;
    mgk_exact_images_fn *exact_images;
    mgk_hash_entries_fn *hash_entries;
} mgk_spectral_operations;

#endif
