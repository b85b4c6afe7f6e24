/* SPDX-License-Identifier: MIT */
/*
 * Kinds of kernels/attention/{nystrom,convolved,informer,clustered}.c against their formulas,
 * explicit matrices in double, and the ranks that follow from them.
 */
#include <math.h>
#include <string.h>

#include "heads.h"

/* Settings: of kind_case.c, but for clusters and hashes. */
enum { LANDMARKS = 4, KERNEL = 3, CLUSTERS = 3, HASHES = 8 };

enum { TOKENS = 29 };

static double dot(const double *x, const double *y)
{
    double sum = 0;
    for (int d = 0; d < DIM; d++)
        sum += x[d] * y[d];
    return sum;
}

/* out [rows, cols] = softmax(X Yᵀ / √D). */
static void softmax(int rows, int cols, vectors x, vectors y, matrix out)
{
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = 0; j < cols; j++)
            sum += out[i][j] = exp(dot(x[i], y[j]) / sqrt(DIM));
        for (int j = 0; j < cols; j++)
            out[i][j] /= sum;
    }
}

static void multiply(int rows, int inner, int cols, matrix x, matrix y, matrix out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            out[i][j] = 0;
            for (int k = 0; k < inner; k++)
                out[i][j] += x[i][k] * y[k][j];
        }
}

/* Means of m segments as equal as possible. */
static void segment_means(int n, int m, const vectors x, vectors out)
{
    memset(out, 0, sizeof(vectors));
    for (int s = 0; s < m; s++) {
        const int first = s * n / m, last = (s + 1) * n / m;
        for (int t = first; t < last; t++)
            for (int d = 0; d < DIM; d++)
                out[s][d] += x[t][d] / (last - first);
    }
}

/* z = Newton's sixth iterate towards the pseudo-inverse of k. */
static void newton(int m, matrix k, matrix z)
{
    static const double constants[] = {7, 15, 13};
    double columns = 0, rows = 0;
    for (int i = 0; i < m; i++) {
        double column = 0, row = 0;
        for (int j = 0; j < m; j++) {
            column += fabs(k[j][i]);
            row += fabs(k[i][j]);
        }
        columns = fmax(columns, column);
        rows = fmax(rows, row);
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            z[i][j] = k[j][i] / (columns * rows);
    for (int step = 0; step < 6; step++) {
        matrix kz, inner, next;
        multiply(m, m, m, k, z, kz);
        memset(inner, 0, sizeof inner);
        for (int s = 0; s < 3; s++) { /* inner = c I − K Z inner, first with inner = I */
            multiply(m, m, m, kz, inner, next);
            for (int i = 0; i < m; i++)
                for (int j = 0; j < m; j++)
                    inner[i][j] = (i == j ? constants[s] : 0) - (s == 0 ? kz[i][j] : next[i][j]);
        }
        multiply(m, m, m, z, inner, next);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++)
                z[i][j] = next[i][j] / 4;
    }
}

/* z = (k + I)⁻¹, by Gauss and Jordan: k + I is diagonally dominant. */
static void shifted_inverse(int m, matrix k, matrix z)
{
    matrix a;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            a[i][j] = k[i][j] + (i == j);
            z[i][j] = i == j;
        }
    for (int p = 0; p < m; p++) {
        const double pivot = a[p][p];
        for (int j = 0; j < m; j++) {
            a[p][j] /= pivot;
            z[p][j] /= pivot;
        }
        for (int i = 0; i < m; i++) {
            const double factor = a[i][p];
            for (int j = 0; i != p && j < m; j++) {
                a[i][j] -= factor * a[p][j];
                z[i][j] -= factor * z[p][j];
            }
        }
    }
}

