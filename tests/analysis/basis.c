/* SPDX-License-Identifier: MIT */
/* Bases of spans, and how far random ones overlap. */
#include "analysis/measures/basis.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "base/random.h"
#include "kernels/blas.h"
#include "test.h"

enum { COUNT = 12, WIDTH = 30 };

static void fill(uint64_t seed, size_t numbers, double *out)
{
    for (size_t k = 0; k < numbers; k++)
        out[k] = mgk_random_normal(seed, 1, k);
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (size_t c = 0; c < WIDTH; c++)
        sum += a[c] * b[c];
    return sum;
}

/* The basis is orthonormal, and leaves nothing of the vectors. */
static void check_basis(const double *vectors, const double *basis, size_t rank)
{
    for (size_t i = 0; i < rank; i++)
        for (size_t j = 0; j <= i; j++)
            assert_close(dot(basis + i * WIDTH, basis + j * WIDTH), i == j, 1e-14, 0);
    for (size_t v = 0; v < COUNT; v++) {
        double rest[WIDTH];
        memcpy(rest, vectors + v * WIDTH, sizeof(rest));
        for (size_t i = 0; i < rank; i++) {
            const double length = dot(basis + i * WIDTH, vectors + v * WIDTH);
            for (size_t c = 0; c < WIDTH; c++)
                rest[c] -= length * basis[i * WIDTH + c];
        }
        for (size_t c = 0; c < WIDTH; c++)
            assert_close(rest[c], 0, 1e-12, 0);
    }
}

static void bases_span_what_the_vectors_do(void **state)
{
    (void)state;
    static double vectors[COUNT * WIDTH], basis[COUNT * WIDTH];
    size_t rank;
    fill(1, COUNT * WIDTH, vectors);
    memcpy(basis, vectors, sizeof(basis));
    assert_ok(mgk_basis_make(COUNT, WIDTH, basis, &rank));
    assert_int_equal(rank, COUNT);
    check_basis(vectors, basis, rank);
    /* Vectors that are sums of the first three, of very different lengths, and zeros. */
    for (size_t c = 0; c < WIDTH; c++) {
        vectors[c] *= 1e-3;
        for (size_t v = 3; v < COUNT; v++)
            vectors[v * WIDTH + c] =
                v == 5 ? 0 : vectors[c] - (double)v * vectors[WIDTH + c] + vectors[2 * WIDTH + c];
    }
    memcpy(basis, vectors, sizeof(basis));
    assert_ok(mgk_basis_make(COUNT, WIDTH, basis, &rank));
    assert_int_equal(rank, 3);
    check_basis(vectors, basis, rank);
}

static void the_whole_space_and_nothing(void **state)
{
    (void)state;
    double vectors[10] = {1, 0, 3, 4, 5, 6, -1, 2, 0, 1}, zeros[6] = {0};
    size_t rank;
    assert_ok(mgk_basis_make(5, 2, vectors, &rank)); /* more vectors than numbers */
    assert_int_equal(rank, 2);
    assert_close(vectors[0] * vectors[2] + vectors[1] * vectors[3], 0, 1e-15, 0);
    assert_ok(mgk_basis_make(2, 3, zeros, &rank));
    assert_int_equal(rank, 0);
}

/* ---- overlaps -------------------------------------------------------------------------------- */

static mgk_basis random_basis(uint64_t seed, size_t count, double *vectors)
{
    mgk_basis basis = {.rows = vectors, .width = WIDTH};
    fill(seed, count * WIDTH, vectors);
    assert_ok(mgk_basis_make(count, WIDTH, vectors, &basis.rank));
    return basis;
}

/* Random subspaces of d and e of C dimensions share max(d, e) / C of the smaller one. */
static void random_subspaces_overlap_by_their_size(void **state)
{
    (void)state;
    enum { PAIRS = 2000 };
    static const size_t dims[][2] = {{6, 6}, {3, 12}, {1, 1}};
    double a[COUNT * WIDTH], b[COUNT * WIDTH], scratch[COUNT * COUNT];
    for (size_t k = 0; k < 3; k++) {
        const double expected = (double)(dims[k][0] > dims[k][1] ? dims[k][0] : dims[k][1]) / WIDTH;
        double sum = 0;
        for (uint64_t i = 0; i < PAIRS; i++) {
            const mgk_basis x = random_basis(2 * i + 1, dims[k][0], a),
                            y = random_basis(2 * i + 2, dims[k][1], b);
            const double value = mgk_measure_projection_query.bases(&x, &y, scratch);
            assert_true(value >= 0 && value <= 1);
            assert_close(mgk_measure_projection_query.bases(&x, &x, scratch), 1, 1e-14, 0);
            assert_close(mgk_measure_projection_query.bases(&y, &x, scratch), value, 1e-14, 0);
            sum += value;
        }
        /* The standard error is below 0.0011, that of squares of one of C coordinates. */
        assert_close(sum / PAIRS, expected, 0.004, 0);
    }
}

/* A subspace of another one overlaps with it wholly, an orthogonal one not at all. */
static void parts_overlap_wholly(void **state)
{
    (void)state;
    double vectors[COUNT * WIDTH], scratch[COUNT * COUNT];
    const mgk_basis whole = random_basis(3, COUNT, vectors),
                    part = {.rows = vectors, .rank = 4, .width = WIDTH},
                    rest = {.rows = vectors + 4 * WIDTH, .rank = COUNT - 4, .width = WIDTH},
                    none = {.rows = vectors, .rank = 0, .width = WIDTH};
    assert_close(mgk_measure_projection_key.bases(&whole, &part, scratch), 1, 1e-14, 0);
    assert_close(mgk_measure_projection_key.bases(&part, &rest, scratch), 0, 1e-14, 0);
    assert_true(isnan(mgk_measure_projection_key.bases(&part, &none, scratch)));
}

static int open_blas(void **state)
{
    (void)state;
    assert_ok(mgk_blas_open());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bases_span_what_the_vectors_do),
        cmocka_unit_test(the_whole_space_and_nothing),
        cmocka_unit_test(random_subspaces_overlap_by_their_size),
        cmocka_unit_test(parts_overlap_wholly),
    };
    return cmocka_run_group_tests(tests, open_blas, NULL);
}
