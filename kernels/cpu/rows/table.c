/* SPDX-License-Identifier: MIT */
/* The kernels of rows of one CPU variant. */
#include "kernels/cpu/rows/row.h"

extern const mgk_row_kernels MGK_CPU(row_kernels);

const mgk_row_kernels MGK_CPU(row_kernels) = {
    .sum = MGK_CPU(row_sum),
    .facts = MGK_CPU(row_facts),
    .any = MGK_CPU(row_any),
    .range = MGK_CPU(row_range),
    .dot = MGK_CPU(row_dot),
    .squares = MGK_CPU(row_squares),
    .normalise = MGK_CPU(row_normalise),
    .centre = MGK_CPU(row_centre),
    .weigh = MGK_CPU(row_weigh),
    .energy = MGK_CPU(row_energy),
    .distance = MGK_CPU(row_distance),
    .entropy = MGK_CPU(row_entropy),
    .roots = MGK_CPU(row_roots),
    .narrow = MGK_CPU(row_narrow),
    .widen = MGK_CPU(row_widen),
    .sort = MGK_CPU(row_sort),
    .sort_floats = MGK_CPU(row_sort_floats),
    .spreads = MGK_CPU(row_spreads),
    .products = MGK_CPU(row_products),
    .differences = MGK_CPU(row_differences),
    .divergences = MGK_CPU(row_divergences),
};
