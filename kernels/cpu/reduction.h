/*
 * Reductions of a float64 matrix to bidiagonal form by orthogonal transformations from both sides,
 * which leave its singular values. Entries are numbers whose largest magnitude is 0 or between
 * 2^-300 and 2^300, or what is not finite appears in the result. Matrices lie by columns, which are
 * `pitch` apart and 64-byte aligned, and are overwritten. On one thread.
 */
#ifndef MGK_KERNELS_CPU_REDUCTION_H
#define MGK_KERNELS_CPU_REDUCTION_H

#include "kernels/cpu/cpu.h"

/* Columns of the fused bidiagonalisation that are met together, and vectors of its work. */
enum { MGK_FUSED_GROUP = 4, MGK_FUSED_VECTORS = 7 };

typedef struct mgk_reductions {
    /*
     * For small matrices: diagonal [n], superdiagonal [n − 1] of an upper bidiagonal matrix.
     * `a` has n + MGK_FUSED_GROUP columns of `pitch` numbers, pitch at least as many and a multiple
     * of MGK_LANES; what is not the matrix is 0. work [MGK_FUSED_VECTORS, pitch], 64-byte aligned.
     */
    void (*bidiagonalise)(size_t n, size_t pitch, double *a, double *work, double *diagonal,
                          double *superdiagonal);
} mgk_reductions;

void MGK_CPU(bidiagonalise)(size_t n, size_t pitch, double *a, double *work, double *diagonal,
                            double *superdiagonal);

#endif
