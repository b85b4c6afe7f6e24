/* SPDX-License-Identifier: MIT */
/* The reductions of the variant that a file is compiled for; see kernels/cpu/spectral/reductions.h.
 */
#ifndef MGK_KERNELS_CPU_REDUCTION_H
#define MGK_KERNELS_CPU_REDUCTION_H

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/spectral/reductions.h"

mgk_bidiagonalise_fn MGK_CPU(bidiagonalise);
mgk_dense_to_band_fn MGK_CPU(dense_to_band);
mgk_chase_band_fn MGK_CPU(chase_band);
mgk_sturm_fn MGK_CPU(sturm);
mgk_square_fn MGK_CPU(square);
mgk_factor_fn MGK_CPU(factor);
mgk_solve_fn MGK_CPU(solve);
mgk_growth_fn MGK_CPU(growth);
mgk_residual_fn MGK_CPU(residual);
mgk_multiply_exactly_fn MGK_CPU(multiply_exactly);

#endif
