/* SPDX-License-Identifier: MIT */
#include "analysis/counting/gram.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "analysis/counting/deflation.h"
#include "analysis/counting/gram_device.h"
#include "analysis/counting/norm_bound.h"
#include "base/hash.h"
#include "base/memory.h"
#include "kernels/blas.h"
#include "kernels/spectral/inertia.h"
#include "kernels/spectral/residual.h"
#include "kernels/spectral/rounding.h"

enum { LARGEST_N = 32768 };

struct mgk_gram {
    double *product; /* [n_max, n_max], the lower triangle of CᵀC; C is A without a split */
    double *shifted; /* [n_max, n_max], the matrix to factor */
    mgk_inertia_work *inertia;
    double *row;     /* [n_max], b */
    double *vectors; /* [3 n_max] */

    const double *matrix; /* A, owned by the caller */
    bool causal;          /* C is zero right of its diagonal */

    mgk_residual_arrays *residual;
    mgk_norm_bound *norm_bound;
    double *exact; /* [MGK_RESIDUAL_VECTORS, pitch] */

    mgk_gram_device *there; /* holds A, the product and the factors; NULL: they are on the host */
    mgk_status status;      /* of the device */

    size_t n;        /* rows and columns of C */
    size_t deflated; /* 1 if α and b were split off, or 0 */
    double alpha;
    double row_squares; /* ‖b‖² */
    double norm;        /* upper bound of ‖ |C|ᵀ|C| ‖₂ */
    double growth;      /* of the last factorisation; it hardly depends on the shift */
    double shift;       /* x of the last factorisation */
    double rest;        /* α² - x of the last factorisation */
    bool measured;      /* mgk_norm_bound_begin was called for the last factorisation */
};

static mgk_status check_order(size_t n_max)
{
    return n_max <= LARGEST_N ? STATUS_OK
                              : mgk_fail(STATUS_SHAPE, "matrices of %zu rows, expected at most %d",
                                         n_max, LARGEST_N);
}

mgk_status mgk_gram_open(size_t n_max, mgk_gram **out)
{
    mgk_status status;
    mgk_gram *gram = NULL;
    size_t entries;
    *out = NULL;
    CHECK(check_order(n_max));
    CHECK(mgk_alloc(1, sizeof(*gram), &gram));
    CHECK(mgk_multiply(n_max, n_max, &entries));
    CHECK(mgk_alloc(entries, sizeof(double), &gram->product));
    CHECK(mgk_alloc(entries, sizeof(double), &gram->shifted));
    CHECK(mgk_inertia_open(n_max, &gram->inertia));
    CHECK(mgk_alloc(n_max, sizeof(double), &gram->row));
    CHECK(mgk_alloc(3 * n_max, sizeof(double), &gram->vectors));
    CHECK(mgk_residual_open(n_max, &gram->residual));
    CHECK(mgk_norm_bound_open(n_max, &gram->norm_bound));
    CHECK(
        mgk_alloc(MGK_RESIDUAL_VECTORS * mgk_reduction_pitch(n_max), sizeof(double), &gram->exact));
    *out = gram;
    gram = NULL;
out:
    mgk_gram_close(gram);
    return status;
}

mgk_status mgk_gram_open_on(mgk_device *device, size_t n_max, mgk_gram **out)
{
    mgk_status status;
    mgk_gram *gram = NULL;
    *out = NULL;
    CHECK(check_order(n_max));
    CHECK(mgk_alloc(1, sizeof(*gram), &gram));
    CHECK(mgk_alloc(n_max, sizeof(double), &gram->row));
    CHECK(mgk_norm_bound_open(n_max, &gram->norm_bound));
    CHECK(mgk_gram_device_open(device, n_max, &gram->there));
    *out = gram;
    gram = NULL;
out:
    mgk_gram_close(gram);
    return status;
}

mgk_status mgk_gram_status(const mgk_gram *gram)
{
    return gram->status;
}

