/*
 * Reductions of a float64 matrix: to bidiagonal form by orthogonal transformations from both sides,
 * which keeps its singular values, and to L D Lᵀ, which keeps its inertia. Entries are numbers
 * whose largest magnitude is 0 or between 2^-300 and 2^300; what is not finite shows in the result.
 * Matrices lie by columns, which are `pitch` apart, and are overwritten. Work is 64-byte aligned.
 * On one thread.
 */
#ifndef MGK_KERNELS_CPU_REDUCTIONS_H
#define MGK_KERNELS_CPU_REDUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of columns, in which vectors of any level fit: an odd number of 64 bytes. */
static inline size_t mgk_reduction_pitch(size_t n)
{
    return (n + 7) / 8 * 8 | 8;
}

/* Columns of the fused bidiagonalisation that are met together, and vectors of its work. */
enum { MGK_FUSED_GROUP = 4, MGK_FUSED_VECTORS = 7 };

/* Widths of bands are multiples of this, and these at most. */
enum { MGK_BAND_UNIT = 32, MGK_BAND_WIDEST = 128 };

/*
 * Where a band of b superdiagonals lies, with room for what chasing fills in: entry (r, c),
 * −2 b <= r − c <= b, at [2 b + r + c stride], columns c < n + 2 b. A stride apart are also entries
 * of one row; an odd number of vectors, lest they crowd each other out of the cache.
 */
static inline size_t mgk_band_stride(size_t width)
{
    return mgk_reduction_pitch(3 * width + 1);
}

static inline size_t mgk_band_size(size_t n, size_t width)
{
    return (n + 2 * width + 1) * (mgk_band_stride(width) + 1);
}

/* Numbers of work that dense_to_band needs. */
static inline size_t mgk_band_work(size_t n, size_t width)
{
    return mgk_reduction_pitch(n) * (6 * width + 4) + 3 * width * width + 2 * width;
}

/* Points at which a bidiagonal matrix is asked how many of its singular values lie above. */
enum { MGK_STURM_POINTS = 32 };

typedef struct mgk_sturm_points {
    _Alignas(64) double x[MGK_STURM_POINTS];     /* positive */
    _Alignas(64) double value[MGK_STURM_POINTS]; /* a multiple of the characteristic polynomial, */
    _Alignas(64) int64_t exponent[MGK_STURM_POINTS]; /* the same for all x, over 2^exponent */
    _Alignas(64) int64_t above[MGK_STURM_POINTS];    /* the number of singular values >= x */
} mgk_sturm_points;

/* Steps between which nothing under- or overflows. */
enum { MGK_STURM_BLOCK = 16 };

/* Orders between which `square` is best. */
enum { MGK_SQUARE_LEAST = 16, MGK_SQUARE_LARGEST = 256 };

/* Orders up to which `factor` is best; the most rows and columns that a level takes at a time. */
enum { MGK_FACTOR_LARGEST = 256, MGK_FACTOR_BLOCK = 8, MGK_FACTOR_WIDTH = 16 };

/* The distance of rows in its work, and in that of `solve`: as many numbers, to whole widths. */
static inline size_t mgk_factor_pitch(size_t n)
{
    return mgk_reduction_pitch(n + MGK_FACTOR_WIDTH);
}

/* Numbers of work that factor needs. */
static inline size_t mgk_factor_work(size_t n)
{
    const size_t rows = n + MGK_FACTOR_BLOCK;
    return rows * (mgk_factor_pitch(n) + rows) + n;
}

/* Vectors that `residual` takes together. */
enum { MGK_RESIDUAL_VECTORS = 3 };

