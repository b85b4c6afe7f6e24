/* SPDX-License-Identifier: MIT */
/*
 * Reductions of a float64 matrix on one thread: to bidiagonal form by orthogonal transformations
 * from both sides, which keep the singular values, and to L D Lᵀ, which keeps the inertia. The
 * largest magnitude of the entries is 0 or between 2^-300 and 2^300; entries that are not finite
 * give results that are not finite. Matrices are column-major with columns `pitch` apart, and are
 * overwritten. Work is 64-byte aligned.
 */
#ifndef MGK_KERNELS_CPU_REDUCTIONS_H
#define MGK_KERNELS_CPU_REDUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/spectral/factored.h"

/* The distance of columns: whole vectors on every level, and an odd number of 64-byte units. */
static inline size_t mgk_reduction_pitch(size_t n)
{
    return (n + 7) / 8 * 8 | 8;
}

/* Columns that the fused bidiagonalisation processes together, and vectors of its work. */
enum { MGK_FUSED_GROUP = 4, MGK_FUSED_VECTORS = 7 };

/* Band widths are multiples of the unit, at most MGK_BAND_WIDEST. */
enum { MGK_BAND_UNIT = 32, MGK_BAND_WIDEST = 128 };

/*
 * The layout of a band of b superdiagonals, with room for the fill of chasing: entry (r, c),
 * −2 b <= r − c <= b, is at [2 b + r + c stride], columns c < n + 2 b. Entries of a row are also
 * one stride apart: an odd number of vectors, so that they do not evict each other from the cache.
 */
static inline size_t mgk_band_stride(size_t width)
{
    return mgk_reduction_pitch(3 * width + 1);
}

static inline size_t mgk_band_size(size_t n, size_t width)
{
    return (n + 2 * width + 1) * (mgk_band_stride(width) + 1);
}

/* Reals of work for dense_to_band. */
static inline size_t mgk_band_work(size_t n, size_t width)
{
    return mgk_reduction_pitch(n) * (6 * width + 4) + 3 * width * width + 2 * width;
}

/* Points x of one Sturm count: how many singular values of a bidiagonal matrix are >= x. */
enum { MGK_STURM_POINTS = 32 };

typedef struct mgk_sturm_points {
    _Alignas(64) double x[MGK_STURM_POINTS]; /* positive */
    /* value · 2^exponent = the characteristic polynomial · x^(steps − 2n) */
    _Alignas(64) double value[MGK_STURM_POINTS];
    _Alignas(64) int64_t exponent[MGK_STURM_POINTS];
    _Alignas(64) int64_t above[MGK_STURM_POINTS]; /* number of singular values >= x */
} mgk_sturm_points;

/* Steps without overflow or underflow, after which values are normalised. */
enum { MGK_STURM_BLOCK = 16 };

/* Orders for which `square` is faster than BLAS. */
enum { MGK_SQUARE_LEAST = 16, MGK_SQUARE_LARGEST = 256 };

/*
 * Orders up to which `factor` is faster than BLAS; the most rows and columns of a block on any
 * level.
 */
enum { MGK_FACTOR_LARGEST = 256, MGK_FACTOR_BLOCK = 8, MGK_FACTOR_WIDTH = 16 };

/* The distance of rows in the work of `factor` and `solve`, with room for whole blocks. */
static inline size_t mgk_factor_pitch(size_t n)
{
    return mgk_reduction_pitch(n + MGK_FACTOR_WIDTH);
}

/* Reals of work for `factor`. */
static inline size_t mgk_factor_work(size_t n)
{
    const size_t rows = n + MGK_FACTOR_BLOCK;
    return rows * (mgk_factor_pitch(n) + rows) + n;
}

/* Vectors per call of `residual`. */
enum { MGK_RESIDUAL_VECTORS = 3 };

/* Reals of work for `residual` and `multiply_exactly`. */
static inline size_t mgk_residual_work(size_t n)
{
    return (4 * MGK_RESIDUAL_VECTORS + 2) * mgk_reduction_pitch(n);
}