void mgk_gram_close(mgk_gram *gram)
{
    if (!gram)
        return;
    mgk_free(gram->product);
    mgk_free(gram->shifted);
    mgk_inertia_close(gram->inertia);
    mgk_free(gram->row);
    mgk_free(gram->vectors);
    mgk_residual_close(gram->residual);
    mgk_norm_bound_close(gram->norm_bound);
    mgk_free(gram->exact);
    mgk_gram_device_close(gram->there);
    mgk_free(gram);
}

/* Whether α and b hold most of ‖A‖² and more than `least`: then C rounds less. */
static bool worth_splitting(const mgk_gram *gram, size_t n, const double *matrix, double least)
{
    const blasint entries = (blasint)(n * n);
    return n >= 2 && mgk_deflation_pays(mgk_deflation_remainder(n, matrix, gram->vectors),
                                        mgk_blas.ddot(entries, matrix, 1, matrix, 1), least);
}

/* Splits α and b off if this pays. Returns the address of C; its rows are n apart. */
static const double *split(mgk_gram *gram, size_t n, double *matrix, double least, double *error)
{
    gram->n = n;
    gram->deflated = 0;
    gram->row_squares = *error = 0;
    if (!worth_splitting(gram, n, matrix, least))
        return matrix;
    *error = mgk_deflate(n, matrix, gram->vectors);
    gram->n = n - 1;
    gram->deflated = 1;
    gram->alpha = matrix[0];
    memcpy(gram->row, matrix + 1, gram->n * sizeof(*matrix));
    gram->row_squares = mgk_blas.ddot((blasint)gram->n, gram->row, 1, gram->row, 1);
    return matrix + n + 1;
}

/* The properties of C that determine the method of its product and of its norm bound. */
typedef struct shape {
    bool causal;   /* all rows are zero right of the diagonal */
    bool negative; /* an entry is below zero, or -0 */
} shape;

/* The bits that are set in any number. */
static uint64_t bits_of(size_t count, const double *x)
{
    uint64_t bits = 0;
    for (size_t j = 0; j < count; j++) {
        uint64_t one;
        memcpy(&one, x + j, sizeof(one));
        bits |= one;
    }
    return bits;
}

static shape look(size_t n, const double *c, size_t stride)
{
    uint64_t left = 0, right = 0;
    for (size_t i = 0; i < n; i++) {
        const double *row = c + i * stride;
        left |= bits_of(i + 1, row);
        right |= bits_of(n - i - 1, row + i + 1);
    }
    return (shape){.causal = right << 1 == 0, .negative = (left | right) >> 63};
}

/* y = |C|ᵀ|C| x, with |C| in gram->shifted. */
static void apply_magnitudes(const mgk_gram *gram, const double *x, double *y)
{
    const blasint n = (blasint)gram->n;
    double *between = gram->vectors + 2 * n;
    mgk_blas.dgemv(CblasRowMajor, CblasNoTrans, n, n, 1, gram->shifted, n, x, 1, 0, between, 1);
    mgk_blas.dgemv(CblasRowMajor, CblasTrans, n, n, 1, gram->shifted, n, between, 1, 0, y, 1);
}

/* The same for C without negative entries, by the product. */
static void apply_product(const mgk_gram *gram, const double *x, double *y)
{
    const blasint n = (blasint)gram->n;
    mgk_blas.dsymv(CblasRowMajor, CblasLower, n, 1, gram->product, n, x, 1, 0, y, 1);
}

/*
 * An upper bound of the largest eigenvalue of |C|ᵀ|C|; |C|ᵀ|C| 1 is already close to its
 * eigenvector.
 */
