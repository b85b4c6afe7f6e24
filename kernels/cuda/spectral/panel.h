/* QR of tall panels, the part of the reduction to a band that is no matrix product. */
#ifndef MGK_KERNELS_CUDA_PANEL_H
#define MGK_KERNELS_CUDA_PANEL_H

#include "kernels/cuda/operations.h"

/* A matrix by columns, `pitch` apart, for each of a batch; from one to the next it is `apart`. */
struct mgk_tall {
    double *data;
    size_t pitch, apart;
};

/* Panels that are factored together; all arrays lie in device memory. */
struct mgk_panels {
    size_t count;
    size_t rows; /* at least MGK_BAND_WIDTH, the columns of each */
    mgk_tall a;  /* the panels, of entries up to about 1 */
    mgk_tall v;
    double *t;            /* [count, MGK_BAND_WIDTH, MGK_BAND_WIDTH] by columns */
    double *band;         /* where r_00 of the first goes */
    size_t band_apart;    /* from one panel's to the next's */
    size_t down, across;  /* from r_ij to r_i+1,j and to r_i,j+1 */
    const double *scales; /* [count], which r are multiplied by */
};

/*
 * Makes V, T and R of panel = (I - V T Vᵀ) R: V, with ones and zeros, to v; T, with zeros
 * below its diagonal, to t; the upper triangle of R to band. What becomes of the panels is
 * undefined. most_blocks: of a cluster, 1 where the device has none.
 */
mgk_status mgk_cuda_factor_panels(mgk_device *device, const mgk_panels *panels, size_t most_blocks);

#endif
