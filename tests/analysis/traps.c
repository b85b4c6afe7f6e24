/* SPDX-License-Identifier: MIT */
#include "analysis/traps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum { DRAWS = 20, ROWS, COLUMNS }; /* random streams of one seed */

/* Fills a matrix with blocks along its diagonal. */
typedef struct builder {
    mgk_random random;
    size_t n, at;
    size_t rank; /* of the blocks so far */
    double tau, *a;
} builder;

static builder begin(uint64_t seed, size_t n, double tau, double *a)
{
    memset(a, 0, n * n * sizeof(*a));
    return (builder){.random = {.seed = seed, .stream = DRAWS}, .n = n, .tau = tau, .a = a};
}

static double uniform(builder *b, double low, double high)
{
    return low + (high - low) * mgk_random_next_uniform(&b->random);
}

static size_t below(builder *b, size_t count)
{
    return (size_t)mgk_random_next_below(&b->random, count);
}

static double either(builder *b, double x)
{
    return below(b, 2) ? x : -x;
}

static void note(builder *b, long double sigma)
{
    b->rank += sigma >= (long double)b->tau;
}

/* A value at a distance of 10^-k from the threshold, low <= k <= high, on either side. */
static double beside(builder *b, double low, double high)
{
    return b->tau * (1 + either(b, pow(10, -uniform(b, low, high))));
}

static void add_value(builder *b, double sigma)
{
    b->a[b->at * (b->n + 1)] = sigma;
    b->at++;
    note(b, fabsl(sigma));
}

/* Adds [[x, y], [y, x]] with the singular values |x ± y|, approximately `first` and `second`. */
static void add_pair(builder *b, double first, double second)
{
    const double x = (first + second) / 2, y = (first - second) / 2;
    double *corner = b->a + b->at * (b->n + 1);
    corner[0] = corner[b->n + 1] = x;
    corner[1] = corner[b->n] = y;
    b->at += 2;
    note(b, fabsl((long double)x + y));
    note(b, fabsl((long double)x - y));
}

/* Replaces wanted[s] by Σ_t ± wanted[t]; the bits common to s and t determine the sign. */
static void transform(size_t count, long double *values)
{
    for (size_t bit = 1; bit < count; bit *= 2)
        for (size_t s = 0; s < count; s++)
            if (!(s & bit)) {
                long double x = values[s], y = values[s | bit];
                values[s] = x + y;
                values[s | bit] = x - y;
            }
}

/*
 * Adds a block of `repeats` × `count` rows and columns with the entries v[(i ^ j) % count], count a
 * power of two up to 64. Its singular values are |Σ_t ± v[t]| repeats, approximately `wanted`, and
 * zeros. The products of its columns take few different values, and each repeats with the same
 * rounding error. An extra ulp on the diagonal makes the rows differ.
 */
static void add_repeated(builder *b, size_t count, size_t repeats, const double *wanted)
{
    long double values[64];
    double v[64];
    const size_t size = repeats * count;
    for (size_t s = 0; s < count; s++)
        values[s] = wanted[s];
    transform(count, values);
    for (size_t s = 0; s < count; s++)
        values[s] = v[s] = (double)(values[s] / (long double)size);
    transform(count, values);
    for (size_t s = 0; s < count; s++)
        note(b, fabsl(values[s]) * (long double)repeats);
    double *corner = b->a + b->at * (b->n + 1);
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++)
            corner[i * b->n + j] = i == j ? nextafter(v[0], 1) : v[(i ^ j) % count];
    b->at += size;
}

/* Adds rows that are equal up to t: [[1, 0], [1, t I]] of `size` rows, times `scale`. The singular
 * values are t, size - 2 times, and the roots of σ⁴ - (size + t²) σ² + t². */
static void add_copies(builder *b, size_t size, double scale, double t)
{
    const long double square = (long double)t * t, half = ((long double)size + square) / 2;
    const long double largest = sqrtl(half + sqrtl(half * half - square));
    double *corner = b->a + b->at * (b->n + 1);
    for (size_t i = 0; i < size; i++) {
        corner[i * b->n] = scale;
        if (i > 0)
            corner[i * b->n + i] = scale * t;
    }
    b->at += size;
    for (size_t i = 2; i < size; i++)
        note(b, (long double)scale * t);
    note(b, scale * largest);
    note(b, scale * (t / largest));
}

