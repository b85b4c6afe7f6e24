/* SPDX-License-Identifier: MIT */
#include "analysis/counting/gram_device.h"

#include <math.h>
#include <string.h>

#include "analysis/counting/deflation.h"
#include "base/memory.h"
#include "kernels/blas.h"

struct mgk_gram_device {
    mgk_device *device;
    double *product;       /* [n_max, n_max], the lower triangle of CᵀC */
    double *work;          /* [n_max, n_max], the matrix to factor */
    double *row;           /* [n_max], b */
    double *left, *right;  /* [n_max] */
    double *rows, *images; /* [MGK_GRAM_ROWS, n_max] */
    double *number;        /* [1] */
    double *host;          /* [MGK_GRAM_ROWS, n_max], on the host, unlike the arrays above */
    const double *matrix;  /* A */
    mgk_gram_facts facts;
};

static mgk_status allocate(mgk_gram_device *g, size_t n_max)
{
    mgk_device *device = g->device;
    size_t entries, bytes;
    TRY(mgk_multiply(n_max, n_max, &entries));
    TRY(mgk_multiply(entries, sizeof(double), &bytes));
    TRY(device->op->allocate(device, bytes, &g->product));
    TRY(device->op->allocate(device, bytes, &g->work));
    TRY(device->op->allocate(device, n_max * sizeof(double), &g->row));
    TRY(device->op->allocate(device, n_max * sizeof(double), &g->left));
    TRY(device->op->allocate(device, n_max * sizeof(double), &g->right));
    TRY(device->op->allocate(device, MGK_GRAM_ROWS * n_max * sizeof(double), &g->rows));
    TRY(device->op->allocate(device, MGK_GRAM_ROWS * n_max * sizeof(double), &g->images));
    TRY(device->op->allocate(device, sizeof(double), &g->number));
    return mgk_alloc(MGK_GRAM_ROWS * n_max, sizeof(double), &g->host);
}

mgk_status mgk_gram_device_open(mgk_device *device, size_t n_max, mgk_gram_device **out)
{
    mgk_gram_device *g;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*g), &g));
    g->device = device;
    mgk_status status = allocate(g, n_max);
    if (status != STATUS_OK) {
        mgk_gram_device_close(g);
        return status;
    }
    *out = g;
    return STATUS_OK;
}

void mgk_gram_device_close(mgk_gram_device *g)
{
    if (!g)
        return;
    double *const arrays[] = {g->product, g->work, g->row,    g->left,
                              g->right,   g->rows, g->images, g->number};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        if (arrays[i])
            g->device->op->release(g->device, arrays[i]);
    mgk_free(g->host);
    mgk_free(g);
}

/* y = A x, or Aᵀ x; A [n, n]. */
static mgk_status times(const mgk_gram_device *g, bool transposed, size_t n, const double *a,
                        const double *x, double *y)
{
    return g->device->op->multiply(g->device, transposed, false, n, 1, n, 1, a, n, x, 1, 0, y, 1);
}

/* A -= factor x yᵀ */
static mgk_status subtract(const mgk_gram_device *g, size_t n, double factor, const double *x,
                           const double *y, double *a)
{
    return g->device->op->multiply(g->device, false, true, n, n, 1, -factor, x, 1, y, 1, 1, a, n);
}

/* out [n] = factor x; elements of x are `from` apart, those of out `to`. */
static mgk_status scale(const mgk_gram_device *g, size_t n, double factor, const double *x,
                        size_t from, double *out, size_t to)
{
    const double one = 1;
    TRY(g->device->op->upload(g->device, g->number, &one, sizeof(one)));
    return g->device->op->multiply(g->device, false, false, n, 1, 1, factor, x, from, g->number, 1,
                                   0, out, to);
}

static mgk_status sum_squares(const mgk_gram_device *g, size_t count, const double *x, double *sum)
{
    TRY(g->device->op->sum_squares(g->device, count, x, g->number));
    return g->device->op->download(g->device, sum, g->number, sizeof(*sum));
}

/* Copies g->host [n] to the device, and back. */
static mgk_status send(const mgk_gram_device *g, size_t n, double *to)
{
    return g->device->op->upload(g->device, to, g->host, n * sizeof(double));
}

static mgk_status fetch(const mgk_gram_device *g, size_t n, const double *from)
{
    return g->device->op->download(g->device, g->host, from, n * sizeof(double));
}

static void fill(size_t n, double *x)
{
    for (size_t j = 0; j < n; j++)
        x[j] = 1;
}

/* See mgk_deflation_remainder. */
static mgk_status find_remainder(const mgk_gram_device *g, size_t n, const double *a,
                                 double squares, double *remainder)
{
    double norm_squared, left;
    *remainder = 1;
    fill(n, g->host);
    TRY(send(g, n, g->right));
    TRY(times(g, false, n, a, g->right, g->left));
    TRY(sum_squares(g, n, g->left, &norm_squared));
    if (!(norm_squared > 0))
        return STATUS_OK;
    TRY(times(g, true, n, a, g->left, g->right));
    TRY(sum_squares(g, n, g->right, &left));
    *remainder = 1 - left / norm_squared / squares;
    return STATUS_OK;
}

