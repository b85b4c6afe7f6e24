/* SPDX-License-Identifier: MIT */
#include "kernels/cpu/attention/linear.h"

#include <math.h>
#include <string.h>

/* Reals of the arrays that start as zeros, including the caller's. */
static size_t zeroed_reals(const mgk_attention_view *view, size_t extra)
{
    size_t depth = mgk_cpu_padded((size_t)view->dim);
    size_t wide = mgk_cpu_padded((size_t)view->dim + 1), chunk = MGK_LINEAR_CHUNK;
    return 2 * wide * depth + chunk * (3 * depth + wide + chunk) + mgk_cpu_padded(extra);
}

size_t MGK_CPU(linear_scratch)(const mgk_attention_view *view, size_t extra)
{
    return zeroed_reals(view, extra) + mgk_cpu_padded((size_t)view->tokens);
}

static real *take(real **memory, size_t count)
{
    real *piece = *memory;
    *memory += count;
    return piece;
}

static real largest(const real *x, size_t count, real start)
{
    real maximum = start;
#pragma omp simd reduction(max : maximum)
    for (size_t d = 0; d < count; d++)
        maximum = x[d] > maximum ? x[d] : maximum;
    return maximum;
}

/* mixed [D] = Σ_r π_jr k_jr. */
static void mix_key(const mgk_linear_head *head, size_t j, real *mixed)
{
    size_t dim = (size_t)head->view->dim;
    memset(mixed, 0, dim * sizeof(real));
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++) {
        const real *key = (const real *)head->view->key + mgk_linear_key_index(head, r, j);
        real p = mgk_linear_prior(head, r, j);
#pragma omp simd
        for (size_t d = 0; d < dim; d++)
            mixed[d] += p * key[d];
    }
}

static mgk_feature_scale scale_keys(const mgk_linear_head *head)
{
    const mgk_attention_view *view = head->view;
    size_t dim = (size_t)view->dim;
    real maximum = (real)-INFINITY, *mixed = head->feature;
    for (size_t j = 0; head->linear->mix_keys && j < head->n; j++) {
        mix_key(head, j, mixed);
        maximum = largest(mixed, dim, maximum);
    }
    for (size_t j = 0; !head->linear->mix_keys && j < head->n; j++)
        for (size_t r = 0; r < (size_t)view->mixtures; r++)
            maximum =
                largest((const real *)view->key + mgk_linear_key_index(head, r, j), dim, maximum);
    return mgk_feature_scale_for(head->linear, maximum);
}

/* feature [D] = f_j. */
static void key_feature(const mgk_linear_head *head, size_t j, real *feature)
{
    size_t dim = (size_t)head->view->dim;
    mgk_feature_scale scale = head->key_scale;
    if (head->linear->mix_keys) {
        mix_key(head, j, feature);
#pragma omp simd
        for (size_t d = 0; d < dim; d++)
            feature[d] = mgk_feature(feature[d], scale);
        return;
    }
    memset(feature, 0, dim * sizeof(real));
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++) {
        const real *key = (const real *)head->view->key + mgk_linear_key_index(head, r, j);
        real p = mgk_linear_prior(head, r, j);
#pragma omp simd
        for (size_t d = 0; d < dim; d++)
            feature[d] += p * mgk_feature(key[d], scale);
    }
}

void MGK_CPU(linear_begin)(const mgk_attention_view *view, const mgk_linear *linear, size_t sample,
                           size_t head_index, size_t extra, real *memory, mgk_linear_head *out)
{
    size_t dim = (size_t)view->dim, chunk = MGK_LINEAR_CHUNK;
    mgk_linear_head head = {.view = view,
                            .linear = linear,
                            .sample = sample,
                            .head = head_index,
                            .n = (size_t)view->lengths[sample],
                            .depth = mgk_cpu_padded(dim),
                            .wide = mgk_cpu_padded(dim + 1)};
    /* Products cover whole vectors and groups of rows: the padding must be finite. */
    memset(memory, 0, zeroed_reals(view, extra) * sizeof(real));
    head.state = take(&memory, head.wide * head.depth);
    head.chunk_sum = take(&memory, head.wide * head.depth);
    head.query = take(&memory, chunk * head.depth);
    head.feature = take(&memory, chunk * head.depth);
    head.feature_t = take(&memory, head.depth * chunk);
    head.value = take(&memory, chunk * head.wide);
    head.scores = take(&memory, chunk * chunk);
    head.scratch = take(&memory, mgk_cpu_padded(extra));
    head.inverse = memory;
    head.key_scale = scale_keys(&head);
    *out = head;
}

