/* SPDX-License-Identifier: MIT */
/*
 * Reduces a band to bidiagonal form by bulge chasing (Lang 1996; Großer & Lang 1999). Sweep i
 * clears row i beyond its superdiagonal and then, block by block along the band, the first row and
 * the first column of the resulting fill; later sweeps clear the rest of the fill:
 *
 *     a reflector from the right clears row p except column c, on columns c … c + b − 1;
 *     a reflector from the left clears column c except row c, on rows c … c + b − 1;
 *     then p = c and c += b,
 *
 * starting at p = i, c = i + 1. A step touches 2 b rows and 2 b columns, so another sweep can
 * follow two steps behind: a few sweeps move along the band together while it is in the cache.
 */
#include "kernels/cpu/spectral/reduction.h"
#include "kernels/cpu/spectral/reflector.h"
#include "kernels/cpu/vector.h"

/* Sweeps that move together: their windows share a second-level cache of 512 KB. */
enum { SWEEPS = 4 };

/* Rows and columns that one reflector application holds in registers. */
enum { STRIP = MGK_BAND_UNIT, STRIP_VECTORS = STRIP / MGK_VECTOR_LANES, COLUMNS = 4 };

typedef struct band_view {
    size_t width, stride; /* of the band; from (r, c) to (r, c + 1) */
    double *origin;       /* entry (0, 0) */
} band_view;

static double *entry(const band_view *band, size_t row, size_t column)
{
    return band->origin + row + column * band->stride;
}

/*
 * The reflector u [width] of x [width], entries `stride` apart; x becomes (beta, 0, …). Returns
 * tau.
 */
static double reflect(size_t width, double *x, size_t stride, double *u)
{
    double squares = 0;
    for (size_t i = 1; i < width; i++) {
        u[i] = x[i * stride];
        x[i * stride] = 0;
    }
#pragma omp simd reduction(+ : squares)
    for (size_t i = 1; i < width; i++)
        squares += u[i] * u[i];
    const mgk_reflector h = mgk_reflector_make(x[0], squares);
#pragma omp simd
    for (size_t i = 1; i < width; i++)
        u[i] *= h.scale;
    u[0] = 1;
    x[0] = h.beta;
    return h.tau;
}

/* STRIP rows times H: a −= (tau a u) uᵀ. */
static void apply_right(size_t width, double *a, size_t stride, double tau, const double *u)
{
    mgk_vector w[STRIP_VECTORS] = {{0}};
    for (size_t c = 0; c < width; c++) {
        const mgk_vector factor = u[c] - (mgk_vector){0};
#pragma GCC unroll 16
        for (size_t i = 0; i < STRIP_VECTORS; i++)
            w[i] += ((const mgk_loose_vector *)(a + c * stride))[i] * factor;
    }
    for (size_t i = 0; i < STRIP_VECTORS; i++)
        w[i] *= tau;
    for (size_t c = 0; c < width; c++) {
        const mgk_vector factor = u[c] - (mgk_vector){0};
#pragma GCC unroll 16
        for (size_t i = 0; i < STRIP_VECTORS; i++)
            ((mgk_loose_vector *)(a + c * stride))[i] -= w[i] * factor;
    }
}

/* H times COLUMNS columns: a −= u (tau uᵀ a). */
static void apply_left(size_t width, double *a, size_t stride, double tau, const double *u)
{
    mgk_vector sum[COLUMNS] = {{0}};
    for (size_t i = 0; i < width; i += MGK_VECTOR_LANES) {
        const mgk_vector factor = *(const mgk_vector *)(u + i);
#pragma GCC unroll 4
        for (size_t c = 0; c < COLUMNS; c++)
            sum[c] += *(const mgk_loose_vector *)(a + c * stride + i) * factor;
    }
#pragma GCC unroll 4
    for (size_t c = 0; c < COLUMNS; c++)
        sum[c] = tau * mgk_vector_sum(sum[c]) - (mgk_vector){0};
    for (size_t i = 0; i < width; i += MGK_VECTOR_LANES) {
        const mgk_vector factor = *(const mgk_vector *)(u + i);
#pragma GCC unroll 4
        for (size_t c = 0; c < COLUMNS; c++)
            *(mgk_loose_vector *)(a + c * stride + i) -= sum[c] * factor;
    }
}

/* Clears row `pivot` beyond column c, then column c below row c. */
static void step(const band_view *band, size_t pivot, size_t c)
{
    const size_t width = band->width, stride = band->stride;
    _Alignas(64) double u[MGK_BAND_WIDEST];
    double tau = reflect(width, entry(band, pivot, c), stride, u);
    for (size_t row = pivot + 1; tau != 0 && row < c + width; row += STRIP)
        apply_right(width, entry(band, row, c), stride, tau, u);
    tau = reflect(width, entry(band, c, c), 1, u);
    for (size_t column = c + 1; tau != 0 && column < c + 2 * width; column += COLUMNS)
        apply_left(width, entry(band, c, column), stride, tau, u);
}

void MGK_CPU(chase_band)(size_t n, size_t width, double *band, double *diagonal,
                         double *superdiagonal)
{
    const band_view view = {width, mgk_band_stride(width), band + 2 * width};
    for (size_t first = 0; first < n; first += SWEEPS) {
        const size_t steps = (n - first) / width + 2 * SWEEPS;
        for (size_t turn = 0; turn < steps; turn++)
            for (size_t s = 0; s < SWEEPS && 2 * s <= turn; s++) {
                const size_t sweep = first + s, t = turn - 2 * s;
                const size_t c = sweep + 1 + t * width;
                if (c < n)
                    step(&view, t == 0 ? sweep : c - width, c);
            }
    }
    for (size_t i = 0; i < n; i++) {
        diagonal[i] = *entry(&view, i, i);
        if (i + 1 < n)
            superdiagonal[i] = *entry(&view, i, i + 1);
    }
}
