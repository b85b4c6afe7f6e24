/* SPDX-License-Identifier: MIT */
#include "analysis/formulas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/matrices.h"

typedef long double real;

/* ---- rows ------------------------------------------------------------------------------------ */

static const double *matrix_of(const test_sample *s, size_t layer, size_t head)
{
    return s->a + (layer * s->heads + head) * s->n * s->columns;
}

static const double *row_of(const test_sample *s, size_t layer, size_t head, size_t i)
{
    return matrix_of(s, layer, head) + i * s->columns;
}

static size_t seen(const test_sample *s, size_t i)
{
    return s->causal ? i + 1 : s->columns;
}

static real sum_of(size_t count, const double *x)
{
    real sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += (real)x[j];
    return sum;
}

static bool is_zero(const test_sample *s, size_t layer, size_t head, size_t i)
{
    const double *row = row_of(s, layer, head, i);
    for (size_t j = 0; j < s->columns; j++)
        if (row[j] != 0)
            return false;
    return true;
}

static bool has_negative(const test_sample *s, size_t layer, size_t head)
{
    const double *a = matrix_of(s, layer, head);
    for (size_t k = 0; k < s->n * s->columns; k++)
        if (a[k] < 0)
            return true;
    return false;
}

/* A value of row i, of which the query sees v keys; NaN: none. */
typedef real row_value(const double *row, size_t i, size_t v);

/* The mean over rows that have a value and are not all zeros. */
static real mean_row(const test_sample *s, size_t layer, size_t head, row_value *value)
{
    real sum = 0, count = 0;
    for (size_t i = 0; i < s->n; i++) {
        const real x = value(row_of(s, layer, head, i), i, seen(s, i));
        if (isnan(x) || is_zero(s, layer, head, i))
            continue;
        sum += x;
        count++;
    }
    return count > 0 ? sum / count : (real)NAN;
}

/* The same of measures of distributions. */
static real mean_distribution(const test_sample *s, size_t layer, size_t head, row_value *value)
{
    return has_negative(s, layer, head) ? (real)NAN : mean_row(s, layer, head, value);
}

static real plogp(real p)
{
    return p > 0 ? p * logl(p) : 0;
}

static real entropy_of_row(const double *row, size_t i, size_t v)
{
    real sum = 0;
    (void)i;
    for (size_t j = 0; j < v; j++)
        sum -= plogp((real)row[j]);
    return sum;
}

static real normalized_of_row(const double *row, size_t i, size_t v)
{
    return v > 1 ? entropy_of_row(row, i, v) / logl((real)v) : (real)NAN;
}

static real largest_of_row(const double *row, size_t i, size_t v)
{
    real largest = (real)row[0];
    (void)i;
    for (size_t j = 1; j < v; j++)
        largest = fmaxl(largest, (real)row[j]);
    return largest;
}

static real distance_of_row(const double *row, size_t i, size_t v)
{
    real sum = 0;
    for (size_t j = 0; j < v; j++)
        sum += (real)row[j] * fabsl((real)i - (real)j);
    return sum;
}

static real diagonal_of_row(const double *row, size_t i, size_t v)
{
    (void)v;
    return (real)row[i];
}

static real previous_of_row(const double *row, size_t i, size_t v)
{
    (void)v;
    return i > 0 ? (real)row[i - 1] : (real)NAN;
}

static real next_of_row(const double *row, size_t i, size_t v)
{
    return i + 1 < v ? (real)row[i + 1] : (real)NAN;
}

static real first_of_row(const double *row, size_t i, size_t v)
{
    (void)i;
    (void)v;
    return (real)row[0];
}

static real gini_of_row(const double *row, size_t i, size_t v)
{
    real differences = 0;
    (void)i;
    for (size_t j = 0; j < v; j++)
        for (size_t k = 0; k < v; k++)
            differences += fabsl((real)row[j] - (real)row[k]);
    return differences / (2 * (real)v * sum_of(v, row));
}

static real top_8_of_row(const double *row, size_t i, size_t v)
{
    real sum = 0;
    (void)i;
    for (size_t j = 0; j < v; j++) {
        size_t above = 0;
        for (size_t k = 0; k < v; k++)
            above += row[k] > row[j] || (row[k] == row[j] && k < j);
        sum += above < 8 ? (real)row[j] : 0;
    }
    return sum;
}

