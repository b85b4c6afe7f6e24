/* SPDX-License-Identifier: MIT */
/* The reductions of one CPU variant. */
#include "kernels/cpu/spectral/reduction.h"

extern const mgk_reductions MGK_CPU(reductions);

const mgk_reductions MGK_CPU(reductions) = {
    .bidiagonalise = MGK_CPU(bidiagonalise),
    .dense_to_band = MGK_CPU(dense_to_band),
    .chase_band = MGK_CPU(chase_band),
    .sturm = MGK_CPU(sturm),
    .square = MGK_CPU(square),
    .factor = MGK_CPU(factor),
    .solve = MGK_CPU(solve),
    .growth = MGK_CPU(growth),
    .residual = MGK_CPU(residual),
    .multiply_exactly = MGK_CPU(multiply_exactly),
};