/*
 * For small matrices: reduces `a` to an upper bidiagonal matrix, diagonal [n], superdiagonal
 * [n − 1]. `a`, 64-byte aligned, has n + MGK_FUSED_GROUP columns of `pitch` reals, where pitch is
 * at least the number of columns and a multiple of 8; entries outside the matrix are 0. work
 * [MGK_FUSED_VECTORS, pitch].
 */
typedef void mgk_bidiagonalise_fn(size_t n, size_t pitch, double *a, double *work, double *diagonal,
                                  double *superdiagonal);

/*
 * The first of two steps for larger matrices: reduces `a` [n, n] to an upper triangular band of
 * `width` superdiagonals, mgk_band_size reals, 0 before the call. Most operations are matrix
 * products. work [mgk_band_work].
 */
typedef void mgk_dense_to_band_fn(size_t n, size_t width, double *a, size_t pitch, double *band,
                                  double *work);

/* The second step: reduces the band, overwritten, to diagonal [n] and superdiagonal [n − 1]. */
typedef void mgk_chase_band_fn(size_t n, size_t width, double *band, double *diagonal,
                               double *superdiagonal);

/*
 * Computes value, exponent and above of all x. squares [steps] = 0, d_1², e_1², d_2², … d_n²,
 * padded with zeros to whole blocks. x and all squares except these zeros are between 2^-112 and 2.
 */
typedef void mgk_sturm_fn(size_t steps, const double *squares, mgk_sturm_points *points);

/*
 * The lower triangle of cᵀc [n, n] for c [n, n], row-major; entries right of its diagonal are read
 * and must be zeros; rows are `stride` and `product_stride` apart. The product is undefined right
 * of its diagonal. MGK_SQUARE_LEAST <= n <= MGK_SQUARE_LARGEST.
 */
typedef void mgk_square_fn(size_t n, const double *c, size_t stride, double *product,
                           size_t product_stride);

/*
 * Factors a symmetric matrix k = L D Lᵀ [n, n] without pivoting: the lower triangle, by rows
 * `stride` apart, is replaced by D on the diagonal and the unit lower L; entries above the diagonal
 * are not touched. work [mgk_factor_work].
 */
typedef void mgk_factor_fn(size_t n, double *k, size_t stride, double *work);

/*
 * Continues `factor` with the same work, for the rows of a larger matrix below k: `below` [rows, n]
 * is replaced by L, and w [n, rows] receives D Lᵀ, rows `pitch` apart; w has room for
 * n + MGK_FACTOR_BLOCK rows.
 */
typedef void mgk_solve_fn(size_t n, size_t rows, double *below, size_t stride, double *work,
                          double *w, size_t pitch);

/*
 * An upper bound of ‖ |L| |D| |Lᵀ| ‖₂ for the factors in k; not finite if they are not. work
 * [3, n].
 */
typedef double mgk_growth_fn(size_t n, const double *k, size_t stride, double *work);

/*
 * Replaces each vector w by E w, E = L D Lᵀ - (CᵀC - x I - factor b bᵀ); w
 * [MGK_RESIDUAL_VECTORS, mgk_reduction_pitch(n)], each of length at most 1 plus a few roundings,
 * zeros beyond n; see kernels/spectral/residual.h. work [mgk_residual_work].
 */
typedef void mgk_residual_fn(const mgk_residual *r, double *w, double *work);

/* Replaces each vector w by C w, rounded once; reads only C and its norm of *r. */
typedef void mgk_multiply_exactly_fn(const mgk_residual *r, double *w, double *work);

/* The reductions of one CPU variant. */
typedef struct mgk_reductions {
    mgk_bidiagonalise_fn *bidiagonalise;
    mgk_dense_to_band_fn *dense_to_band;
    mgk_chase_band_fn *chase_band;
    mgk_sturm_fn *sturm;
    mgk_square_fn *square;
    mgk_factor_fn *factor;
    mgk_solve_fn *solve;
    mgk_growth_fn *growth;
    mgk_residual_fn *residual;
    mgk_multiply_exactly_fn *multiply_exactly;
} mgk_reductions;

#endif