static double bound_norm(const mgk_gram *gram, bool negative, const double *c, size_t stride)
{
    const size_t n = gram->n;
    double *x = gram->vectors, *next = x + n, largest = 0;
    for (size_t i = 0; negative && i < n; i++)
        for (size_t j = 0; j < n; j++)
            gram->shifted[i * n + j] = fabs(c[i * stride + j]);
    for (size_t j = 0; j < n; j++)
        x[j] = 1;
    for (int step = 0; step < 2; step++) {
        if (negative)
            apply_magnitudes(gram, x, next);
        else
            apply_product(gram, x, next);
        largest = 0;
        for (size_t j = 0; j < n; j++)
            largest = x[j] > 0 ? fmax(largest, next[j] / x[j]) : largest;
        memcpy(x, next, n * sizeof(*x));
    }
    return mgk_collatz_bound(largest, n);
}

/* Keeps the first failure of the device. */
static void fall(mgk_gram *gram, mgk_status status)
{
    if (gram->status == STATUS_OK)
        gram->status = status;
}

static void load_there(mgk_gram *gram, size_t n, double *matrix, double least, double *error)
{
    mgk_gram_facts facts = {0};
    fall(gram, mgk_gram_device_load(gram->there, n, matrix, least, gram->row, &facts));
    gram->n = facts.n;
    gram->deflated = facts.deflated;
    gram->alpha = facts.alpha;
    gram->row_squares = facts.row_squares;
    gram->norm = facts.norm;
    gram->growth = 1.25 * facts.norm;
    gram->causal = false;
    *error = facts.error;
}

void mgk_gram_load(mgk_gram *gram, size_t n, double *matrix, double least, double *error)
{
    gram->measured = false;
    if (gram->there) {
        load_there(gram, n, matrix, least, error);
        return;
    }
    const double *c = split(gram, n, matrix, least, error);
    gram->matrix = matrix;
    const shape seen = look(gram->n, c, n);
    gram->causal = seen.causal;
    mgk_inertia_square(gram->inertia, gram->n, seen.causal, c, n, gram->product, gram->n);
    gram->norm = bound_norm(gram, seen.negative, c, n);
    gram->growth = 1.25 * gram->norm;
}

/* The lower triangle of CᵀC - x I - factor b bᵀ. */
static void shift(const mgk_gram *gram, double x, double factor)
{
    const size_t n = gram->n;
    const double *b = gram->row;
    for (size_t i = 0; i < n; i++) {
        double *out = gram->shifted + i * n, scale = gram->deflated ? factor * b[i] : 0;
        memcpy(out, gram->product + i * n, (i + 1) * sizeof(*out));
        for (size_t j = 0; j <= i && gram->deflated; j++)
            out[j] -= scale * b[j];
        out[i] -= x;
    }
}

/* The inertia of CᵀC - x I - times b bᵀ. */
static mgk_inertia factor(mgk_gram *gram, double x, double times)
{
    mgk_inertia inertia = {0};
    if (!gram->there) {
        shift(gram, x, times);
        return mgk_inertia_count(gram->inertia, gram->n, gram->shifted, gram->n);
    }
    fall(gram, mgk_gram_device_count(gram->there, x, times, &inertia));
    return inertia;
}

/*
 * The product, the shift and the factorisation are each exact for a nearby matrix, and so is the
 * count. The error of a product of n terms is n 2⁻⁵³ |C|ᵀ|C|, that of factors n 2⁻⁵³ times their
 * growth (inertia.h), that of a shift a few roundings of the entries.
 */
static mgk_gram_count describe(const mgk_gram *gram, double growth)
{
    const double terms = (double)(gram->n + 8), size = gram->norm + growth;
    return (mgk_gram_count){.bound = mgk_gamma(terms) * size,
                            .expected = sqrt(terms) * MGK_ROUNDOFF * size};
}

mgk_gram_count mgk_gram_expect(const mgk_gram *gram)
{
    return describe(gram, gram->growth);
}

