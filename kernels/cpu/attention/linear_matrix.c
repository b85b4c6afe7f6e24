/* SPDX-License-Identifier: MIT */
/* The explicit matrix of linear attention. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/attention/linear.h"
#include "kernels/cpu/operations.h"

/* Columns of the scores of `tokens` keys: whole chunks. */
static size_t score_cols(size_t tokens)
{
    return mgk_cpu_pitch((tokens + MGK_LINEAR_CHUNK - 1) / MGK_LINEAR_CHUNK * MGK_LINEAR_CHUNK);
}

/* features [chunks, R, MGK_LINEAR_CHUNK] of all the head's keys, with the shifts of their chunks.
 */
static void gather_features(mgk_linear_head *head, size_t depth, real *features)
{
    for (size_t first = 0; first < head->n; first += MGK_LINEAR_CHUNK) {
        MGK_CPU(linear_keys)(head, first);
        memcpy(features + first * depth, head->feature, depth * MGK_LINEAR_CHUNK * sizeof(real));
    }
}

/*
 * scores [MGK_LINEAR_CHUNK, cols] of the chunk's queries with all keys up to the last visible one,
 * a chunk of keys at a time: its features stay in the first-level cache.
 */
static void feature_scores(const mgk_linear_head *head, size_t depth, const real *features,
                           size_t cols, real *scores)
{
    const size_t visible = mgk_linear_visible(head, head->first + head->rows - 1);
    for (size_t first = 0; first < visible; first += MGK_LINEAR_CHUNK)
        mgk_tile_multiply(mgk_tile_rows(head->rows), MGK_LINEAR_CHUNK, depth,
                          (mgk_tile_operand){head->query, 1, MGK_LINEAR_CHUNK},
                          features + first * depth, MGK_LINEAR_CHUNK, NULL, 0, scores + first,
                          cols);
}

/* Brings the row's scores to one shift, that of the last chunk it sees. */
static void shift_row(mgk_linear_head *head, size_t visible, real *row)
{
    const size_t last = (visible - 1) / MGK_LINEAR_CHUNK;
    head->key_scale.shift = head->shifts[last];
    for (size_t chunk = 0; chunk < last; chunk++) {
        const real factor = mgk_exp(head->shifts[chunk] - head->shifts[last]);
        real *part = row + chunk * MGK_LINEAR_CHUNK;
        for (size_t j = 0; j < MGK_LINEAR_CHUNK && factor != 1; j++)
            part[j] *= factor;
    }
}

/*
 * Weighs the scores of row i, the next one of a causal matrix: key j has (1 − g_j) Π g_l, j < l <=
 * i. `weights` [cols] has those of row i − 1.
 */
static void gate_row(const mgk_linear_head *head, size_t i, real *weights, real *row)
{
    const real gate = mgk_linear_gate(head, i);
#pragma omp simd
    for (size_t j = 0; j < i; j++) {
        weights[j] *= gate;
        row[j] *= weights[j];
    }
    weights[i] = 1 - gate;
    row[i] *= weights[i];
}

/* The factor of row i of the chunk's scores; sets a uniform row to 1 where it sees a key. */
static real row_factor(const mgk_linear_head *head, mgk_matrix_content content, size_t i,
                       size_t visible, real *row)
{
    mgk_feature_scale query = mgk_linear_query_scale(head, i), key = head->key_scale;
    if (content == MGK_MATRIX_SCORES)
        return (real)(exp((double)query.shift + (double)key.shift) / (double)query.inverse /
                      (double)key.inverse);
    real sum = 0, own_sum;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < visible; j++)
        sum += row[j];
    const real more = (real)head->linear->feature_sum_epsilon;
    for (size_t r = 0; more > 0 && r < head->linear->features.omega_rows; r++)
        sum += more * head->query[r * MGK_LINEAR_CHUNK + i];
    real inverse = mgk_linear_inverse(head, query, sum, &own_sum);
    if (!mgk_linear_uniform(head, inverse))
        return inverse;
    size_t seen = 0;
    for (size_t j = 0; j < visible; j++) {
        const bool masked = mgk_linear_masked(head, j);
        row[j] = !masked;
        seen += !masked;
    }
    return mgk_linear_blank(seen);
}

mgk_status MGK_CPU(linear_matrix)(mgk_device *device, const mgk_attention_view *view,
                                  const mgk_linear *linear, mgk_matrix_content content, int first,
                                  int samples, const int32_t *heads, int count, void *matrix)
{
    size_t tokens = (size_t)view->tokens, cols = score_cols(tokens);
    size_t depth = mgk_feature_count(&linear->features, (size_t)view->dim);
    size_t extra = (depth + MGK_LINEAR_CHUNK + 1) * cols;
    size_t scratch = MGK_CPU(linear_scratch)(view, linear, extra);
    TRY(mgk_cpu_reserve_scratch(device, scratch * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (int which = 0; which < samples * count; which++) {
        real *out = (real *)matrix + (size_t)which * tokens * tokens;
        mgk_linear_head head;
        MGK_CPU(linear_begin)
        (view, linear, (size_t)(first + which / count), (size_t)heads[which % count], extra,
         mgk_cpu_scratch(device, omp_get_thread_num()), &head);
        real *features = head.scratch, *scores = features + depth * cols;
        real *weights = scores + MGK_LINEAR_CHUNK * cols;
        gather_features(&head, depth, features);
        for (size_t chunk = 0; chunk < head.n; chunk += MGK_LINEAR_CHUNK) {
            MGK_CPU(linear_queries)(&head, chunk);
            feature_scores(&head, depth, features, cols, scores);
            for (size_t i = 0; i < head.rows; i++) {
                size_t visible = mgk_linear_visible(&head, chunk + i);
                real *row = scores + i * cols, *target = out + (chunk + i) * tokens;
                shift_row(&head, visible, row);
                if (linear->gate)
                    gate_row(&head, chunk + i, weights, row);
                real factor = row_factor(&head, content, i, visible, row);
#pragma omp simd
                for (size_t j = 0; j < visible; j++)
                    target[j] = factor * row[j];
                memset(target + visible, 0, (tokens - visible) * sizeof(real));
            }
        }
        memset(out + head.n * tokens, 0, (tokens - head.n) * tokens * sizeof(real));
    }
    return STATUS_OK;
}
