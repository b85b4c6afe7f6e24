/* SPDX-License-Identifier: MIT */
/* QR of a tall panel: the part of the reduction to a band that is not a matrix product. */
#ifndef MGK_KERNELS_CPU_PANEL_H
#define MGK_KERNELS_CPU_PANEL_H

#include "kernels/cpu/cpu.h"

/* Columns processed together: a panel has this many additional columns of zeros. */
enum { MGK_PANEL_GROUP = 4 };

/*
 * panel [rows, cols] = (I − V T Vᵀ) R, column-major with columns `pitch` apart, 64-byte aligned,
 * rows padded with zeros to whole vectors. R replaces the upper triangle; below it the panel is
 * undefined. v receives V [rows, cols], with ones and zeros; t receives T [cols, cols], upper
 * triangular with zeros below. work [cols² + 2 cols + MGK_PANEL_GROUP].
 */
void MGK_CPU(factor_panel)(size_t rows, size_t cols, size_t pitch, double *panel, double *v,
                           double *t, double *work);

#endif
