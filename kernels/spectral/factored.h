/* SPDX-License-Identifier: MIT */
/* A matrix, its shifted square and the factors, whose error is measured (residual.h). */
#ifndef MGK_KERNELS_FACTORED_H
#define MGK_KERNELS_FACTORED_H

#include <stdbool.h>
#include <stddef.h>

/* A computed factorisation L D Lᵀ of CᵀC - x I - factor b bᵀ, order n. */
typedef struct mgk_residual {
    size_t n;
    const double *c; /* rows `stride` apart; causal: entries right of the diagonal are not read */
    size_t stride;
    bool causal;
    const double *b; /* [n]; NULL: none */
    double b_squares, factor, x;
    const double *k; /* D on its diagonal, L below; rows k_stride apart */
    size_t k_stride;
    double norm, growth; /* upper bounds of ‖ |C|ᵀ|C| ‖₂ and ‖ |L| |D| |Lᵀ| ‖₂ */
} mgk_residual;

#endif