#define MEAN_OF_ROWS(name, mean)                                      \
    static real name(const test_sample *s, size_t layer, size_t head) \
    {                                                                 \
        return mean(s, layer, head, name##_of_row);                   \
    }
MEAN_OF_ROWS(entropy, mean_distribution)
MEAN_OF_ROWS(normalized, mean_distribution)
MEAN_OF_ROWS(gini, mean_distribution)
MEAN_OF_ROWS(top_8, mean_distribution)
MEAN_OF_ROWS(largest, mean_distribution)
MEAN_OF_ROWS(distance, mean_row)
MEAN_OF_ROWS(diagonal, mean_row)
MEAN_OF_ROWS(previous, mean_row)
MEAN_OF_ROWS(next, mean_row)
MEAN_OF_ROWS(first, mean_row)

/* ---- matrices -------------------------------------------------------------------------------- */

static real sink(const test_sample *s, size_t layer, size_t head)
{
    real largest = (real)NAN;
    for (size_t k = 0; k < s->n; k++) {
        real sum = 0, count = 0;
        for (size_t i = k; i < s->n; i++)
            if (!is_zero(s, layer, head, i)) {
                sum += (real)row_of(s, layer, head, i)[k];
                count++;
            }
        if (count > 0)
            largest = fmaxl(largest, sum / count);
    }
    return largest;
}

/* The share of a part of all attention. */
static real share(const test_sample *s, size_t layer, size_t head, real part)
{
    const real all = sum_of(s->n * s->n, matrix_of(s, layer, head));
    return all > 0 && !has_negative(s, layer, head) ? part / all : (real)NAN;
}

/* Sum of A∘D / sum of A, where D marks the places `offset` after earlier places of the token. */
static real share_of_repeats(const test_sample *s, size_t layer, size_t head, size_t offset)
{
    const double *a = matrix_of(s, layer, head);
    real sum = 0;
    bool repeats = false;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < i; j++)
            if (s->tokens[i] == s->tokens[j] && s->tokens[i] >= 0) {
                sum += (real)a[i * s->n + j + offset];
                repeats = true;
            }
    return repeats ? share(s, layer, head, sum) : (real)NAN;
}

static real duplicate_token(const test_sample *s, size_t layer, size_t head)
{
    return share_of_repeats(s, layer, head, 0);
}

static real induction(const test_sample *s, size_t layer, size_t head)
{
    return share_of_repeats(s, layer, head, 1);
}

static real previous_token(const test_sample *s, size_t layer, size_t head)
{
    const double *a = matrix_of(s, layer, head);
    real sum = 0;
    for (size_t i = 1; i < s->n; i++)
        sum += (real)a[i * s->n + i - 1];
    return s->n > 1 ? share(s, layer, head, sum) : (real)NAN;
}

/* Rows of zeros are left out of A. */
static real high_frequency(const test_sample *s, size_t layer, size_t head)
{
    real high = 0, all = 0, rows = 0;
    for (size_t i = 0; i < s->n; i++)
        rows += !is_zero(s, layer, head, i);
    for (size_t j = 0; j < s->columns; j++) {
        real mean = 0;
        for (size_t i = 0; i < s->n; i++)
            mean += (real)row_of(s, layer, head, i)[j] / rows;
        for (size_t i = 0; i < s->n; i++) {
            const real x = (real)row_of(s, layer, head, i)[j];
            high += is_zero(s, layer, head, i) ? 0 : (x - mean) * (x - mean);
            all += x * x;
        }
    }
    return all > 0 ? sqrtl(high / all) : (real)NAN;
}

/* ---- spectra --------------------------------------------------------------------------------- */

static const double *sigma_of(const test_sample *s, size_t layer, size_t head)
{
    return s->sigma + (layer * s->heads + head) * s->sigmas;
}

static bool no_spectrum(const test_sample *s, size_t layer, size_t head)
{
    return s->n == 0 || sigma_of(s, layer, head)[0] == 0;
}

static real count_above(size_t n, const double *sigma, double threshold, bool relative)
{
    real count = 0;
    for (size_t i = 0; i < n; i++)
        count += sigma[i] > 0 && sigma[i] >= (relative ? threshold * sigma[0] : threshold);
    return count;
}

static real rank(const test_sample *s, size_t layer, size_t head)
{
    return s->n > 0 ? count_above(s->sigmas, sigma_of(s, layer, head), s->threshold, s->relative)
                    : NAN;
}

/* Sum of powers of the singular values. */
static real powers(const test_sample *s, size_t layer, size_t head, int power)
{
    real sum = 0;
    for (size_t i = 0; i < s->sigmas; i++)
        sum += powl((real)sigma_of(s, layer, head)[i], power);
    return sum;
}