bool mgk_gram_take(mgk_gram *gram, double x, mgk_gram_count *out)
{
    double rest = gram->deflated ? fma(gram->alpha, gram->alpha, -x) : 1;
    if (!(x > 0) || !(rest > 0) || gram->status != STATUS_OK)
        return false;
    gram->measured = false;
    mgk_inertia inertia = factor(gram, x, x / rest);
    if (gram->status != STATUS_OK || !isfinite(inertia.growth))
        return false;
    gram->growth = inertia.growth;
    gram->shift = x;
    gram->rest = rest;
    *out = describe(gram, inertia.growth + x + x / rest * gram->row_squares);
    out->count = gram->deflated + inertia.positive;
    return isfinite(out->bound);
}

/* The address of C. */
static const double *rest_of(const mgk_gram *gram)
{
    return gram->matrix + gram->deflated * (gram->n + 2);
}

/* The last factorisation; a device has its own arrays. */
static mgk_residual factored(const mgk_gram *gram)
{
    mgk_residual r = {.n = gram->n,
                      .b_squares = gram->row_squares * (1 + 0x1p-40),
                      .factor = gram->deflated ? gram->shift / gram->rest : 0,
                      .x = gram->shift,
                      .norm = gram->norm,
                      .growth = gram->growth};
    if (gram->there)
        return r;
    r.c = rest_of(gram);
    r.stride = mgk_gram_order(gram);
    r.causal = gram->causal;
    r.b = gram->deflated ? gram->row : NULL;
    r.k = gram->shifted;
    r.k_stride = gram->n;
    return r;
}

/* A hash of all bits of x [count], in eight independent lanes for speed. */
static uint64_t digest(uint64_t seed, size_t count, const double *x)
{
    enum { LANES = 8 };
    uint64_t lanes[LANES] = {0}, word;
    for (size_t j = 0; j < count; j++) {
        memcpy(&word, x + j, sizeof(word));
        uint64_t *lane = &lanes[j % LANES];
        *lane = (*lane ^ word) * 0x9E3779B97F4A7C15;
        *lane ^= *lane >> 32;
    }
    for (size_t k = 0; k < LANES; k++)
        seed = mgk_mix(seed ^ lanes[k]);
    return seed;
}

/* From the whole matrix, and D, which depends on every rounding. */
static uint64_t draw_seed(mgk_gram *gram, const mgk_residual *r)
{
    uint64_t seed = digest(r->n, 1, &r->x), matrix = 0, pivots = 0;
    if (gram->deflated)
        seed = digest(seed, r->n, gram->row);
    if (gram->there) {
        fall(gram, mgk_gram_device_hash(gram->there, &matrix, &pivots));
        return mgk_mix(mgk_mix(seed ^ matrix) ^ pivots);
    }
    for (size_t i = 0; i < r->n; i++)
        seed = digest(seed, r->causal ? i + 1 : r->n, r->c + i * r->stride);
    for (size_t i = 0; i < r->n; i++)
        seed = digest(seed, 1, r->k + i * (r->k_stride + 1));
    return seed;
}

typedef struct measure {
    mgk_gram *gram;
    const mgk_residual *of;
} measure;

static void apply_residual(void *state, double *vectors)
{
    const measure *m = state;
    mgk_gram *gram = m->gram;
    const size_t pitch = mgk_reduction_pitch(gram->n);
    if (gram->there)
        fall(gram, mgk_gram_device_residual(gram->there, m->of, MGK_RESIDUAL_VECTORS, vectors,
                                            pitch, vectors));
    else
        mgk_residual_apply(gram->residual, m->of, vectors);
}

/* Errors outside the residual: α² - x and x / (α² - x) are rounded. */
static double factor_error(const mgk_residual *r)
{
    return 4 * MGK_ROUNDOFF * r->factor * r->b_squares;
}

double mgk_gram_measure(mgk_gram *gram, double enough)
{
    const mgk_residual r = factored(gram);
    measure m = {gram, &r};
    if (!gram->measured)
        mgk_norm_bound_begin(gram->norm_bound, r.n, draw_seed(gram, &r));
    gram->measured = true;
    const double found =
        mgk_norm_bound_find(gram->norm_bound, apply_residual, &m, mgk_residual_noise(&r), enough);
    return gram->status == STATUS_OK ? found + factor_error(&r) : INFINITY;
}

