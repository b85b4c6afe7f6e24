/* SPDX-License-Identifier: MIT */
/* QR of tall panels: the part of the reduction to a band that is not a matrix product. */
#ifndef MGK_KERNELS_CUDA_PANEL_H
#define MGK_KERNELS_CUDA_PANEL_H

#include "kernels/cuda/operations.h"

/* A batch of column-major matrices: columns are `pitch` apart, matrices `apart`. */
struct mgk_tall {
    double *data;
    size_t pitch, apart;
};

/* Panels that are factored together; all arrays are in device memory. */
struct mgk_panels {
    size_t count;
    size_t rows; /* at least MGK_BAND_WIDTH, the columns of each panel */
    mgk_tall a;  /* the panels, with entries up to about 1 */
    mgk_tall v;
    double *t;            /* [count, MGK_BAND_WIDTH, MGK_BAND_WIDTH] by columns */
    double *band;         /* address of r_00 of the first panel */
    size_t band_apart;    /* distance of the bands of two panels */
    size_t down, across;  /* distances from r_ij to r_i+1,j and to r_i,j+1 */
    const double *scales; /* [count], factors of r */
};

/*
 * Computes V, T and R of panel = (I - V T Vᵀ) R: V, with ones and zeros, in v; T, with zeros below
 * its diagonal, in t; the upper triangle of R in band. The panels are undefined afterwards.
 * most_blocks: blocks per cluster, 1 for a device without clusters.
 */
mgk_status mgk_cuda_factor_panels(mgk_device *device, const mgk_panels *panels, size_t most_blocks);

#endif