static real effective_rank(const test_sample *s, size_t layer, size_t head)
{
    const real sum = powers(s, layer, head, 1);
    real entropy = 0;
    if (no_spectrum(s, layer, head))
        return (real)NAN;
    for (size_t i = 0; i < s->sigmas; i++)
        entropy -= plogp((real)sigma_of(s, layer, head)[i] / sum);
    return expl(entropy);
}

static real stable_rank(const test_sample *s, size_t layer, size_t head)
{
    if (no_spectrum(s, layer, head))
        return (real)NAN;
    return powers(s, layer, head, 2) / powl((real)sigma_of(s, layer, head)[0], 2);
}

static real participation_ratio(const test_sample *s, size_t layer, size_t head)
{
    if (no_spectrum(s, layer, head))
        return (real)NAN;
    return powl(powers(s, layer, head, 2), 2) / powers(s, layer, head, 4);
}

static real sigma_ratio(const test_sample *s, size_t layer, size_t head)
{
    if (no_spectrum(s, layer, head) || s->sigmas < 2)
        return (real)NAN;
    return (real)sigma_of(s, layer, head)[1] / (real)sigma_of(s, layer, head)[0];
}

static real components(const test_sample *s, size_t layer, size_t head, real share)
{
    const real all = powers(s, layer, head, 2);
    real sum = 0;
    size_t k = 0;
    if (no_spectrum(s, layer, head))
        return (real)NAN;
    while (k < s->sigmas && sum < share * all)
        sum += powl((real)sigma_of(s, layer, head)[k++], 2);
    return (real)k;
}

/* A sum that is as large as the share but for rounding is enough. */
static const real slack = 1e-12L;

#define COMPONENTS(percent)                                                           \
    static real components_##percent(const test_sample *s, size_t layer, size_t head) \
    {                                                                                 \
        return components(s, layer, head, 0.##percent##L - slack);                    \
    }
COMPONENTS(90)
COMPONENTS(95)
COMPONENTS(99)

/* ---- pairs of heads -------------------------------------------------------------------------- */

/* A value of two rows of n entries. */
typedef real rows_value(size_t n, const double *a, const double *b);

/* The mean over queries whose rows are not all zeros in both heads. */
static real mean_query(const test_sample *s, size_t layer, size_t h, size_t g, rows_value *value)
{
    real sum = 0, count = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!is_zero(s, layer, h, i) && !is_zero(s, layer, g, i)) {
            sum += value(s->columns, row_of(s, layer, h, i), row_of(s, layer, g, i));
            count++;
        }
    return count > 0 ? sum / count : (real)NAN;
}

static bool are_distributions(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return !has_negative(s, layer, h) && !has_negative(s, layer, g);
}

static real js_of_rows(size_t n, const double *a, const double *b)
{
    real sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += plogp((real)a[j]) / 2 + plogp((real)b[j]) / 2 - plogp(((real)a[j] + (real)b[j]) / 2);
    return fmaxl(sum, 0) / logl(2);
}

/* The formula is about rows that sum to 1: without the rounding of their sums. */
static real hellinger_of_rows(size_t n, const double *a, const double *b)
{
    const real all_a = sum_of(n, a), all_b = sum_of(n, b);
    real sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += sqrtl((real)a[j] / all_a * ((real)b[j] / all_b));
    return sqrtl(fmaxl(1 - sum, 0));
}

static real affinity_of_rows(size_t n, const double *a, const double *b)
{
    real sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += sqrtl((real)a[j] * (real)b[j]);
    return sum;
}

static real dot(size_t n, const double *a, const double *b)
{
    real sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += (real)a[j] * (real)b[j];
    return sum;
}

static real js(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return are_distributions(s, layer, h, g) ? mean_query(s, layer, h, g, js_of_rows) : (real)NAN;
}

static real hellinger(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return are_distributions(s, layer, h, g) ? mean_query(s, layer, h, g, hellinger_of_rows)
                                             : (real)NAN;
}

static real affinity(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return are_distributions(s, layer, h, g) ? mean_query(s, layer, h, g, affinity_of_rows)
                                             : (real)NAN;
}

static real position_overlap(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return mean_query(s, layer, h, g, dot);
}

/* NaN if one of the vectors is 0. */
static real cosine_of(size_t n, const double *a, const double *b)
{
    return dot(n, a, b) / sqrtl(dot(n, a, a) * dot(n, b, b));
}

static real cosine(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return cosine_of(s->n * s->columns, matrix_of(s, layer, h), matrix_of(s, layer, g));
}

/* ---- outputs --------------------------------------------------------------------------------- */

static const double *values_of(const test_sample *s, size_t layer, size_t head)
{
    return s->values + (layer * s->heads + head) * s->n * s->dim;
}

