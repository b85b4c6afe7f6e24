/* SPDX-License-Identifier: MIT */
/* Chooses among the compiled variants of the CPU code. */
#ifndef MGK_KERNELS_CPU_VARIANT_H
#define MGK_KERNELS_CPU_VARIANT_H

#include "kernels/backend.h"
#include "kernels/cpu/spectral/reductions.h"
#include "kernels/rows.h"

typedef struct mgk_cpu_variant {
    const char *level, *name;
    const mgk_operations *table[2]; /* by mgk_precision */
    const mgk_reductions *reductions;
    const mgk_row_kernels *rows;
    bool runs_here;
} mgk_cpu_variant;

/*
 * Chooses the best variant that this processor runs; its functions call the BLAS that mgk_blas_open
 * loads. MGK_CPU_LEVEL=v2|v3|v4 in the environment lowers the level, for tests. STATUS_USAGE: no
 * such level; STATUS_DEVICE: none runs.
 */
mgk_status mgk_cpu_choose_variant(mgk_cpu_variant *out);

#endif