/* See mgk_deflate. */
static mgk_status take_out(const mgk_gram_device *g, size_t n, double *a, double *alpha)
{
    fill(n, g->host);
    double factor = mgk_reflector(n, g->host);
    TRY(send(g, n, g->right));
    TRY(times(g, false, n, a, g->right, g->left));
    TRY(subtract(g, n, factor, g->left, g->right, a));

    TRY(scale(g, n, 1, a, n, g->left, 1));
    TRY(fetch(g, n, g->left));
    *alpha = mgk_reflected(n, g->host);
    factor = mgk_reflector(n, g->host);
    TRY(send(g, n, g->left));
    TRY(times(g, true, n, a, g->left, g->right));
    TRY(subtract(g, n, factor, g->left, g->right, a));

    for (size_t j = 0; j < n; j++)
        g->host[j] = j == 0;
    TRY(send(g, n, g->left));
    return scale(g, n, *alpha, g->left, 1, a, n);
}

/* Splits α and b off if this pays, as on the host; *c is the address of C. */
static mgk_status split(mgk_gram_device *g, size_t n, double *matrix, double least, double *row,
                        double **c)
{
    mgk_gram_facts *facts = &g->facts;
    double squares, remainder;
    *facts = (mgk_gram_facts){.n = n};
    *c = matrix;
    if (n < 2)
        return STATUS_OK;
    TRY(sum_squares(g, n * n, matrix, &squares));
    TRY(find_remainder(g, n, matrix, squares, &remainder));
    if (!mgk_deflation_pays(remainder, squares, least))
        return STATUS_OK;
    TRY(take_out(g, n, matrix, &facts->alpha));
    facts->n = n - 1;
    facts->deflated = 1;
    facts->error = mgk_deflation_error(n, squares);
    *c = matrix + n + 1;
    TRY(g->device->op->copy(g->device, g->row, matrix + 1, facts->n * sizeof(double)));
    TRY(g->device->op->download(g->device, row, g->row, facts->n * sizeof(double)));
    return sum_squares(g, facts->n, g->row, &facts->row_squares);
}

/*
 * The lower triangle of CᵀC, c [n, n] with rows `stride` apart: some rows per product, each as far
 * as its last row's diagonal.
 */
static mgk_status square(const mgk_gram_device *g, size_t n, const double *c, size_t stride)
{
    enum { STRIP = 512 };
    for (size_t top = 0; top < n; top += STRIP) {
        const size_t bottom = top + STRIP < n ? top + STRIP : n;
        TRY(g->device->op->multiply(g->device, true, false, bottom - top, bottom, n, 1, c + top,
                                    stride, c, stride, 0, g->product + top * n, n));
    }
    return STATUS_OK;
}

mgk_status mgk_gram_device_load(mgk_gram_device *g, size_t n, double *matrix, double least,
                                double *row, mgk_gram_facts *out)
{
    mgk_device *device = g->device;
    double *c;
    g->matrix = matrix;
    TRY(split(g, n, matrix, least, row, &c));
    const size_t order = g->facts.n;
    TRY(square(g, order, c, n));
    TRY(device->op->spectral->bound_square(device, order, n, c, &g->facts.norm));
    *out = g->facts;
    return STATUS_OK;
}

mgk_status mgk_gram_device_count(mgk_gram_device *g, double x, double factor, mgk_inertia *out)
{
    return g->device->op->spectral->shifted_inertia(g->device, g->facts.n, g->product,
                                                    g->facts.deflated ? g->row : NULL, x, factor,
                                                    g->work, &out->positive, &out->growth);
}

static mgk_status solve(mgk_gram_device *g, size_t count, double *rows, size_t distance)
{
    mgk_device *device = g->device;
    const size_t n = g->facts.n, bytes = count * n * sizeof(double);
    for (size_t k = 0; k < count; k++)
        memcpy(g->host + k * n, rows + k * distance, n * sizeof(*rows));
    TRY(device->op->upload(device, g->rows, g->host, bytes));
    TRY(device->op->spectral->solve_factored(device, n, g->work, count, g->rows));
    TRY(device->op->download(device, g->host, g->rows, bytes));
    for (size_t k = 0; k < count; k++)
        memcpy(rows + k * distance, g->host + k * n, n * sizeof(*rows));
    return STATUS_OK;
}

mgk_status mgk_gram_device_solve(mgk_gram_device *g, size_t count, double *rows, size_t distance)
{
    mgk_status status = solve(g, count, rows, distance);
    for (size_t k = 0; k < count && status != STATUS_OK; k++)
        rows[k * distance] = (double)NAN;
    return status;
}