static void through_landmarks(const head *at, void (*invert)(int, matrix, matrix), matrix out)
{
    const int m = at->n < LANDMARKS ? at->n : LANDMARKS;
    vectors few_queries, few_keys, queries, keys;
    matrix left, middle, right, inverse, product;
    memcpy(queries, at->query, sizeof queries);
    memcpy(keys, at->key, sizeof keys);
    segment_means(at->n, m, at->query, few_queries);
    segment_means(at->n, m, at->key, few_keys);
    softmax(at->n, m, queries, few_keys, left);
    softmax(m, m, few_queries, few_keys, middle);
    softmax(m, at->n, few_queries, keys, right);
    invert(m, middle, inverse);
    multiply(at->n, m, m, left, inverse, product);
    multiply(at->n, m, at->n, product, right, out);
}

static void add_band(const head *at, matrix out)
{
    for (int i = 0; i < at->n; i++)
        for (int k = 0; k < KERNEL; k++) {
            const int j = i + k - (KERNEL - 1) / 2;
            if (j >= 0 && j < at->n)
                out[i][j] += head_parameter(at)[at->index * KERNEL + k];
        }
}

static void nystrom(const head *at, matrix out)
{
    through_landmarks(at, newton, out);
    add_band(at, out);
}

static void convolved(const head *at, matrix out)
{
    vectors queries, keys;
    memcpy(queries, at->query, sizeof queries);
    memcpy(keys, at->key, sizeof keys);
    softmax(at->n, at->n, queries, keys, out);
    add_band(at, out);
}

static void csalr(const head *at, matrix out)
{
    through_landmarks(at, shifted_inverse, out);
}

/* A query has its softmax if fewer than u others are further from uniform. */
static void informer(const head *at, matrix out)
{
    double measure[MOST];
    vectors queries, keys;
    memcpy(queries, at->query, sizeof queries);
    memcpy(keys, at->key, sizeof keys);
    softmax(at->n, at->n, queries, keys, out);
    for (int i = 0; i < at->n; i++) {
        double largest = -INFINITY, sum = 0;
        for (int j = 0; j < at->n; j++) {
            largest = fmax(largest, dot(at->query[i], at->key[j]));
            sum += dot(at->query[i], at->key[j]);
        }
        measure[i] = largest - sum / at->n;
    }
    for (int i = 0; i < at->n; i++) {
        int above = 0;
        for (int j = 0; j < at->n; j++)
            above += measure[j] > measure[i];
        for (int j = 0; above >= LANDMARKS && j < at->n; j++)
            out[i][j] = 1.0 / at->n;
    }
}

static bool sign_of(const head *at, const double *x, int bit)
{
    double sum = 0;
    for (int d = 0; d < DIM; d++)
        sum += x[d] * head_parameter(at)[d * HASHES + bit];
    return sum > 0;
}

static int distance(const bool *x, const bool *y)
{
    int different = 0;
    for (int bit = 0; bit < HASHES; bit++)
        different += x[bit] != y[bit];
    return different;
}

/* Lloyd's algorithm in Hamming space, from queries at equal distances. */
static void choose_clusters(const head *at, int clusters[MOST])
{
    bool codes[MOST][HASHES], centres[CLUSTERS][HASHES];
    for (int bit = 0; bit < HASHES; bit++) {
        for (int t = 0; t < at->n; t++)
            codes[t][bit] = sign_of(at, at->query[t], bit);
        for (int c = 0; c < CLUSTERS; c++)
            centres[c][bit] = codes[c * at->n / CLUSTERS][bit];
    }
    for (int round = 0; round <= 10; round++) {
        int votes[CLUSTERS][HASHES] = {{0}}, sizes[CLUSTERS] = {0};
        for (int t = 0; t < at->n; t++) {
            clusters[t] = 0;
            for (int c = 1; c < CLUSTERS; c++)
                if (distance(codes[t], centres[c]) < distance(codes[t], centres[clusters[t]]))
                    clusters[t] = c;
            sizes[clusters[t]]++;
            for (int bit = 0; bit < HASHES; bit++)
                votes[clusters[t]][bit] += codes[t][bit] ? 1 : -1;
        }
        for (int c = 0; c < CLUSTERS; c++)
            for (int bit = 0; sizes[c] > 0 && bit < HASHES; bit++)
                centres[c][bit] = votes[c][bit] > 0;
    }
}

