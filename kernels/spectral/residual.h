/*
 * The error of a factorisation: E = L D Lᵀ - (CᵀC - x I - factor b bᵀ), where L and D are
 * what came out, applied to vectors. Products, shift and factorisation have rounded in E; E w is
 * made in twice the precision. Nothing is assumed of how they rounded, nor where.
 */
#ifndef MGK_KERNELS_RESIDUAL_H
#define MGK_KERNELS_RESIDUAL_H

#include "base/status.h"
#include "kernels/cpu/spectral/reductions.h"

/* The workspace of one thread. */
typedef struct mgk_residual_arrays mgk_residual_arrays;

/* For orders up to n_max. STATUS_MEMORY, STATUS_USAGE, STATUS_DEVICE as mgk_inertia_open. */
mgk_status mgk_residual_open(size_t n_max, mgk_residual_arrays **out);
void mgk_residual_close(mgk_residual_arrays *arrays); /* NULL is accepted */

/*
 * E w in the place of each vector; w [MGK_RESIDUAL_VECTORS, mgk_reduction_pitch(n)], 64-byte
 * aligned, zeros beyond n. None is longer than 1 but for the rounding of its length.
 */
void mgk_residual_apply(mgk_residual_arrays *arrays, const mgk_residual *r, double *w);

/*
 * How far ‖E w‖ may be off, besides by 2⁻⁵⁰ of itself. A sum of N = n + 2 products that is at most
 * B leaves low parts of 4 B u each, u = 2⁻⁵³, whose own sum is off by 4 N² u² B and as much again
 * for the few roundings beside. There are four sums an entry, of C w, Cᵀ(C w), Lᵀ w and L(D Lᵀ w);
 * what the first and third are off by is multiplied by Cᵀ and L D. The norms bound each of these
 * products.
 */
double mgk_residual_noise(const mgk_residual *r);

/* C w in the place of each vector, each entry off by a rounding of itself and this at most. */
void mgk_residual_multiply(mgk_residual_arrays *arrays, const mgk_residual *r, double *w);
double mgk_residual_multiply_noise(size_t n, double norm);

#endif