/* The mean over tokens of the cosines of vectors [n, D], where both are not 0. */
static real mean_cosine(size_t n, size_t dim, const real *x, const real *y)
{
    real sum = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        real xy = 0, xx = 0, yy = 0;
        for (size_t d = 0; d < dim; d++) {
            xy += x[i * dim + d] * y[i * dim + d];
            xx += x[i * dim + d] * x[i * dim + d];
            yy += y[i * dim + d] * y[i * dim + d];
        }
        if (xx > 0 && yy > 0) {
            sum += xy / sqrtl(xx * yy);
            count++;
        }
    }
    return count > 0 ? sum / count : (real)NAN;
}

/* Vectors [n, D] of a head, released with free. */
typedef real *vectors_of(const test_sample *s, size_t layer, size_t head);

static real *copy_values(const test_sample *s, size_t layer, size_t head)
{
    real *copy = calloc(s->n * s->dim + 1, sizeof(real));
    for (size_t k = 0; k < s->n * s->dim; k++)
        copy[k] = (real)values_of(s, layer, head)[k];
    return copy;
}

/* O = A V. */
static real *outputs_of(const test_sample *s, size_t layer, size_t head)
{
    real *outputs = calloc(s->n * s->dim + 1, sizeof(real));
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->n; j++)
            for (size_t d = 0; d < s->dim; d++)
                outputs[i * s->dim + d] += (real)row_of(s, layer, head, i)[j] *
                                           (real)values_of(s, layer, head)[j * s->dim + d];
    return outputs;
}

static real vectors_cosine(const test_sample *s, size_t layer, size_t h, size_t g,
                           vectors_of *vectors)
{
    real *x = vectors(s, layer, h), *y = vectors(s, layer, g);
    const real mean = mean_cosine(s->n, s->dim, x, y);
    free(x);
    free(y);
    return mean;
}

static real output_cosine(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return vectors_cosine(s, layer, h, g, outputs_of);
}

static real value_cosine(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return vectors_cosine(s, layer, h, g, copy_values);
}

/* The matrix X Xᵀ [n, n] of a head's outputs X, columns centred; released with free. A column that
 * is constant but for rounding is 0. */
static real *gram_of(const test_sample *s, size_t layer, size_t head)
{
    const size_t n = s->n, dim = s->dim;
    real *x = outputs_of(s, layer, head), *gram = calloc(n * n + 1, sizeof(real));
    for (size_t d = 0; d < dim; d++) {
        real mean = 0, spread = 0;
        for (size_t i = 0; i < n; i++)
            mean += x[i * dim + d] / (real)n;
        for (size_t i = 0; i < n; i++)
            spread = fmaxl(spread, fabsl(x[i * dim + d] -= mean));
        for (size_t i = 0; i < n && spread < 1e-14L; i++)
            x[i * dim + d] = 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t d = 0; d < dim; d++)
                gram[i * n + j] += x[i * dim + d] * x[j * dim + d];
    free(x);
    return gram;
}

/* Hilbert-Schmidt independence of two Gram matrices, up to a factor. */
typedef real independence(size_t n, const real *k, const real *l);

/* tr(K L): ||XᵀY||_F² of centred X and Y. */
static real biased(size_t n, const real *k, const real *l)
{
    real trace = 0;
    for (size_t i = 0; i < n * n; i++)
        trace += k[i] * l[i];
    return trace;
}

/* Song et al. 2012, eq. 5, without diagonals: tr(K L) + 1ᵀK1 1ᵀL1 / ((n-1)(n-2)) - 2/(n-2) 1ᵀKL1.
 */
static real unbiased(size_t n, const real *k, const real *l)
{
    real trace = 0, all_k = 0, all_l = 0, product = 0;
    for (size_t i = 0; i < n; i++) {
        real row_k = 0, row_l = 0;
        for (size_t j = 0; j < n; j++)
            if (i != j) {
                trace += k[i * n + j] * l[i * n + j];
                row_k += k[i * n + j];
                row_l += l[i * n + j];
            }
        all_k += row_k;
        all_l += row_l;
        product += row_k * row_l;
    }
    const real m = (real)n;
    return trace + all_k * all_l / ((m - 1) * (m - 2)) - 2 / (m - 2) * product;
}

/* 0 where it is nothing but rounding beside the same with a bias. */
static real norm_of(size_t n, const real *k, independence *hsic)
{
    const real norm = hsic(n, k, k), whole = biased(n, k, k);
    return norm > 1e-12L * whole ? norm : 0;
}

