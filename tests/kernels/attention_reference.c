/* SPDX-License-Identifier: MIT */
/* Attention by definition, pair by pair, in double. */
#include <stdlib.h>
#include <string.h>

#include "attention_case.h"

/* A case with the vectors that enter the scores. For linear kinds these are φ(x), for each query
 * divided by exp(query_log), so that φ(−1000) does not underflow. */
typedef struct definition {
    const attention_case *problem;
    bool features;
    int components;            /* M, or 1 if the keys were mixed into the first */
    const double *query, *key; /* [B, N, H, D], [B, N, M, H, D] */
    const double *query_log;   /* [B, N, H] */
} definition;

static double log_feature(double x)
{
    return x > 0 ? log(x + 1) : x;
}

static double prior_of(const attention_case *problem, int h, int r, int j)
{
    if (problem->count[PRIOR] == 0)
        return 1;
    return fmin(fmax(problem->input[PRIOR][attention_case_prior(problem, h, r, j)], 0), 1);
}

/* Replaces component 0 of each key [B, N, M, H, D] by Σ_r π_jr k_jr. */
static void mix_keys(const attention_case *problem, double *key)
{
    const attention_shape *s = &problem->shape;
    int width = s->heads * s->dim;
    for (int token = 0; token < s->samples * s->tokens; token++)
        for (int c = 0; c < width; c++) {
            double sum = 0, *own = key + token * s->mixtures * width + c;
            for (int r = 0; r < s->mixtures; r++)
                sum += prior_of(problem, c / s->dim, r, token % s->tokens) * own[r * width];
            own[0] = sum;
        }
}

static definition define(workspace *space, const attention_case *problem)
{
    const attention_shape *s = &problem->shape;
    size_t dim = (size_t)s->dim, keys = problem->outputs * (size_t)s->mixtures;
    double *query_log = host_array(space, problem->outputs / dim);
    definition out = {.problem = problem,
                      .features = !s->kind->gaussian && strcmp(s->kind->name, "softmax") != 0,
                      .components = s->mix_keys ? 1 : s->mixtures,
                      .query = problem->input[QUERY],
                      .key = attention_case_keys(space, problem),
                      .query_log = query_log};
    if (!out.features)
        return out;
    double *query = host_array(space, problem->outputs), *key = host_array(space, keys);
    for (size_t i = 0; i < problem->outputs; i++)
        query_log[i / dim] = i % dim ? fmax(query_log[i / dim], log_feature(out.query[i]))
                                     : log_feature(out.query[i]);
    for (size_t i = 0; i < problem->outputs; i++)
        query[i] = exp(log_feature(out.query[i]) - query_log[i / dim]);
    memcpy(key, out.key, keys * sizeof *key);
    if (s->mix_keys)
        mix_keys(problem, key);
    for (size_t i = 0; i < keys; i++)
        key[i] = exp(log_feature(key[i]));
    out.query = query;
    out.key = key;
    return out;
}

static bool is_masked(const attention_case *problem, int b, int j)
{
    return problem->masked && problem->masked[b * problem->shape.tokens + j];
}

/* ln of component r's score of query i and key j of head h in sample b. */
static double log_score(const definition *by, int b, int h, int i, int j, int r)
{
    const attention_shape *s = &by->problem->shape;
    int row = (b * s->tokens + i) * s->heads + h;
    const double *q = by->query + row * s->dim;
    const double *k = by->key + (((b * s->tokens + j) * s->mixtures + r) * s->heads + h) * s->dim;
    double dot = 0, distance = 0;
    for (int d = 0; d < s->dim; d++) {
        dot += q[d] * k[d];
        distance += (q[d] - k[d]) * (q[d] - k[d]);
    }
    double score = by->features        ? log(dot) + by->query_log[row]
                   : s->kind->gaussian ? -distance / (2 * by->problem->variance[r])
                   : s->scale > 0      ? dot * s->scale
                                       : dot / sqrt(s->dim);
    if (s->cap > 0)
        score = s->cap * tanh(score / s->cap);
    if (by->problem->bias)
        score += by->problem->bias[h * (2 * s->tokens + 1) + j - (s->by_key ? 0 : i) + s->tokens];
    if (s->sides > 0) {
        const int place = by->problem->places[j - i + s->tokens];
        score += by->problem->sides[0][((b * s->tokens + i) * s->heads + h) * s->sides + place] +
                 by->problem->sides[1][((b * s->tokens + j) * s->heads + h) * s->sides + place];
    }
    if ((s->window > 0 && abs(i - j) >= s->window) || is_masked(by->problem, b, j))
        score = -INFINITY;
    return score + (s->mix_keys ? 0 : log(prior_of(by->problem, h, r, j)));
}

/* ln s_ij, the sum over components or the largest, and the terms [M]. */
static double log_pair(const definition *by, int b, int h, int i, int j, double *terms)
{
    const attention_shape *s = &by->problem->shape;
    double largest = -INFINITY, sum = 0;
    for (int r = 0; r < by->components; r++) {
        terms[r] = log_score(by, b, h, i, j, r);
        largest = fmax(largest, terms[r]);
    }
    if (largest == -INFINITY || s->prior_mode == MGK_PRIOR_HARD)
        return largest;
    for (int r = 0; r < by->components; r++)
        sum += exp(terms[r] - largest);
    return largest + log(sum);
}