static void begin_chunk(mgk_linear_head *head, size_t first)
{
    size_t left = head->n - first;
    head->first = first;
    head->rows = left < MGK_LINEAR_CHUNK ? left : MGK_LINEAR_CHUNK;
}

void MGK_CPU(linear_queries)(mgk_linear_head *head, size_t first)
{
    const mgk_attention_view *view = head->view;
    size_t dim = (size_t)view->dim;
    begin_chunk(head, first);
    for (size_t i = 0; i < head->rows; i++) {
        const real *query =
            (const real *)view->query + mgk_linear_token_index(head, view->query_stride, first + i);
        real *feature = head->query + i * head->depth;
        mgk_feature_scale scale =
            mgk_feature_scale_for(head->linear, largest(query, dim, (real)-INFINITY));
#pragma omp simd
        for (size_t d = 0; d < dim; d++)
            feature[d] = mgk_feature(query[d], scale);
        head->query_scale[i] = scale;
    }
}

void MGK_CPU(linear_keys)(mgk_linear_head *head, size_t first)
{
    const mgk_attention_view *view = head->view;
    size_t dim = (size_t)view->dim;
    begin_chunk(head, first);
    for (size_t j = 0; j < head->rows; j++) {
        real *value = head->value + j * head->wide;
        key_feature(head, first + j, head->feature + j * head->depth);
        memcpy(value,
               (const real *)view->value +
                   mgk_linear_token_index(head, view->value_stride, first + j),
               dim * sizeof(real));
        value[dim] = 1;
    }
    if (view->causal)
        mgk_linear_transpose(head->rows, dim, head->feature, head->depth, head->feature_t,
                             MGK_LINEAR_CHUNK);
}

void MGK_CPU(linear_accumulate)(mgk_linear_head *head, const real *left, const real *right,
                                real *state)
{
    size_t depth = head->depth, count = ((size_t)head->view->dim + 1) * depth;
    mgk_tile_multiply(mgk_tile_rows((size_t)head->view->dim + 1), depth, head->rows,
                      (mgk_tile_operand){left, 1, head->wide}, right, depth, NULL, 0,
                      head->chunk_sum, depth);
    const real *sum = head->chunk_sum;
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        state[i] += sum[i];
}

void MGK_CPU(linear_scores)(const mgk_linear_head *head, const real *left, size_t stride,
                            size_t inner, const real *right_t, real *scores)
{
    size_t width = mgk_cpu_padded(head->rows);
    mgk_tile_multiply(mgk_tile_rows(head->rows), width, inner, (mgk_tile_operand){left, stride, 1},
                      right_t, MGK_LINEAR_CHUNK, NULL, 0, scores, MGK_LINEAR_CHUNK);
    for (size_t i = 0; i + 1 < head->rows; i++)
        memset(scores + i * MGK_LINEAR_CHUNK + i + 1, 0, (width - i - 1) * sizeof(real));
}

void MGK_CPU(linear_normalizers)(mgk_linear_head *head)
{
    size_t dim = (size_t)head->view->dim;
    const real *normalizer = head->state + dim * head->depth;
    for (size_t i = 0; i < head->rows; i++) {
        const real *query = head->query + i * head->depth;
        const real *scores = head->scores + i * MGK_LINEAR_CHUNK;
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t d = 0; d < dim; d++)
            sum += query[d] * normalizer[d];
        size_t own = head->view->causal ? i + 1 : 0;
#pragma omp simd reduction(+ : sum)
        for (size_t j = 0; j < own; j++)
            sum += scores[j];
        real inverse = mgk_linear_inverse(head, head->query_scale[i], sum);
        head->inverse[head->first + i] = inverse;
        if (mgk_linear_uniform(head, inverse))
            head->uniform = true;
    }
}
