/* SPDX-License-Identifier: MIT */
/* Is the second key used? Measures of heads whose positions have several keys (MGK). */
#include <math.h>

#include "analysis/measures/registry.h"
#include "kernels/blas.h"

/* ---- which component wins -------------------------------------------------------------------- */

static double square_length(const double *x, size_t dim)
{
    double sum = 0;
    for (size_t d = 0; d < dim; d++)
        sum += x[d] * x[d];
    return sum;
}

/* ‖k_jr‖² of all keys, [M, n]. */
static void measure_keys(const mgk_mixture_view *m, double *squares)
{
    for (size_t k = 0; k < m->mixtures * m->n; k++)
        squares[k] = square_length(m->keys + k * m->dim, m->dim);
}

/*
 * The logarithms of the responsibilities of component r, without the sum that all share, of `count`
 * queries from `first` on: ln π_jr − ‖q_i − k_jr‖² / 2σ_r², into scores [count, n].
 */
static void score(const mgk_mixture_view *m, size_t first, size_t count, size_t r,
                  const double *squares, double *scores)
{
    const blasint n = (blasint)m->n, dim = (blasint)m->dim;
    const double *queries = m->queries + first * m->dim, *keys = m->keys + r * m->n * m->dim;
    mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)count, n, dim, 1, queries, dim,
                   keys, dim, 0, scores, n);
    for (size_t i = 0; i < count; i++) {
        const double query = square_length(queries + i * m->dim, m->dim);
        for (size_t j = 0; j < m->n; j++) {
            const double distance = query + squares[r * m->n + j] - 2 * scores[i * m->n + j];
            scores[i * m->n + j] =
                log(m->priors[r * m->prior_pitch + j]) - distance / (2 * m->variances[r]);
        }
    }
}

/* Counts, for the pairs of a block of queries and the keys that they see, which component has the
 * largest score; of equal ones the first. */
static void count_wins(const mgk_mixture_view *m, size_t first, size_t count, const double *squares,
                       double *wins)
{
    double *scores = m->scratch + m->mixtures * m->n, *best = scores + MGK_MIXTURE_QUERIES * m->n;
    double *winner = best + MGK_MIXTURE_QUERIES * m->n;
    for (size_t r = 0; r < m->mixtures; r++) {
        score(m, first, count, r, squares, scores);
        for (size_t k = 0; k < count * m->n; k++) {
            const bool wins_so_far = r == 0 || scores[k] > best[k];
            best[k] = wins_so_far ? scores[k] : best[k];
            winner[k] = wins_so_far ? (double)r : winner[k];
        }
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < (m->causal ? first + i + 1 : m->n); j++)
            wins[(size_t)winner[i * m->n + j]]++;
}

static void key_use(const mgk_mixture_view *m, double *values)
{
    double *squares = m->scratch, pairs = 0;
    measure_keys(m, squares);
    for (size_t r = 0; r < m->mixtures; r++)
        values[r] = 0;
    for (size_t first = 0; first < m->n; first += MGK_MIXTURE_QUERIES) {
        const size_t left = m->n - first;
        count_wins(m, first, left < MGK_MIXTURE_QUERIES ? left : MGK_MIXTURE_QUERIES, squares,
                   values);
    }
    for (size_t r = 0; r < m->mixtures; r++)
        pairs += values[r];
    for (size_t r = 0; r < m->mixtures; r++)
        values[r] /= pairs;
}

/* ---- how far the keys of a position are apart ------------------------------------------------ */

/* The mean over all pairs of components. */
static void key_separation(const mgk_mixture_view *m, double *values)
{
    const size_t size = m->n * m->dim;
    double sum = 0, pairs = 0;
    for (size_t r = 0; r < m->mixtures; r++)
        for (size_t s = r + 1; s < m->mixtures; s++) {
            for (size_t k = 0; k < size; k++) {
                const double difference = m->keys[r * size + k] - m->keys[s * size + k];
                sum += difference * difference;
            }
            pairs++;
        }
    values[0] = sum / (pairs * (double)m->n);
}

static double key_weight_cosine(size_t mixtures, size_t count, const double *weights)
{
    double sum = 0, pairs = 0;
    for (size_t r = 0; r < mixtures; r++)
        for (size_t s = r + 1; s < mixtures; s++) {
            const double *a = weights + r * count, *b = weights + s * count;
            double product = 0;
            for (size_t k = 0; k < count; k++)
                product += a[k] * b[k];
            sum += product / (sqrt(square_length(a, count)) * sqrt(square_length(b, count)));
            pairs++;
        }
    return sum / pairs;
}

const mgk_measure mgk_measure_key_use = {
    .name = "key_use",
    .level = MGK_MEASURE_HEAD,
    .needs = MGK_NEEDS_QUERIES | MGK_NEEDS_KEYS | MGK_NEEDS_MIXTURE,
    .unit = "",
    .range = "0 (never) to 1 (always); 1/M if all are used alike",
    .formula = "share of the pairs of query i and key j in which component r has the largest "
               "responsibility, pi_jr exp(-|q_i - k_jr|^2 / (2 sigma_r^2))",
    .source = "Nguyen et al. 2022, Eqn. 11",
    .mixture = key_use,
    .components = true};

const mgk_measure mgk_measure_key_separation = {
    .name = "key_separation",
    .level = MGK_MEASURE_HEAD,
    .needs = MGK_NEEDS_KEYS | MGK_NEEDS_MIXTURE,
    .unit = "",
    .range = "0 (equal keys) or above",
    .formula = "mean_j |k_j1 - k_j2|^2; of more than two components the mean over their pairs",
    .source = "Nguyen et al. 2022",
    .mixture = key_separation};

const mgk_measure mgk_measure_key_weight_cosine = {
    .name = "key_weight_cosine",
    .level = MGK_MEASURE_HEAD,
    .needs = MGK_NEEDS_KEY_WEIGHTS,
    .unit = "",
    .range = "-1 to 1 (proportional)",
    .formula = "cos(vec W_K1, vec W_K2), the same on every sample; of more than two components the "
               "mean over their pairs",
    .source = "Nguyen et al. 2022",
    .key_weights = key_weight_cosine};