/* row [N]: turns ln s_ij of the first `seen` keys of sample b into A_ij. */
static void normalize(const attention_case *problem, int b, int seen, double *row)
{
    const attention_shape *s = &problem->shape;
    double largest = -INFINITY, sum = 0, epsilon = s->normalizer_epsilon;
    if (s->fixed_normalizer > 0) {
        for (int j = 0; j < seen; j++)
            row[j] = exp(row[j]) / s->fixed_normalizer;
        return;
    }
    for (int j = 0; j < seen; j++)
        largest = fmax(largest, row[j]);
    if (largest == -INFINITY) {
        int unmasked = 0;
        for (int j = 0; j < seen; j++)
            unmasked += !is_masked(problem, b, j);
        for (int j = 0; j < seen; j++)
            row[j] = epsilon > 0 || is_masked(problem, b, j) ? 0 : 1.0 / unmasked;
        return;
    }
    for (int j = 0; j < seen; j++)
        sum += row[j] = exp(row[j] - largest);
    if (epsilon > 0)
        sum += epsilon * exp(-largest);
    for (int j = 0; j < seen; j++)
        row[j] /= sum;
}

void attention_reference_matrix(workspace *space, const attention_case *problem, double *attention,
                                double *scores)
{
    const attention_shape *s = &problem->shape;
    definition by = define(space, problem);
    memset(attention, 0, problem->matrices * sizeof *attention);
    memset(scores, 0, problem->matrices * sizeof *scores);
    for (int b = 0; b < s->samples; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < problem->lengths[b]; i++) {
                size_t at = (size_t)((b * s->heads + h) * s->tokens + i) * (size_t)s->tokens;
                int seen = s->causal ? i + 1 : problem->lengths[b];
                double terms[MGK_MAX_MIXTURES], *row = attention + at;
                for (int j = 0; j < seen; j++) {
                    row[j] = log_pair(&by, b, h, i, j, terms);
                    scores[at + (size_t)j] = exp(row[j]);
                }
                normalize(problem, b, seen, row);
            }
}

void attention_weigh_values(const attention_case *problem, const double *matrix, double *output)
{
    const attention_shape *s = &problem->shape;
    memset(output, 0, problem->outputs * sizeof *output);
    for (int b = 0; b < s->samples; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < s->tokens; i++)
                for (int j = 0; j < s->tokens; j++) {
                    size_t of_i = (size_t)((b * s->tokens + i) * s->heads + h) * (size_t)s->dim;
                    size_t of_j = (size_t)((b * s->tokens + j) * s->heads + h) * (size_t)s->dim;
                    double a = *matrix++;
                    for (int d = 0; d < s->dim; d++)
                        output[of_i + (size_t)d] += a * problem->input[VALUE][of_j + (size_t)d];
                }
}

void attention_reference_update_prior(workspace *space, const attention_case *problem,
                                      double *prior)
{
    const attention_shape *s = &problem->shape;
    definition by = define(space, problem);
    double *pairs = host_array(space, problem->count[PRIOR]);
    double *sums = host_array(space, problem->count[PRIOR]);
    for (int b = 0; b < s->samples; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < problem->lengths[b]; i++)
                for (int j = 0; j < (s->causal ? i + 1 : problem->lengths[b]); j++) {
                    double terms[MGK_MAX_MIXTURES];
                    double pair = log_pair(&by, b, h, i, j, terms);
                    for (int r = 0; r < s->mixtures && pair > -INFINITY; r++) {
                        size_t at = attention_case_prior(problem, h, r, j);
                        sums[at] += exp(terms[r] - pair);
                        pairs[at]++;
                    }
                }
    for (size_t at = 0; at < problem->count[PRIOR]; at++)
        prior[at] = pairs[at] > 0 ? sums[at] / pairs[at] : problem->input[PRIOR][at];
}

void attention_compare_case(workspace *space, const attention_case *problem)
{
    const attention_shape *shape = &problem->shape;
    size_t n = (size_t)shape->tokens, rows = problem->matrices / n, outputs = problem->outputs;
    double *expected = host_array(space, problem->matrices);
    double *scores = host_array(space, problem->matrices);
    double *matrix = host_array(space, problem->matrices);
    double *output = host_array(space, outputs), *weighed = host_array(space, outputs);
    attention_reference_matrix(space, problem, expected, scores);
    attention_case_matrix(space, problem, MGK_MATRIX_SCORES, matrix);
    assert_rows_match(rows, n, matrix, scores, space->tolerance);
    attention_case_matrix(space, problem, MGK_MATRIX_ATTENTION, matrix);
    assert_rows_match(rows, n, matrix, expected, space->tolerance);
    if (attention_case_product(space, problem, scores))
        assert_rows_match(rows, n, scores, expected, space->tolerance);

    attention_case_output(space, problem, output);
    attention_weigh_values(problem, expected, weighed);
    assert_rows_match(1, outputs, output, weighed, space->tolerance);
    attention_weigh_values(problem, matrix, weighed);
    assert_rows_match(1, outputs, output, weighed, space->tolerance);
    if (attention_case_both(space, problem, scores, weighed)) {
        assert_memory_equal(scores, matrix, problem->matrices * sizeof *matrix);
        assert_memory_equal(weighed, output, outputs * sizeof *output);
    }
}

void attention_compare(workspace *space, attention_shape shape)
{
    attention_case problem = attention_case_make(space, shape);
    attention_compare_case(space, &problem);
}
