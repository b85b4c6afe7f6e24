/* SPDX-License-Identifier: MIT */
/*
 * Householder bidiagonalisation that reads the matrix once per step. The plain algorithm reads the
 * trailing matrix A three times in step k:
 *     u from column k;  y = tau Aᵀ u;  row k of A − u yᵀ gives v;  x = pi (A − u yᵀ) v;
 *     A −= u yᵀ + x vᵀ.
 * Here one pass over the columns applies the update of the previous step and computes y and x. The
 * row's entry r_j = a_kj − y_j is known as soon as column j has been multiplied by u. v is r except
 * for its first entry and a scale, known at the end of the pass: v = scale (r − beta e_1). So the
 * pass sums w = A r, and
 *     x = pi (scale (w − beta a_1) − u (yᵀ v)).
 * beta and r_1 have opposite signs: nothing cancels. Cf. Howell et al., "Cache efficient
 * bidiagonalization using BLAS 2.5 operators" (2008).
 */
#include <string.h>

#include "kernels/cpu/spectral/reduction.h"
#include "kernels/cpu/spectral/reflector.h"
#include "kernels/cpu/vector.h"

/* Columns processed together, which load u, x and the sums once. */
enum { GROUP = MGK_FUSED_GROUP };

/*
 * The operands of a pass. Rows start at a multiple of MGK_LANES: above the step's rows all vectors
 * are 0.
 */
typedef struct step {
    size_t rows, pitch;
    const double *u, *x; /* [rows], of the previous step */
    double *y, *v;       /* [n], of the previous step, until the pass replaces y */
    const double *left;  /* [rows], the new u */
    double tau;
    double *row, *w; /* r [n]; w [rows] */
} step;

/* Columns a_j of a group become a_j − u y_j − x v_j; sums [GROUP] = their products with left. */
static void update_columns(const step *s, size_t j, double *a, double *sums)
{
    mgk_vector y[GROUP], v[GROUP], sum[GROUP];
    for (size_t g = 0; g < GROUP; g++) {
        y[g] = s->y[j + g] - (mgk_vector){0};
        v[g] = s->v[j + g] - (mgk_vector){0};
        sum[g] = (mgk_vector){0};
    }
    for (size_t i = 0; i < s->rows; i += MGK_VECTOR_LANES) {
        const mgk_vector u = *(const mgk_vector *)(s->u + i), x = *(const mgk_vector *)(s->x + i);
        const mgk_vector left = *(const mgk_vector *)(s->left + i);
#pragma GCC unroll 4
        for (size_t g = 0; g < GROUP; g++) {
            mgk_vector *entry = (mgk_vector *)(a + g * s->pitch + i);
            const mgk_vector updated = *entry - u * y[g] - x * v[g];
            *entry = updated;
            sum[g] += updated * left;
        }
    }
    for (size_t g = 0; g < GROUP; g++)
        sums[g] = mgk_vector_sum(sum[g]);
}

/* w += Σ a_j r_j over a group. */
static void add_columns(const step *s, size_t j, const double *a)
{
    mgk_vector r[GROUP];
    for (size_t g = 0; g < GROUP; g++)
        r[g] = s->row[j + g] - (mgk_vector){0};
    for (size_t i = 0; i < s->rows; i += MGK_VECTOR_LANES) {
        mgk_vector *w = (mgk_vector *)(s->w + i), sum = *w;
#pragma GCC unroll 4
        for (size_t g = 0; g < GROUP; g++)
            sum += *(const mgk_vector *)(a + g * s->pitch + i) * r[g];
        *w = sum;
    }
}

/*
 * The pass over columns [begin, end). A group is added to w after the next group has been updated:
 * by then its sums are complete, and it is still in the first-level cache.
 */
static void pass(const step *s, size_t begin, size_t end, size_t pivot, double *a)
{
    for (size_t j = begin; j < end; j += GROUP) {
        double sums[GROUP];
        update_columns(s, j, a + j * s->pitch, sums);
        for (size_t g = 0; g < GROUP; g++) {
            s->y[j + g] = s->tau * sums[g];
            s->row[j + g] = a[(j + g) * s->pitch + pivot] - s->y[j + g];
        }
        if (j > begin)
            add_columns(s, j - GROUP, a + (j - GROUP) * s->pitch);
    }
    size_t last = begin + (end - begin - 1) / GROUP * GROUP;
    add_columns(s, last, a + last * s->pitch);
}

/* The reflector of x [count]; out = u. */
static mgk_reflector reflect(size_t count, const double *x, double *out)
{
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 1; i < count; i++)
        squares += x[i] * x[i];
    const mgk_reflector h = mgk_reflector_make(x[0], squares);
#pragma omp simd
    for (size_t i = 1; i < count; i++)
        out[i] = h.scale * x[i];
    out[0] = 1;
    return h;
}

static double dot(size_t count, const double *x, const double *y)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

void MGK_CPU(bidiagonalise)(size_t n, size_t pitch, double *a, double *work, double *diagonal,
                            double *superdiagonal)
{
    double *u = work, *left = u + pitch, *x = left + pitch, *w = x + pitch;
    double *y = w + pitch, *v = y + pitch, *row = v + pitch;
    memset(work, 0, MGK_FUSED_VECTORS * pitch * sizeof *work);
    for (size_t k = 0; k < n; k++) {
        const size_t first = k / MGK_LANES * MGK_LANES, next = k + 1;
        double *column = a + k * pitch;
#pragma omp simd
        for (size_t i = k; i < n; i++)
            column[i] -= u[i] * y[k] + x[i] * v[k];
        const mgk_reflector h = reflect(n - k, column + k, left + k);
        diagonal[k] = h.beta;
        if (next == n)
            return;
        memset(left + first, 0, (k - first) * sizeof *left);
        memset(w + first, 0, (pitch - first) * sizeof *w);
        const step s = {.rows = mgk_cpu_padded(n) - first,
                        .pitch = pitch,
                        .u = u + first,
                        .x = x + first,
                        .y = y,
                        .v = v,
                        .left = left + first,
                        .tau = h.tau,
                        .row = row,
                        .w = w + first};
        pass(&s, next, n, k - first, a + first);
        const mgk_reflector p = reflect(n - next, row + next, v + next);
        superdiagonal[k] = p.beta;
        const double product = dot(n - next, y + next, v + next);
        const double *beside = a + next * pitch;
        memset(x + first, 0, (next - first) * sizeof *x);
#pragma omp simd
        for (size_t i = next; i < n; i++)
            x[i] = p.tau * (p.scale * (w[i] - p.beta * beside[i]) - left[i] * product);
        double *swap = u;
        u = left;
        left = swap;
    }
}
