/* SPDX-License-Identifier: MIT */
/* The responsibilities of the components of mixtures with linear attention. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/attention/linear.h"
#include "kernels/cpu/attention/prior.h"
#include "kernels/cpu/operations.h"

/*
 * features_t [M, D, cols]: π_jr φ(k_jr) of all keys of the head. Each key has its own scale, which
 * cancels between its components.
 */
static void gather_components(const mgk_linear_head *head, size_t cols, real *features_t)
{
    const mgk_attention_view *view = head->view;
    size_t dim = (size_t)view->dim, mixtures = (size_t)view->mixtures;
    for (size_t j = 0; j < head->n; j++) {
        real maximum = (real)-INFINITY;
        for (size_t r = 0; r < mixtures; r++) {
            const real *key = (const real *)view->key + mgk_linear_key_index(head, r, j);
            for (size_t d = 0; d < dim; d++)
                maximum = key[d] > maximum ? key[d] : maximum;
        }
        mgk_feature_scale scale = mgk_feature_scale_for(head->linear, maximum);
        for (size_t r = 0; r < mixtures; r++) {
            const real *key = (const real *)view->key + mgk_linear_key_index(head, r, j);
            real p = mgk_linear_prior(head, r, j);
            for (size_t d = 0; d < dim; d++)
                features_t[(r * dim + d) * cols + j] = p * mgk_feature(key[d], scale);
        }
    }
}

/*
 * scores [MGK_LINEAR_CHUNK, cols] of the chunk's queries with all keys up to the last visible one,
 * from features_t [depth, cols].
 */
static void chunk_scores(const mgk_linear_head *head, size_t depth, size_t cols,
                         const real *features_t, real *scores)
{
    size_t width = mgk_cpu_padded(mgk_linear_visible(head, head->first + head->rows - 1));
    mgk_tile_multiply(mgk_tile_rows(head->rows), width, depth,
                      (mgk_tile_operand){head->query, 1, MGK_LINEAR_CHUNK}, features_t, cols, NULL,
                      0, scores, cols);
}

/*
 * sums [M, cols] += Σ_i γ_ijr and seen [cols] += the number of queries, over the chunk, from scores
 * [M, MGK_LINEAR_CHUNK, cols]. Pairs whose scores vanish (feature.h) are not counted.
 */
static void add_responsibilities(const mgk_linear_head *head, size_t cols, const real *scores,
                                 real *total, double *sums, double *seen)
{
    size_t mixtures = (size_t)head->view->mixtures, component = MGK_LINEAR_CHUNK * cols;
    for (size_t i = 0; i < head->rows; i++) {
        size_t visible = mgk_linear_visible(head, head->first + i);
        const real *row = scores + i * cols;
        memcpy(total, row, visible * sizeof(real));
        for (size_t r = 1; r < mixtures; r++)
#pragma omp simd
            for (size_t j = 0; j < visible; j++)
                total[j] += row[r * component + j];
#pragma omp simd
        for (size_t j = 0; j < visible; j++)
            seen[j] += mgk_feature_sum_vanished(total[j]) ? 0 : 1;
        for (size_t r = 0; r < mixtures; r++)
#pragma omp simd
            for (size_t j = 0; j < visible; j++) {
                real share = row[r * component + j] / total[j];
                sums[r * cols + j] += (double)(mgk_feature_sum_vanished(total[j]) ? 0 : share);
            }
    }
}

mgk_status MGK_CPU(linear_responsibilities)(mgk_device *device, const mgk_attention_view *view,
                                            const mgk_linear *linear, double *sums)
{
    size_t heads = (size_t)view->heads, mixtures = (size_t)view->mixtures;
    size_t dim = (size_t)view->dim, cols = mgk_cpu_pitch((size_t)view->tokens);
    size_t extra = (mixtures * (dim + MGK_LINEAR_CHUNK) + 1) * cols;
    double *parts = NULL; /* [H, M + 1, cols], the last row counts queries */
    mgk_status status = STATUS_OK;
    CHECK(mgk_alloc(heads * (mixtures + 1) * cols, sizeof(double), &parts));
    CHECK(mgk_cpu_reserve_scratch(device,
                                  MGK_CPU(linear_scratch)(view, linear, extra) * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (size_t h = 0; h < heads; h++) {
        double *own = parts + h * (mixtures + 1) * cols;
        for (size_t b = 0; b < (size_t)view->samples; b++) {
            mgk_linear_head head;
            MGK_CPU(linear_begin)
            (view, linear, b, h, extra, mgk_cpu_scratch(device, omp_get_thread_num()), &head);
            real *features_t = head.scratch;
            real *scores = features_t + mixtures * dim * cols;
            real *total = scores + mixtures * MGK_LINEAR_CHUNK * cols;
            gather_components(&head, cols, features_t);
            for (size_t first = 0; first < head.n; first += MGK_LINEAR_CHUNK) {
                MGK_CPU(linear_queries)(&head, first);
                for (size_t r = 0; r < mixtures; r++)
                    chunk_scores(&head, dim, cols, features_t + r * dim * cols,
                                 scores + r * MGK_LINEAR_CHUNK * cols);
                add_responsibilities(&head, cols, scores, total, own, own + mixtures * cols);
            }
        }
    }
    MGK_CPU(gather_responsibilities)(view, &linear->prior, parts, cols, sums);
out:
    mgk_free(parts);
    return status;
}