static void permute(mgk_random *random, size_t n, size_t *order)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i-- > 1;) {
        size_t j = (size_t)mgk_random_next_below(random, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* Fills the rest with singular values far from tau; scatters every other matrix. */
static size_t finish(builder *b)
{
    const size_t n = b->n;
    while (b->at < n)
        add_value(b, b->tau * pow(10, below(b, 3) ? uniform(b, 1, 6) : uniform(b, -3, -1)));
    if (below(b, 2))
        return b->rank;
    double *copy = calloc(n * n, sizeof(double));
    size_t *rows = calloc(n, sizeof(*rows)), *columns = calloc(n, sizeof(*columns));
    memcpy(copy, b->a, n * n * sizeof(double));
    permute(&(mgk_random){.seed = b->random.seed, .stream = ROWS}, n, rows);
    permute(&(mgk_random){.seed = b->random.seed, .stream = COLUMNS}, n, columns);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            b->a[rows[i] * n + columns[j]] = copy[i * n + j];
    free(copy);
    free(rows);
    free(columns);
    return b->rank;
}

/* Values near tau with little rounding, and a block whose roundings have one sign. */
static size_t make_decoys(uint64_t seed, size_t n, double tau, double *a)
{
    builder b = begin(seed, n, tau, a);
    const size_t decoys = below(&b, 16);
    for (size_t i = 0; i < decoys; i++)
        add_value(&b, beside(&b, 4.9, 5.1));
    add_repeated(&b, 2, (n - decoys - below(&b, 24)) / 2,
                 (double[]){uniform(&b, 0.5, 2), beside(&b, 3.1, 3.5)});
    return finish(&b);
}

/* Several such blocks, of any size and distance from tau. */
static size_t make_repeated(uint64_t seed, size_t n, double tau, double *a)
{
    builder b = begin(seed, n, tau, a);
    const size_t count = (size_t)2 << below(&b, 5);
    double wanted[64];
    for (size_t blocks = 1 + below(&b, 3); blocks > 0; blocks--) {
        const size_t repeats = (n - b.at) / blocks / count;
        wanted[0] = uniform(&b, 0.5, 2);
        for (size_t s = 1; s < count; s++)
            wanted[s] = below(&b, 4) ? tau * pow(10, uniform(&b, 0, 6))
                                     : beside(&b, 1, below(&b, 2) ? 4 : 7);
        if (repeats > 0)
            add_repeated(&b, count, repeats, wanted);
    }
    return finish(&b);
}

/* One direction with nearly all of the matrix's norm, and blocks whose roundings have one sign. */
static size_t make_sinks(uint64_t seed, size_t n, double tau, double *a)
{
    builder b = begin(seed, n, tau, a);
    const size_t count = (size_t)2 << below(&b, 3);
    double wanted[64];
    wanted[0] = pow(10, uniform(&b, 0, 1.6));
    for (size_t s = 1; s < count; s++)
        wanted[s] = s % 2 ? beside(&b, 1, 5) : pow(10, -uniform(&b, 1, 5));
    add_repeated(&b, count, n / count - below(&b, 2), wanted);
    while (b.at < n)
        add_value(&b, beside(&b, 1, 6));
    return finish(&b);
}

/* Clusters at tau of every width, some with too many values to resolve. */
static size_t make_clusters(uint64_t seed, size_t n, double tau, double *a)
{
    builder b = begin(seed, n, tau, a);
    const size_t many = below(&b, 40);
    const double scale = uniform(&b, 1, 8);
    for (size_t i = 0; i < many; i++)
        add_pair(&b, i % 3 ? beside(&b, scale, scale + 1) : pow(10, -uniform(&b, 0, 4)),
                 beside(&b, scale, scale + 1));
    if (below(&b, 2))
        add_repeated(&b, 2, (n - b.at) / 3, (double[]){1, beside(&b, scale, scale + 1)});
    return finish(&b);
}

/* Blocks with one large singular value and one near tau, at every scale. */
static size_t make_graded(uint64_t seed, size_t n, double tau, double *a)
{
    builder b = begin(seed, n, tau, a);
    const double farthest = uniform(&b, 2, 8);
    while (b.at + 2 <= n)
        add_pair(&b, pow(10, -6 * (double)b.at / (double)n),
                 below(&b, 32) ? tau * pow(10, uniform(&b, -2, 5)) : beside(&b, 1, farthest));
    return finish(&b);
}

static size_t make_copies(uint64_t seed, size_t n, double tau, double *a)
{
    builder b = begin(seed, n, tau, a);
    while (b.at + 64 < n) {
        const double scale = pow(10, -uniform(&b, 0, 3));
        const size_t size = 2 + below(&b, 60);
        const double root = below(&b, 3) ? 1 : sqrt((double)size);
        const double far = pow(10, uniform(&b, 1, 5));
        add_copies(&b, size, scale,
                   root / scale * (below(&b, 12) ? far * tau : beside(&b, 1.5, 6)));
    }
    return finish(&b);
}

const test_trap test_traps[] = {
    {"decoys", make_decoys},     {"repeated entries", make_repeated}, {"sinks", make_sinks},
    {"clusters", make_clusters}, {"graded pairs", make_graded},       {"near copies", make_copies},
};

const size_t test_trap_count = sizeof(test_traps) / sizeof(*test_traps);