/* out [count, n] = A x, or Aᵀ x, of each row x; arrays of the device. */
static mgk_status images(mgk_gram_device *g, bool transposed, size_t count, const double *rows,
                         double *out)
{
    const size_t n = g->facts.n + g->facts.deflated;
    return g->device->op->multiply(g->device, false, !transposed, count, n, n, 1, rows, n,
                                   g->matrix, n, 0, out, n);
}

static mgk_status apply(mgk_gram_device *g, bool transposed, size_t count, const double *rows,
                        double *out)
{
    mgk_device *device = g->device;
    const size_t bytes = count * (g->facts.n + g->facts.deflated) * sizeof(double);
    TRY(device->op->upload(device, g->rows, rows, bytes));
    TRY(images(g, transposed, count, g->rows, g->images));
    return device->op->download(device, out, g->images, bytes);
}

static mgk_status multiply(mgk_gram_device *g, size_t count, double *rows)
{
    mgk_device *device = g->device;
    const size_t bytes = count * (g->facts.n + g->facts.deflated) * sizeof(double);
    TRY(device->op->upload(device, g->rows, rows, bytes));
    TRY(images(g, false, count, g->rows, g->images));
    TRY(images(g, true, count, g->images, g->rows));
    return device->op->download(device, rows, g->rows, bytes);
}

/* A failure leaves zeros. */
static mgk_status clear(const mgk_gram_device *g, mgk_status status, size_t count, double *rows)
{
    if (status != STATUS_OK)
        memset(rows, 0, count * (g->facts.n + g->facts.deflated) * sizeof(*rows));
    return status;
}

mgk_status mgk_gram_device_apply(mgk_gram_device *g, bool transposed, size_t count,
                                 const double *rows, double *out)
{
    return clear(g, apply(g, transposed, count, rows, out), count, out);
}

mgk_status mgk_gram_device_multiply(mgk_gram_device *g, size_t count, double *rows)
{
    return clear(g, multiply(g, count, rows), count, rows);
}

/* The address of C. */
static const double *rest_of(const mgk_gram_device *g)
{
    const size_t n = g->facts.n + g->facts.deflated;
    return g->matrix + g->facts.deflated * (n + 1);
}

/* Replaces the rows on the device. */
typedef mgk_status row_operator(mgk_device *, const mgk_residual *, size_t, double *);

static mgk_status replace(mgk_gram_device *g, row_operator *op, const mgk_residual *r, size_t count,
                          double *rows)
{
    mgk_residual there = *r;
    there.c = rest_of(g);
    there.stride = g->facts.n + g->facts.deflated;
    there.b = g->facts.deflated ? g->row : NULL;
    there.k = g->work;
    there.k_stride = g->facts.n;
    const size_t bytes = count * g->facts.n * sizeof(double);
    TRY(g->device->op->upload(g->device, g->rows, rows, bytes));
    TRY(op(g->device, &there, count, g->rows));
    return g->device->op->download(g->device, rows, g->rows, bytes);
}

/* MGK_GRAM_ROWS rows at a time. */
static mgk_status replace_all(mgk_gram_device *g, row_operator *op, const mgk_residual *r,
                              size_t count, const double *rows, size_t distance, double *out)
{
    const size_t n = g->facts.n;
    mgk_status status = STATUS_OK;
    for (size_t first = 0; first < count; first += MGK_GRAM_ROWS) {
        const size_t left = count - first, many = left < MGK_GRAM_ROWS ? left : MGK_GRAM_ROWS;
        for (size_t k = 0; k < many; k++)
            memcpy(g->host + k * n, rows + (first + k) * distance, n * sizeof(*rows));
        if (status == STATUS_OK)
            status = replace(g, op, r, many, g->host);
        if (status != STATUS_OK)
            memset(g->host, 0, many * n * sizeof(*out));
        for (size_t k = 0; k < many; k++)
            memcpy(out + (first + k) * distance, g->host + k * n, n * sizeof(*out));
    }
    return status;
}

mgk_status mgk_gram_device_residual(mgk_gram_device *g, const mgk_residual *r, size_t count,
                                    const double *rows, size_t distance, double *out)
{
    return replace_all(g, g->device->op->spectral->residual_images, r, count, rows, distance, out);
}

mgk_status mgk_gram_device_multiply_exactly(mgk_gram_device *g, const mgk_residual *r, size_t count,
                                            const double *rows, size_t distance, double *out)
{
    return replace_all(g, g->device->op->spectral->exact_images, r, count, rows, distance, out);
}

mgk_status mgk_gram_device_hash(mgk_gram_device *g, uint64_t *matrix, uint64_t *pivots)
{
    mgk_device *device = g->device;
    const size_t n = g->facts.n;
    TRY(device->op->spectral->hash_entries(device, n, n, n + g->facts.deflated, rest_of(g),
                                           matrix));
    return device->op->spectral->hash_entries(device, n, 1, n + 1, g->work, pivots);
}
