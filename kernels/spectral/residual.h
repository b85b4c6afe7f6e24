/* SPDX-License-Identifier: MIT */
/*
 * The error of a factorisation: E = L D Lᵀ - (CᵀC - x I - factor b bᵀ) for the computed L and D,
 * applied to vectors. E includes the roundings of the product, the shift and the factorisation. E w
 * is computed in twice the precision; nothing is assumed about these roundings.
 */
#ifndef MGK_KERNELS_RESIDUAL_H
#define MGK_KERNELS_RESIDUAL_H

#include "base/status.h"
#include "kernels/cpu/spectral/reductions.h"

/* The workspace of one thread. */
typedef struct mgk_residual_arrays mgk_residual_arrays;

/*
 * Creates a workspace for orders up to n_max. Errors as mgk_inertia_open: STATUS_MEMORY,
 * STATUS_USAGE, STATUS_DEVICE.
 */
mgk_status mgk_residual_open(size_t n_max, mgk_residual_arrays **out);
void mgk_residual_close(mgk_residual_arrays *arrays); /* NULL is accepted */

/*
 * Replaces each vector w by E w; w [MGK_RESIDUAL_VECTORS, mgk_reduction_pitch(n)], 64-byte aligned,
 * zeros beyond n. No vector is longer than 1, except for the rounding of its length.
 */
void mgk_residual_apply(mgk_residual_arrays *arrays, const mgk_residual *r, double *w);

/*
 * A bound of the error of ‖E w‖, besides 2⁻⁵⁰ of itself. A sum of N = n + 2 products, at most B,
 * leaves low parts of 4 B u each, u = 2⁻⁵³; the error of their sum is at most 4 N² u² B, and the
 * few other roundings add as much again. An entry needs four sums, those of C w, Cᵀ(C w), Lᵀ w and
 * L(D Lᵀ w); the errors of the first and third are multiplied by Cᵀ and L D. The norms bound each
 * of these products.
 */
double mgk_residual_noise(const mgk_residual *r);

/*
 * Replaces each vector w by C w; the error of an entry is at most one rounding of it and
 * mgk_residual_multiply_noise.
 */
void mgk_residual_multiply(mgk_residual_arrays *arrays, const mgk_residual *r, double *w);
double mgk_residual_multiply_noise(size_t n, double norm);

#endif