static void clustered(const head *at, matrix out)
{
    int clusters[MOST];
    vectors means, keys;
    choose_clusters(at, clusters);
    memcpy(keys, at->key, sizeof keys);
    for (int i = 0; i < at->n; i++) {
        int size = 0;
        memset(means[i], 0, sizeof means[i]);
        for (int j = 0; j < at->n; j++)
            size += clusters[j] == clusters[i];
        for (int j = 0; j < at->n; j++)
            for (int d = 0; clusters[j] == clusters[i] && d < DIM; d++)
                means[i][d] += at->query[j][d] / size;
    }
    softmax(at->n, at->n, means, keys, out);
}

static const struct formula {
    const char *kind;
    head_formula *fill;
    int rank; /* of the matrices of full samples, without Nyström's band; 0: any */
} formulas[] = {
    {"nystrom", nystrom, LANDMARKS},    {"convolved", convolved, 0},
    {"csalr", csalr, LANDMARKS},        {"informer", informer, LANDMARKS + 1},
    {"clustered", clustered, CLUSTERS},
};

static kind_case make_case(workspace *space, const char *kind)
{
    const kind_shape shape = {.kind = mgk_attention_find(kind),
                              .heads = HEADS,
                              .tokens = TOKENS,
                              .dim = DIM,
                              .shortened = TOKENS - 2,
                              .settings = {.clusters = CLUSTERS, .hashes = HASHES}};
    return kind_case_make(space, shape);
}

static void matrices_are_those_of_formulas(void **state)
{
    workspace *space = *state;
    for (size_t f = 0; f < sizeof formulas / sizeof *formulas; f++) {
        const kind_case problem = make_case(space, formulas[f].kind);
        heads_match(space, &problem, formulas[f].fill);
        workspace_release(space);
    }
}

static void ranks_are_bounded(void **state)
{
    workspace *space = *state;
    for (size_t f = 0;
         space->device->precision == MGK_DOUBLE && f < sizeof formulas / sizeof *formulas; f++) {
        kind_case problem = make_case(space, formulas[f].kind);
        if (formulas[f].fill == nystrom)
            memset(problem.layers[0].input[KIND_PARAMETERS], 0,
                   problem.layers[0].count[KIND_PARAMETERS] * sizeof(double));
        double *found = kind_case_matrices(space, &problem);
        for (int h = 0; h < HEADS; h++) {
            const int rank = kind_matrix_rank(TOKENS, found + h * TOKENS * TOKENS);
            if (formulas[f].rank > 0 && rank != formulas[f].rank)
                fail_msg("%s: rank %d, expected %d", formulas[f].kind, rank, formulas[f].rank);
        }
        workspace_release(space);
    }
}

/* Informer with all queries chosen is softmax, also where that is far below the 1/n of others. */
static void small_entries_stay(void **state)
{
    workspace *space = *state;
    kind_shape shape = {.kind = mgk_attention_find("informer"),
                        .heads = HEADS,
                        .tokens = TOKENS,
                        .dim = DIM,
                        .shortened = 5,
                        .settings = {.landmarks = TOKENS}};
    kind_case problem = kind_case_make(space, shape);
    shape.kind = mgk_attention_find("softmax");
    kind_case other = kind_case_make(space, shape);
    for (int i = 0; i < KIND_EXTRA; i++)
        for (size_t k = 0; k < problem.layers[0].count[i]; k++)
            other.layers[0].input[i][k] = problem.layers[0].input[i][k] *= i == KIND_QUERY ? 10 : 1;
    const double *found = kind_case_matrices(space, &problem);
    const double *expected = kind_case_matrices(space, &other);
    double least = 1;
    for (size_t k = 0; k < problem.matrices; k++) {
        assert_close(found[k], expected[k], 1e-30, 1e3 * space->tolerance);
        least = expected[k] > 0 ? fmin(least, expected[k]) : least;
    }
    assert_true(least < 1e-12);
    workspace_release(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_are_those_of_formulas),
        cmocka_unit_test(ranks_are_bounded),
        cmocka_unit_test(small_entries_stay),
    };
    return kind_run_tests(sizeof tests / sizeof *tests, tests);
}