/* A factorisation L D Lᵀ of CᵀC - x I - factor b bᵀ, order n, as it came out. */
typedef struct mgk_residual {
    size_t n;
    const double *c; /* rows `stride` apart; causal: nothing right of the diagonal is read */
    size_t stride;
    bool causal;
    const double *b; /* [n], NULL: none */
    double b_squares, factor, x;
    const double *k; /* D on its diagonal, L below; rows k_stride apart */
    size_t k_stride;
    double norm, growth; /* at least ‖ |C|ᵀ|C| ‖₂ and ‖ |L| |D| |Lᵀ| ‖₂ */
} mgk_residual;

/* Numbers of work that it needs. */
static inline size_t mgk_residual_work(size_t n)
{
    return (4 * MGK_RESIDUAL_VECTORS + 2) * mgk_reduction_pitch(n);
}

/*
 * For small matrices: diagonal [n], superdiagonal [n − 1] of an upper bidiagonal matrix. `a`,
 * 64-byte aligned, has n + MGK_FUSED_GROUP columns of `pitch` numbers, pitch at least as many and a
 * multiple of 8; what is not the matrix is 0. work [MGK_FUSED_VECTORS, pitch].
 */
typedef void mgk_bidiagonalise_fn(size_t n, size_t pitch, double *a, double *work, double *diagonal,
                                  double *superdiagonal);

/*
 * The first of two steps for larger matrices: `a` [n, n] to an upper triangular band of `width`
 * superdiagonals, whose matrix of mgk_band_size numbers is 0 before. Most of it are matrix
 * products. work [mgk_band_work].
 */
typedef void mgk_dense_to_band_fn(size_t n, size_t width, double *a, size_t pitch, double *band,
                                  double *work);

/* The second: the band, overwritten, to diagonal [n] and superdiagonal [n − 1]. */
typedef void mgk_chase_band_fn(size_t n, size_t width, double *band, double *diagonal,
                               double *superdiagonal);

/*
 * Fills in value, exponent and above of all x. squares [steps] = 0, d_1², e_1², d_2², … d_n², and
 * zeros to whole blocks. x and all squares but these zeros lie between 2^-112 and 2.
 */
typedef void mgk_sturm_fn(size_t steps, const double *squares, mgk_sturm_points *points);

/*
 * The lower triangle of cᵀc [n, n] of a matrix c [n, n] without anything right of its diagonal,
 * rows `stride` and `product_stride` apart; what is right of it in the product is undefined.
 * MGK_SQUARE_LEAST <= n <= MGK_SQUARE_LARGEST.
 */
typedef void mgk_square_fn(size_t n, const double *c, size_t stride, double *product,
                           size_t product_stride);

/*
 * The lower triangle of a symmetric matrix k [n, n], by rows `stride` apart, becomes D, on the
 * diagonal, and the unit lower L of k = L D Lᵀ, without pivoting; what is above is not touched.
 * work [mgk_factor_work].
 */
typedef void mgk_factor_fn(size_t n, double *k, size_t stride, double *work);

/*
 * Then, with the same work, the rows of a larger matrix below k: `below` [rows, n] becomes L, and w
 * [n, rows] is D Lᵀ, rows `pitch` apart; w has room for n + MGK_FACTOR_BLOCK rows.
 */
typedef void mgk_solve_fn(size_t n, size_t rows, double *below, size_t stride, double *work,
                          double *w, size_t pitch);

/* At least ‖ |L| |D| |Lᵀ| ‖₂ of these, or infinite or NaN as they are. work [3, n]. */
typedef double mgk_growth_fn(size_t n, const double *k, size_t stride, double *work);

/*
 * Puts E w, E = L D Lᵀ - (CᵀC - x I - factor b bᵀ), in the place of each of the vectors w
 * [MGK_RESIDUAL_VECTORS, mgk_reduction_pitch(n)], none longer than 1 but for a few roundings, zeros
 * beyond n; see kernels/spectral/residual.h. work [mgk_residual_work].
 */
typedef void mgk_residual_fn(const mgk_residual *r, double *w, double *work);

/* The same with C w, rounded once; of *r no more than C and its norm. */
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