/* The same operator on the host and on the device; its vectors lack their first entry if α and b
 * were split off. */
typedef struct exact_operator {
    void (*here)(mgk_residual_arrays *arrays, const mgk_residual *r, double *w);
    mgk_status (*there)(mgk_gram_device *gram, const mgk_residual *r, size_t count,
                        const double *rows, size_t distance, double *out);
} exact_operator;

/* Applies it to rows [count, n], `distance` apart, some at a time. */
static void apply_in_groups(mgk_gram *gram, const exact_operator *apply, const mgk_residual *r,
                            size_t count, const double *rows, size_t distance, double *out)
{
    const size_t n = gram->n, pitch = mgk_reduction_pitch(n);
    for (size_t first = 0; first < count; first += MGK_RESIDUAL_VECTORS) {
        const size_t left = count - first;
        const size_t many = left < MGK_RESIDUAL_VECTORS ? left : MGK_RESIDUAL_VECTORS;
        memset(gram->exact, 0, MGK_RESIDUAL_VECTORS * pitch * sizeof(*gram->exact));
        for (size_t k = 0; k < many; k++)
            memcpy(gram->exact + k * pitch, rows + (first + k) * distance, n * sizeof(*rows));
        apply->here(gram->residual, r, gram->exact);
        for (size_t k = 0; k < many; k++)
            memcpy(out + (first + k) * distance, gram->exact + k * pitch, n * sizeof(*out));
    }
}

/*
 * Applies it to rows [count, order]; with α and b split off, the first entries of `out` are 0.
 * Returns `noise`, or infinity if the device fails.
 */
static double apply_exactly(mgk_gram *gram, const exact_operator *apply, const mgk_residual *r,
                            size_t count, const double *rows, double *out, double noise)
{
    const size_t order = mgk_gram_order(gram), skipped = gram->deflated;
    for (size_t k = 0; k < count && skipped > 0; k++)
        out[k * order] = 0;
    if (gram->there)
        fall(gram, apply->there(gram->there, r, count, rows + skipped, order, out + skipped));
    else
        apply_in_groups(gram, apply, r, count, rows + skipped, order, out + skipped);
    return gram->status == STATUS_OK ? noise : INFINITY;
}

double mgk_gram_apply_exactly(mgk_gram *gram, size_t count, const double *rows, double *out)
{
    static const exact_operator multiply = {mgk_residual_multiply,
                                            mgk_gram_device_multiply_exactly};
    const mgk_residual r = factored(gram);
    return apply_exactly(gram, &multiply, &r, count, rows, out,
                         mgk_residual_multiply_noise(gram->n, sqrt(gram->norm)));
}

double mgk_gram_apply_error(mgk_gram *gram, size_t count, const double *rows, double *out)
{
    static const exact_operator error = {mgk_residual_apply, mgk_gram_device_residual};
    const mgk_residual r = factored(gram);
    return apply_exactly(gram, &error, &r, count, rows, out,
                         mgk_residual_noise(&r) + factor_error(&r));
}

/* L⁻¹, or its transpose, of rows [count, n], `distance` apart. */
static void solve_triangle(const mgk_gram *gram, CBLAS_TRANSPOSE transpose, size_t count,
                           double *rows, size_t distance)
{
    const blasint length = (blasint)gram->n;
    if (count == 1) /* products of matrices are slow for one row */
        mgk_blas.dtrsv(CblasRowMajor, CblasLower, transpose, CblasUnit, length, gram->shifted,
                       length, rows, 1);
    else
        mgk_blas.dtrsm(CblasRowMajor, CblasRight, CblasLower,
                       transpose == CblasTrans ? CblasNoTrans : CblasTrans, CblasUnit,
                       (blasint)count, length, 1, gram->shifted, length, rows, (blasint)distance);
}

