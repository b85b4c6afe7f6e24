/* SPDX-License-Identifier: MIT */
#include "analysis/matrices.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

/* The Q of a normal matrix: uniform over the orthogonal group up to signs. */
static void random_orthogonal(uint64_t seed, uint64_t stream, size_t n, double *q)
{
    double *tau = calloc(n, sizeof(double));
    int order = (int)n;
    for (size_t i = 0; i < n * n; i++)
        q[i] = mgk_random_normal(seed, stream, i);
    LAPACKE_dgeqrf(LAPACK_ROW_MAJOR, order, order, q, order, tau);
    LAPACKE_dorgqr(LAPACK_ROW_MAJOR, order, order, order, q, order, tau);
    free(tau);
}

void test_matrix_with_spectrum(uint64_t seed, size_t n, const double *sigma, double *a)
{
    double *u = calloc(n * n, sizeof(double)), *v = calloc(n * n, sizeof(double));
    int order = (int)n;
    random_orthogonal(seed, 0, n, u);
    random_orthogonal(seed, 1, n, v);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            u[i * n + j] *= sigma[j];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, order, order, order, 1, u, order, v, order,
                0, a, order);
    free(u);
    free(v);
}

void test_matrix_softmax(uint64_t seed, size_t n, double scale, int causal, double *a)
{
    for (size_t i = 0; i < n; i++) {
        size_t width = causal ? i + 1 : n;
        double sum = 0;
        for (size_t j = 0; j < n; j++) {
            double logit = scale * mgk_random_normal(seed, 2, i * n + j);
            a[i * n + j] = j < width ? exp(logit) : 0;
            sum += a[i * n + j];
        }
        for (size_t j = 0; j < n; j++)
            a[i * n + j] /= sum;
    }
}

void test_rectangle_softmax(uint64_t seed, size_t queries, size_t keys, double scale, double *a)
{
    for (size_t i = 0; i < queries; i++) {
        double sum = 0;
        for (size_t j = 0; j < keys; j++)
            sum += a[i * keys + j] = exp(scale * mgk_random_normal(seed, 2, i * keys + j));
        for (size_t j = 0; j < keys; j++)
            a[i * keys + j] /= sum;
    }
}

void test_rectangle_spectrum(size_t rows, size_t columns, const double *a, double *sigma)
{
    double *copy = calloc(rows * columns, sizeof(double));
    memcpy(copy, a, rows * columns * sizeof(double));
    LAPACKE_dgesdd(LAPACK_ROW_MAJOR, 'N', (int)rows, (int)columns, copy, (int)columns, sigma, NULL,
                   (int)rows, NULL, (int)columns);
    free(copy);
}

void test_reference_spectrum(size_t n, const double *a, double *sigma)
{
    test_rectangle_spectrum(n, n, a, sigma);
}