static real alignment(const test_sample *s, size_t layer, size_t h, size_t g, independence *hsic)
{
    real *k = gram_of(s, layer, h), *l = gram_of(s, layer, g);
    const real kk = norm_of(s->n, k, hsic), ll = norm_of(s->n, l, hsic), kl = hsic(s->n, k, l);
    free(k);
    free(l);
    return kk > 0 && ll > 0 ? kl / sqrtl(kk * ll) : (real)NAN;
}

static real cka_output(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return alignment(s, layer, h, g, biased);
}

static real cka_output_debiased(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return s->n < 4 ? (real)NAN : alignment(s, layer, h, g, unbiased);
}

/* ---- layers ---------------------------------------------------------------------------------- */

typedef real pair_value(const test_sample *s, size_t layer, size_t h, size_t g);

static real disagreement(const test_sample *s, size_t layer, pair_value *value)
{
    real sum = 0;
    for (size_t h = 0; h < s->heads; h++)
        for (size_t g = 0; g < s->heads; g++)
            sum += value(s, layer, h, g);
    return s->heads > 1 ? -sum / (real)(s->heads * s->heads) : (real)NAN;
}

static real disagreement_position(const test_sample *s, size_t layer)
{
    return disagreement(s, layer, position_overlap);
}

static real disagreement_output(const test_sample *s, size_t layer)
{
    return disagreement(s, layer, output_cosine);
}

static real disagreement_value(const test_sample *s, size_t layer)
{
    return disagreement(s, layer, value_cosine);
}

/* ---- mixtures -------------------------------------------------------------------------------- */

static const double *key_at(const test_sample *s, size_t layer, size_t head, size_t r, size_t j)
{
    return s->keys + (((layer * s->heads + head) * s->mixtures + r) * s->n + j) * s->dim;
}

static real square_distance(size_t dim, const double *x, const double *y)
{
    real sum = 0;
    for (size_t d = 0; d < dim; d++)
        sum += ((real)x[d] - y[d]) * ((real)x[d] - y[d]);
    return sum;
}

/* The component with the largest responsibility for query i and key j. */
static size_t winner(const test_sample *s, size_t layer, size_t head, size_t i, size_t j)
{
    const size_t place = layer * s->heads + head;
    real best = 0;
    size_t winner = 0;
    for (size_t r = 0; r < s->mixtures; r++) {
        const real distance = square_distance(s->dim, s->queries + (place * s->n + i) * s->dim,
                                              key_at(s, layer, head, r, j));
        const real weight = s->priors[(place * s->mixtures + r) * s->n_max + j] *
                            expl(-distance / (2 * s->variances[place * s->mixtures + r]));
        if (weight > best) {
            best = weight;
            winner = r;
        }
    }
    return winner;
}

static real key_use(const test_sample *s, size_t layer, size_t head, size_t r)
{
    real wins = 0, pairs = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < (s->causal ? i + 1 : s->n); j++) {
            wins += winner(s, layer, head, i, j) == r;
            pairs++;
        }
    return pairs > 0 ? wins / pairs : (real)NAN;
}

static real key_separation(const test_sample *s, size_t layer, size_t head)
{
    real sum = 0, count = 0;
    for (size_t j = 0; j < s->n; j++)
        for (size_t r = 0; r < s->mixtures; r++)
            for (size_t t = 0; t < r; t++) {
                sum += square_distance(s->dim, key_at(s, layer, head, r, j),
                                       key_at(s, layer, head, t, j));
                count++;
            }
    return count > 0 ? sum / count : (real)NAN;
}

static real key_weight_cosine(const test_sample *s, size_t layer, size_t head)
{
    const size_t size = s->width * s->dim;
    const double *w = s->weights + (layer * s->heads + head) * s->mixtures * size;
    real sum = 0, count = 0;
    for (size_t r = 0; r < s->mixtures; r++)
        for (size_t t = 0; t < r; t++) {
            real product = 0, a = 0, b = 0;
            for (size_t k = 0; k < size; k++) {
                product += (real)w[r * size + k] * w[t * size + k];
                a += (real)w[r * size + k] * w[r * size + k];
                b += (real)w[t * size + k] * w[t * size + k];
            }
            sum += product / sqrtl(a * b);
            count++;
        }
    return sum / count;
}

/* ---- importance: what the source says ---------------------------------------------------------
 */

static real importance(const test_sample *s, size_t layer, size_t head, size_t which)
{
    return s->importances[(layer * s->heads + head) * TEST_IMPORTANCES + which];
}

static real importance_ablation(const test_sample *s, size_t layer, size_t head)
{
    return importance(s, layer, head, 0);
}

static real importance_gradient(const test_sample *s, size_t layer, size_t head)
{
    return importance(s, layer, head, 1);
}