/* (CᵀC - x I - …)⁻¹ with the last factors; rows [count, n], `distance` apart. */
static void solve_factored(mgk_gram *gram, size_t count, double *rows, size_t distance)
{
    const size_t n = gram->n;
    if (gram->there) {
        fall(gram, mgk_gram_device_solve(gram->there, count, rows, distance));
        return;
    }
    solve_triangle(gram, CblasNoTrans, count, rows, distance);
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < n; i++)
            rows[k * distance + i] /= gram->shifted[i * n + i];
    solve_triangle(gram, CblasTrans, count, rows, distance);
}

/*
 * If α and b were split off, AᵀA - x I = [[α² - x, α bᵀ], [α b, ·]], and the factors are those of
 * the Schur complement: the first unknown is eliminated first and computed last.
 */
void mgk_gram_solve(mgk_gram *gram, size_t count, double *rows)
{
    const size_t order = mgk_gram_order(gram);
    const blasint length = (blasint)gram->n;
    double *rest = rows + gram->deflated;
    for (size_t k = 0; k < count && gram->deflated; k++)
        mgk_blas.daxpy(length, -gram->alpha * rows[k * order] / gram->rest, gram->row, 1,
                       rest + k * order, 1);
    solve_factored(gram, count, rest, order);
    for (size_t k = 0; k < count && gram->deflated; k++)
        rows[k * order] -= gram->alpha * mgk_blas.ddot(length, gram->row, 1, rest + k * order, 1);
    for (size_t k = 0; k < count && gram->deflated; k++)
        rows[k * order] /= gram->rest;
}

/* AᵀA x from the stored product: with t = α x₀ + bᵀ x', [α t, t b + CᵀC x']. */
static void multiply_product(const mgk_gram *gram, double *x)
{
    const blasint length = (blasint)gram->n;
    double *rest = x + gram->deflated, *image = gram->vectors, t = 0;
    if (gram->deflated) {
        t = gram->alpha * x[0] + mgk_blas.ddot(length, gram->row, 1, rest, 1);
        x[0] = gram->alpha * t;
        memcpy(image, gram->row, gram->n * sizeof(*image));
    }
    mgk_blas.dsymv(CblasRowMajor, CblasLower, length, 1, gram->product, length, rest, 1, t, image,
                   1);
    memcpy(rest, image, gram->n * sizeof(*rest));
}

void mgk_gram_multiply(mgk_gram *gram, size_t count, double *rows)
{
    const size_t n = mgk_gram_order(gram);
    if (gram->there) {
        fall(gram, mgk_gram_device_multiply(gram->there, count, rows));
        return;
    }
    for (size_t k = 0; k < count; k++)
        multiply_product(gram, rows + k * n);
}

void mgk_gram_apply(mgk_gram *gram, bool transposed, size_t count, const double *rows, double *out)
{
    const blasint order = (blasint)mgk_gram_order(gram);
    if (gram->there)
        fall(gram, mgk_gram_device_apply(gram->there, transposed, count, rows, out));
    else
        mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasNoTrans : CblasTrans,
                       (blasint)count, order, order, 1, rows, order, gram->matrix, order, 0, out,
                       order);
}

double mgk_gram_shift(const mgk_gram *gram)
{
    return gram->shift;
}

size_t mgk_gram_order(const mgk_gram *gram)
{
    return gram->n + gram->deflated;
}

double mgk_gram_split(const mgk_gram *gram)
{
    return gram->deflated ? gram->alpha : 0;
}

double *mgk_gram_memory(mgk_gram *gram)
{
    return gram->shifted;
}

double mgk_gram_norm(const mgk_gram *gram)
{
    return sqrt(gram->norm + (double)gram->deflated * gram->alpha * gram->alpha +
                gram->row_squares);
}
