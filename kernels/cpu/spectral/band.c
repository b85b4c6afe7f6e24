/* SPDX-License-Identifier: MIT */
/*
 * Reduces a dense matrix to a band: for each block of b columns, with the trailing matrix A,
 *     its columns   = (I − V T Vᵀ) R   (QR; R joins the band)
 *     Y             = Tᵀ Vᵀ A          of the remaining columns
 *     its rows, minus V Y, transposed = (I − V' T' V'ᵀ) R'   (R'ᵀ joins the band)
 *     X             = (A − V Y) V' T'
 *     A            −= [V X] [Y; V'ᵀ].
 */
#include <string.h>

#include "kernels/blas.h"
#include "kernels/cpu/spectral/panel.h"
#include "kernels/cpu/spectral/reduction.h"

/* The arrays of one reduction. All tall matrices have the same pitch. */
typedef struct band_work {
    size_t width, pitch;
    double *panel;    /* [n, b + MGK_PANEL_GROUP] */
    double *left;     /* [n, 2 b]: V X */
    double *right;    /* [n, 2 b]: Yᵀ V' */
    double *products; /* [n, b] */
    double *t;        /* [b, b] */
    double *small;    /* [b, 2 b + 2] */
} band_work;

static double *take(double **memory, size_t count)
{
    double *piece = *memory;
    *memory += count;
    return piece;
}

static band_work lay_out(size_t n, size_t width, double *memory)
{
    const size_t pitch = mgk_reduction_pitch(n);
    band_work w = {.width = width, .pitch = pitch};
    w.panel = take(&memory, pitch * (width + MGK_PANEL_GROUP));
    w.left = take(&memory, pitch * 2 * width);
    w.right = take(&memory, pitch * 2 * width);
    w.products = take(&memory, pitch * width);
    w.t = take(&memory, width * width);
    w.small = take(&memory, width * (2 * width + 2));
    return w;
}

/* c [m, n] = beta c + alpha a b, where a is [m, k] or, transposed, [k, m]. */
static void multiply(CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, size_t m, size_t n,
                     size_t k, double alpha, const double *a, size_t lda, const double *b,
                     size_t ldb, double beta, double *c, size_t ldc)
{
    mgk_blas.dgemm(CblasColMajor, transpose_a, transpose_b, (int)m, (int)n, (int)k, alpha, a,
                   (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

/* Empties the panel: the padding of its rows and columns must be 0. */
static void clear_panel(band_work *w, size_t rows)
{
    for (size_t c = 0; c < w->width + MGK_PANEL_GROUP; c++)
        memset(w->panel + c * w->pitch, 0, mgk_cpu_padded(rows) * sizeof(double));
}

/*
 * Writes R of the panel, [cols, cols] or fewer rows, from entry (0, 0) of `band` on; `down` and
 * `across` are the distances to the next row and column.
 */
static void store_triangle(const band_work *w, size_t rows, size_t cols, size_t down, size_t across,
                           double *band)
{
    for (size_t c = 0; c < cols; c++)
        for (size_t r = 0; r <= c && r < rows; r++)
            band[r * down + c * across] = w->panel[c * w->pitch + r];
}

/* The columns a [rows, cols]: V to `left`, R to the band. */
static void factor_columns(band_work *w, size_t rows, size_t cols, const double *a, size_t lda,
                           size_t stride, double *band)
{
    clear_panel(w, rows);
    for (size_t c = 0; c < cols; c++)
        memcpy(w->panel + c * w->pitch, a + c * lda, rows * sizeof(double));
    MGK_CPU(factor_panel)(rows, cols, w->pitch, w->panel, w->left, w->t, w->small);
    store_triangle(w, rows, cols, 1, stride, band);
}

/* The rows a [width, order] minus V Y: V' to `right`, R'ᵀ to the band. */
static void factor_rows(band_work *w, size_t order, const double *a, size_t lda, size_t stride,
                        double *band)
{
    const size_t b = w->width;
    clear_panel(w, order);
    for (size_t c = 0; c < order; c++)
        for (size_t r = 0; r < b; r++)
            w->panel[r * w->pitch + c] = a[c * lda + r];
    multiply(CblasNoTrans, CblasTrans, order, b, b, -1, w->right, w->pitch, w->left, w->pitch, 1,
             w->panel, w->pitch);
    MGK_CPU(factor_panel)(order, b, w->pitch, w->panel, w->right + b * w->pitch, w->t, w->small);
    store_triangle(w, order, b, stride, 1, band);
}

/* Yᵀ [order, b] = Aᵀ V T, a [rows, order]. */
static void make_y(band_work *w, size_t rows, size_t order, const double *a, size_t lda)
{
    const size_t b = w->width, p = w->pitch;
    multiply(CblasTrans, CblasNoTrans, order, b, rows, 1, a, lda, w->left, p, 0, w->products, p);
    multiply(CblasNoTrans, CblasNoTrans, order, b, b, 1, w->products, p, w->t, b, 0, w->right, p);
}

/* X [order, b] = (A − V Y) V' T' of the rows below the block, a [order, order]. */
static void make_x(band_work *w, size_t order, const double *a, size_t lda)
{
    const size_t b = w->width, p = w->pitch;
    double *x = w->left + b + b * p, *reflectors = w->right + b * p;
    multiply(CblasTrans, CblasNoTrans, b, b, order, 1, w->right, p, reflectors, p, 0, w->small, b);
    multiply(CblasNoTrans, CblasNoTrans, order, b, order, 1, a, lda, reflectors, p, 0, w->products,
             p);
    multiply(CblasNoTrans, CblasNoTrans, order, b, b, -1, w->left + b, p, w->small, b, 1,
             w->products, p);
    multiply(CblasNoTrans, CblasNoTrans, order, b, b, 1, w->products, p, w->t, b, 0, x, p);
}

void MGK_CPU(dense_to_band)(size_t n, size_t width, double *a, size_t pitch, double *band,
                            double *work)
{
    band_work w = lay_out(n, width, work);
    const size_t b = width, stride = mgk_band_stride(width);
    for (size_t k = 0; k < n; k += b) {
        const size_t rows = n - k, cols = rows < b ? rows : b, order = rows - cols;
        double *block = a + k * pitch + k, *diagonal = band + 2 * b + k + k * stride;
        factor_columns(&w, rows, cols, block, pitch, stride, diagonal);
        if (order == 0)
            return;
        double *beside = block + b * pitch, *below = beside + b;
        make_y(&w, rows, order, beside, pitch);
        factor_rows(&w, order, beside, pitch, stride, diagonal + b * stride);
        make_x(&w, order, below, pitch);
        multiply(CblasNoTrans, CblasTrans, order, order, 2 * b, -1, w.left + b, w.pitch, w.right,
                 w.pitch, 1, below, pitch);
    }
}
