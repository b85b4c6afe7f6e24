/* SPDX-License-Identifier: MIT */
#include "analysis/families.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/matrices.h"
#include "base/random.h"

/* Random streams of one seed. */
enum { QUERIES = 10, KEYS, CHOICES };

static size_t choose(uint64_t seed, uint64_t index, size_t count)
{
    return (size_t)(mgk_random_uniform(seed, CHOICES, index) * (double)count) % count;
}

/* Vectors of normal numbers, [n, dim]; the caller frees them. */
static double *vectors(uint64_t seed, uint64_t stream, size_t n, size_t dim)
{
    double *x = calloc(n * dim, sizeof(*x));
    for (size_t k = 0; k < n * dim; k++)
        x[k] = mgk_random_normal(seed, stream, k);
    return x;
}

/* Softmax of scale q·k for tokens of `dim` dimensions; keys from `visible` on are masked. */
static void attend(uint64_t seed, size_t n, size_t dim, double scale, int causal, size_t visible,
                   double *a)
{
    double *q = vectors(seed, QUERIES, n, dim), *k = vectors(seed, KEYS, n, dim);
    for (size_t i = 0; i < n; i++) {
        size_t width = causal ? i + 1 : visible;
        double largest = -INFINITY, sum = 0, *row = a + i * n;
        for (size_t j = 0; j < width; j++) {
            row[j] = 0;
            for (size_t d = 0; d < dim; d++)
                row[j] += scale * q[i * dim + d] * k[j * dim + d];
            largest = fmax(largest, row[j]);
        }
        for (size_t j = 0; j < width; j++)
            sum += row[j] = exp(row[j] - largest);
        for (size_t j = 0; j < n; j++)
            row[j] = j < width ? row[j] / sum : 0;
    }
    free(q);
    free(k);
}

static void make_full_rank(uint64_t seed, size_t n, double *a)
{
    test_matrix_softmax(seed, n, 2, 0, a);
}

static void make_near_uniform(uint64_t seed, size_t n, double *a)
{
    test_matrix_softmax(seed, n, 1e-5 * pow(10, (double)choose(seed, 0, 4)), 0, a);
}

static void make_low_dimensional(uint64_t seed, size_t n, double *a)
{
    attend(seed, n, 1 + choose(seed, 0, 6), 0.2 + 0.2 * (double)choose(seed, 1, 5), 0, n, a);
}

static void make_causal(uint64_t seed, size_t n, double *a)
{
    attend(seed, n, 2 + choose(seed, 0, 8), 0.5, 1, n, a);
}

static void make_peaky(uint64_t seed, size_t n, double *a)
{
    attend(seed, n, 8, 3 + (double)choose(seed, 0, 5), choose(seed, 1, 2) > 0, n, a);
}

/* A few keys receive nearly all attention of every query. */
static void make_sinks(uint64_t seed, size_t n, double *a)
{
    size_t sinks = 1 + choose(seed, 0, 3);
    double rest = pow(10, -1 - (double)choose(seed, 1, 4));
    attend(seed, n, 6, 0.5, choose(seed, 2, 2) > 0, n, a);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = rest * a[i * n + j] + (j < sinks ? (1 - rest) / (double)sinks : 0);
}

/* Every token occurs several times. */
static void make_duplicates(uint64_t seed, size_t n, double *a)
{
    size_t different = n / 2 + 1;
    attend(seed, n, 12, 0.5, 0, n, a);
    for (size_t i = different; i < n; i++)
        memcpy(a + i * n, a + choose(seed, i, different) * n, n * sizeof(*a));
}

static void make_padded(uint64_t seed, size_t n, double *a)
{
    attend(seed, n, 12, 0.5, 0, n / 2 + choose(seed, 0, n / 2), a);
}

static void make_one_hot(uint64_t seed, size_t n, double *a)
{
    memset(a, 0, n * n * sizeof(*a));
    for (size_t i = 0; i < n; i++)
        a[i * n + choose(seed, i, n)] = 1;
}

static void make_permutation(uint64_t seed, size_t n, double *a)
{
    memset(a, 0, n * n * sizeof(*a));
    for (size_t i = 0; i < n; i++)
        a[i * n + (i + choose(seed, 0, n)) % n] = 1;
}

static void make_uniform(uint64_t seed, size_t n, double *a)
{
    int causal = choose(seed, 0, 2) > 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = causal ? (j <= i ? 1 / (double)(i + 1) : 0) : 1 / (double)n;
}

/* Near the identity or its negative: other entries may be negative. */
static void make_identity(uint64_t seed, size_t n, double *a)
{
    double off = choose(seed, 0, 2) > 0 ? 1e-7 : 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = (i == j ? 1 : 0) + off * mgk_random_normal(seed, KEYS, i * n + j);
}

/* Singular values from 1 to 1e-9, equally many per decade. */
static void make_graded(uint64_t seed, size_t n, double *a)
{
    double sigma[4096];
    for (size_t i = 0; i < n && i < 4096; i++)
        sigma[i] = pow(10, -9 * (double)i / (double)n);
    test_matrix_with_spectrum(seed, n, sigma, a);
}

const test_family test_families[] = {
    {"full rank", make_full_rank},
    {"near uniform", make_near_uniform},
    {"low-dimensional", make_low_dimensional},
    {"causal", make_causal},
    {"peaky", make_peaky},
    {"sinks", make_sinks},
    {"duplicated tokens", make_duplicates},
    {"padded", make_padded},
    {"one-hot", make_one_hot},
    {"permutation", make_permutation},
    {"uniform", make_uniform},
    {"identity", make_identity},
    {"graded", make_graded},
};

const size_t test_family_count = sizeof(test_families) / sizeof(*test_families);