static real importance_divergence(const test_sample *s, size_t layer, size_t head)
{
    return importance(s, layer, head, 2);
}

static real importance_hidden(const test_sample *s, size_t layer, size_t head)
{
    return importance(s, layer, head, 3);
}

/* ---- projections ----------------------------------------------------------------------------- */

/* Makes vectors [count, width] orthonormal one after another, twice each for the sake of digits;
 * those that depend on others are dropped. Returns their number. */
static size_t orthonormalise(size_t count, size_t width, real *v)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        real *x = v + kept * width, length = 0, before = 0;
        memmove(x, v + i * width, width * sizeof(*x));
        for (size_t c = 0; c < width; c++)
            before += x[c] * x[c];
        for (size_t k = 0; k < 2 * kept; k++) {
            const real *y = v + k % kept * width;
            real product = 0;
            for (size_t c = 0; c < width; c++)
                product += x[c] * y[c];
            for (size_t c = 0; c < width; c++)
                x[c] -= product * y[c];
        }
        for (size_t c = 0; c < width; c++)
            length += x[c] * x[c];
        for (size_t c = 0; c < width; c++)
            x[c] /= sqrtl(length);
        kept += length > 1e-12L * before;
    }
    return kept;
}

static real projection(const test_sample *s, size_t which, size_t layer, size_t h, size_t g)
{
    const size_t most = s->mixtures * s->dim, count = which == 1 ? most : s->dim;
    size_t rank[2];
    real *basis[2], sum = 0;
    for (size_t side = 0; side < 2; side++) {
        const size_t head = layer * s->heads + (side == 0 ? h : g);
        const double *v = s->projections + (which * s->all_heads + head) * most * s->width;
        basis[side] = calloc(most * s->width, sizeof(real));
        for (size_t k = 0; k < count * s->width; k++)
            basis[side][k] = v[k];
        rank[side] = orthonormalise(count, s->width, basis[side]);
    }
    for (size_t i = 0; i < rank[0]; i++)
        for (size_t j = 0; j < rank[1]; j++) {
            real product = 0;
            for (size_t c = 0; c < s->width; c++)
                product += basis[0][i * s->width + c] * basis[1][j * s->width + c];
            sum += product * product;
        }
    free(basis[0]);
    free(basis[1]);
    return sum / (real)(rank[0] < rank[1] ? rank[0] : rank[1]);
}

static real projection_query(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return projection(s, 0, layer, h, g);
}

static real projection_key(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return projection(s, 1, layer, h, g);
}

static real projection_value(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return projection(s, 2, layer, h, g);
}

static real projection_output(const test_sample *s, size_t layer, size_t h, size_t g)
{
    return projection(s, 3, layer, h, g);
}

/* ---- outputs of layers ----------------------------------------------------------------------- */

/* √(largest column sum · largest row sum) of the magnitudes of X − 1 mᵀ; m NULL: 0. */
static real composite_norm(const test_sample *s, size_t layer, const real *m)
{
    const double *x = s->outputs + layer * s->n * s->model_dim;
    real column_most = 0, row_most = 0;
    for (size_t d = 0; d < s->model_dim; d++) {
        real sum = 0;
        for (size_t i = 0; i < s->n; i++)
            sum += fabsl(x[i * s->model_dim + d] - (m ? m[d] : 0));
        column_most = fmaxl(column_most, sum);
    }
    for (size_t i = 0; i < s->n; i++) {
        real sum = 0;
        for (size_t d = 0; d < s->model_dim; d++)
            sum += fabsl(x[i * s->model_dim + d] - (m ? m[d] : 0));
        row_most = fmaxl(row_most, sum);
    }
    return sqrtl(column_most * row_most);
}

static real rank_collapse(const test_sample *s, size_t layer)
{
    const double *x = s->outputs + layer * s->n * s->model_dim;
    real mean[64] = {0};
    for (size_t i = 0; i < s->n; i++)
        for (size_t d = 0; d < s->model_dim; d++)
            mean[d] += x[i * s->model_dim + d] / (real)s->n;
    return s->n > 0 ? composite_norm(s, layer, mean) / composite_norm(s, layer, NULL) : (real)NAN;
}

static real token_cosine(const test_sample *s, size_t layer)
{
    const size_t dim = s->model_dim;
    const double *x = s->outputs + layer * s->n * dim;
    real sum = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->n; j++) {
            real product = 0, a = 0, b = 0;
            for (size_t d = 0; d < dim && i != j; d++) {
                product += (real)x[i * dim + d] * x[j * dim + d];
                a += (real)x[i * dim + d] * x[i * dim + d];
                b += (real)x[j * dim + d] * x[j * dim + d];
            }
            sum += i != j ? product / sqrtl(a * b) : 0;
        }
    return s->n > 1 ? sum / (real)(s->n * (s->n - 1)) : (real)NAN;
}

static real mean_js(const test_sample *s, size_t layer)
{
    real sum = 0, count = 0;
    for (size_t h = 0; h < s->heads; h++)
        for (size_t g = h + 1; g < s->heads; g++, count++)
            sum += js(s, layer, h, g);
    return count > 0 ? sum / count : (real)NAN;
}

/* Rotates rows and columns p and q of the symmetric m [n, n], so that m_pq becomes 0. */
static void rotate(size_t n, real *m, size_t p, size_t q)
{
    const real angle = atan2l(2 * m[p * n + q], m[q * n + q] - m[p * n + p]) / 2;
    const real c = cosl(angle), t = sinl(angle);
    for (size_t k = 0; k < n; k++) {
        const real x = m[k * n + p], y = m[k * n + q];
        m[k * n + p] = c * x - t * y;
        m[k * n + q] = t * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        const real x = m[p * n + k], y = m[q * n + k];
        m[p * n + k] = c * x - t * y;
        m[q * n + k] = t * x + c * y;
    }
}

/* Eigenvalues by Jacobi's rotations; they end on the diagonal. */
static real effective_heads(const test_sample *s, size_t layer)
{
    enum { SWEEPS = 30, MOST = 16 };
    const size_t heads = s->heads;
    real m[MOST * MOST], entropy = 0;
    if (heads < 2)
        return (real)NAN;
    for (size_t h = 0; h < heads; h++)
        for (size_t g = 0; g < heads; g++)
            m[h * heads + g] = affinity(s, layer, h, g) / (real)heads;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t p = 0; p < heads; p++)
            for (size_t q = p + 1; q < heads; q++)
                rotate(heads, m, p, q);
    for (size_t h = 0; h < heads; h++)
        entropy -= isnan(m[h * heads + h]) ? (real)NAN : plogp(m[h * heads + h]);
    return expl(entropy);
}

static int32_t number_of(const test_sample *s, size_t layer)
{
    return s->numbers ? s->numbers[layer] : (int32_t)layer;
}

static real cross_layer_cosine(const test_sample *s, size_t layer)
{
    real sum = 0;
    if (layer + 1 == s->layers || number_of(s, layer + 1) != number_of(s, layer) + 1)
        return (real)NAN;
    for (size_t h = 0; h < s->heads; h++)
        sum += cosine_of(s->n * s->columns, matrix_of(s, layer, h), matrix_of(s, layer + 1, h));
    return sum / (real)s->heads;
}

/* B [n, n]: the rows of mean_h A + I, divided by their sums. */
static void mix(const test_sample *s, size_t layer, real *b)
{
    const size_t n = s->n;
    for (size_t i = 0; i < n; i++) {
        real sum = 0;
        for (size_t j = 0; j < n; j++) {
            b[i * n + j] = i == j;
            for (size_t h = 0; h < s->heads; h++)
                b[i * n + j] += (real)row_of(s, layer, h, i)[j] / (real)s->heads;
            sum += b[i * n + j];
        }
        for (size_t j = 0; j < n; j++)
            b[i * n + j] /= sum;
    }
}

/* x [n, n] = b x. */
static void multiply(size_t n, const real *b, real *x)
{
    real *product = calloc(n * n, sizeof(real));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                product[i * n + j] += b[i * n + k] * x[k * n + j];
    memcpy(x, product, n * n * sizeof(real));
    free(product);
}

/* The rollout [n, n] of a layer, released with free; NULL: there is none. */
static double *roll_out(const test_sample *s, size_t layer)
{
    const size_t n = s->n;
    for (size_t l = 0; l <= layer; l++)
        for (size_t h = 0; h < s->heads; h++)
            if (n == 0 || number_of(s, l) != (int32_t)l || has_negative(s, l, h))
                return NULL;
    real *x = calloc(n * n, sizeof(real)), *b = calloc(n * n, sizeof(real));
    double *rollout = calloc(n * n, sizeof(double));
    mix(s, 0, x);
    for (size_t l = 1; l <= layer; l++) {
        mix(s, l, b);
        multiply(n, b, x);
    }
    for (size_t k = 0; k < n * n; k++)
        rollout[k] = (double)x[k];
    free(x);
    free(b);
    return rollout;
}

static real rollout_rank(const test_sample *s, size_t layer)
{
    double *rollout = roll_out(s, layer), *sigma;
    if (!rollout)
        return (real)NAN;
    sigma = calloc(s->n, sizeof(double));
    test_reference_spectrum(s->n, rollout, sigma);
    const real found = count_above(s->n, sigma, s->threshold, s->relative);
    free(rollout);
    free(sigma);
    return found;
}

static real rollout_entropy(const test_sample *s, size_t layer)
{
    double *rollout = roll_out(s, layer);
    real sum = 0;
    for (size_t i = 0; rollout && i < s->n; i++)
        sum += entropy_of_row(rollout + i * s->n, i, s->n);
    const bool known = rollout != NULL;
    free(rollout);
    return known ? sum / (real)s->n : (real)NAN;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Sums of up to 10^4 terms in float64; singular values have errors of about N 2^-53 sigma_1. */
#define SUM .absolute = 1e-13, .relative = 1e-13
#define SPECTRUM .absolute = 1e-11, .relative = 1e-11
#define EXACT .absolute = 0, .relative = 0

static const test_formula formulas[] = {
    {"rank", .head = rank, EXACT},
    {"effective_rank", .head = effective_rank, SPECTRUM},
    {"stable_rank", .head = stable_rank, SPECTRUM},
    {"participation_ratio", .head = participation_ratio, SPECTRUM},
    {"components_90", .head = components_90, EXACT},
    {"components_95", .head = components_95, EXACT},
    {"components_99", .head = components_99, EXACT},
    {"sigma_ratio", .head = sigma_ratio, SPECTRUM},
    {"entropy", .head = entropy, SUM},
    {"normalized_entropy", .head = normalized, SUM},
    {"confidence", .head = largest, SUM},
    {"distance", .head = distance, SUM},
    {"diagonal", .head = diagonal, SUM},
    {"previous", .head = previous, SUM},
    {"next", .head = next, SUM},
    {"first", .head = first, SUM},
    {"sink", .head = sink, SUM},
    {"gini", .head = gini, SUM},
    {"top_8_mass", .head = top_8, SUM},
    {"duplicate_token", .head = duplicate_token, SUM},
    {"induction", .head = induction, SUM},
    {"previous_token", .head = previous_token, SUM},
    {"high_frequency", .head = high_frequency, SUM},
    {"key_use", .component = key_use, SUM},
    {"key_separation", .head = key_separation, SUM},
    {"key_weight_cosine", .head = key_weight_cosine, SUM},
    {"importance_ablation", .head = importance_ablation, EXACT},
    {"importance_gradient", .head = importance_gradient, EXACT},
    {"importance_divergence", .head = importance_divergence, EXACT},
    {"importance_hidden", .head = importance_hidden, EXACT},
    {"js", .pair = js, SUM},
    /* the root of what the sums of equal rows round to: 10^-19 here */
    {"hellinger", .pair = hellinger, .absolute = 1e-8, .relative = 0},
    {"affinity", .pair = affinity, SUM},
    {"cosine", .pair = cosine, SUM},
    /* centring cancels digits */
    {"cka_output", .pair = cka_output, .absolute = 1e-10, .relative = 0},
    {"cka_output_debiased", .pair = cka_output_debiased, .absolute = 1e-9, .relative = 1e-9},
    {"position_overlap", .pair = position_overlap, SUM},
    {"output_cosine", .pair = output_cosine, .absolute = 1e-11, .relative = 0},
    {"value_cosine", .pair = value_cosine, SUM},
    {"projection_query", .pair = projection_query, SUM},
    {"projection_key", .pair = projection_key, SUM},
    {"projection_value", .pair = projection_value, SUM},
    {"projection_output", .pair = projection_output, SUM},
    /* - x ln x of an eigenvalue that should be 0 */
    {"effective_heads", .layer = effective_heads, .absolute = 1e-12, .relative = 1e-12},
    {"disagreement_position", .layer = disagreement_position, SUM},
    {"disagreement_output", .layer = disagreement_output, .absolute = 1e-11, .relative = 0},
    {"disagreement_value", .layer = disagreement_value, SUM},
    {"mean_js", .layer = mean_js, SUM},
    {"rank_collapse", .layer = rank_collapse, SUM},
    {"token_cosine", .layer = token_cosine, SUM},
    {"cross_layer_cosine", .layer = cross_layer_cosine, SUM},
    {"rollout_rank", .layer = rollout_rank, EXACT},
    {"rollout_entropy", .layer = rollout_entropy, SUM},
};

const test_formula *test_formula_find(const char *name)
{
    for (size_t i = 0; i < sizeof(formulas) / sizeof(formulas[0]); i++)
        if (strcmp(formulas[i].name, name) == 0)
            return &formulas[i];
    return NULL;
}
